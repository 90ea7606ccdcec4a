#include "tiderace/http/app/body_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::http {
namespace {

class BodyStreamTest : public AppTest {
  protected:
    static std::string head(std::uint64_t bytes) {
        return "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(bytes) +
               "\r\n\r\n";
    }
};

task::Task<std::string> count(BodyStream body) {
    std::size_t bytes = 0;
    std::size_t pieces = 0;
    while (auto piece = co_await body.next()) {
        bytes += piece->size();
        ++pieces;
    }
    co_return std::to_string(bytes) + (pieces > 1 ? " in pieces" : "");
}

TEST_F(BodyStreamTest, GivesABodyAsItComes) {
    app.post<"/b">([](BodyStream body) { return count(std::move(body)); });
    EXPECT_EQ(body_of(ask("POST", "/b", "Content-Length: 0\r\n")), "0");
    EXPECT_EQ(body_of(ask("POST", "/b")), "0");
    EXPECT_EQ(body_of(ask("POST", "/b", "", "abc")), "3");
    EXPECT_EQ(body_of(ask("POST", "/b", "", std::string(1'000'000, 'x'))), "1000000 in pieces");
}

TEST_F(BodyStreamTest, AChunkedBodyAndAnExpectationWork) {
    app.post<"/b">([](BodyStream body) { return count(std::move(body)); });
    auto peer = connect();
    peer->say(
        "POST /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    world.settle();
    EXPECT_EQ(peer->heard(), "HTTP/1.1 100 Continue\r\n\r\n");
    peer->say("3\r\nabc\r\n");
    world.settle();
    peer->say("2\r\nde\r\n0\r\n\r\n");
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    EXPECT_NE(peer->heard().find("5 in pieces"), std::string::npos);
}

TEST_F(BodyStreamTest, ABodyOverItsLimitIs413AndEndsTheTask) {
    static int ended;
    struct Note {
        ~Note() { ++ended; }
    };
    ended = 0;
    app = App({.body_bytes_max = 10});
    app.post<"/b">([](BodyStream body) -> task::Task<std::string> {
        const Note note;
        co_return co_await count(std::move(body));
    });
    EXPECT_EQ(body_of(ask("POST", "/b", "", "0123456789")), "10");
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(status_of(ask("POST", "/b", "", "0123456789x")), "413");
    EXPECT_EQ(ended, 1) << "not called at all: the length said so";
    auto peer = connect();
    peer->say("POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n");
    world.settle();
    peer->say("6\r\nabcdef\r\n");
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    EXPECT_EQ(status_of(peer->heard()), "413");
    EXPECT_EQ(ended, 2);
}

// A task that does not take the body holds the client back.
TEST_F(BodyStreamTest, ASlowTaskSlowsTheClientDown) {
    static std::size_t taken;
    taken = 0;
    app = App({.body_bytes_max = 100_MiB});
    app.post<"/b">([](BodyStream body) -> task::Task<std::string> {
        co_await task::sleep(10s);
        std::size_t most = 0;
        while (auto piece = co_await body.next()) {
            most = std::max(most, piece->size());
            taken += piece->size();
        }
        co_return std::to_string(most);
    });
    auto peer = connect();
    const std::string piece(1'000'000, 'x');
    peer->say(head(8'000'000));
    for (int i = 0; i < 8; ++i) peer->say(piece);
    peer->finish();
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    EXPECT_EQ(taken, 8'000'000u);
    EXPECT_LT(std::stoul(body_of(peer->heard())), BodyStream::held_bytes_max + 128_KiB)
        << "one piece has all that was held";
}

TEST_F(BodyStreamTest, AHandlerThatEndsFirstAnswersAndTheNextRequestIsServed) {
    app.post<"/b">([](BodyStream body) -> task::Task<std::string> {
        auto first = co_await body.next();
        co_return "enough";
    });
    app.post<"/unread">([](BodyStream) -> task::Task<std::string> { co_return "unread"; });
    app.get<"/next">([] { return "next"; });
    auto peer = connect();
    peer->say(head(1'000) + std::string(1'000, 'x') +
              "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
              "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    const std::string heard = peer->heard();
    EXPECT_LT(heard.find("enough"), heard.find("unread"));
    EXPECT_NE(heard.find("next"), std::string::npos) << heard;
}

TEST_F(BodyStreamTest, AHandlerThatEndsWhileTheClientIsHeldBackAnswers) {
    app = App({.body_bytes_max = 100_MiB});
    app.post<"/b">([](BodyStream) -> task::Task<std::string> {
        co_await task::sleep(1s);
        co_return "enough";
    });
    auto peer = connect();
    peer->say(head(150'000));
    peer->say(std::string(150'000, 'x'));
    ASSERT_TRUE(world.run_until([&] { return peer->heard().contains("enough"); }));
    peer->reset();
    world.settle();
}

// A client that goes away at each await ends the task there.
TEST_F(BodyStreamTest, AClientThatVanishesEndsTheTask) {
    static int ended;
    struct Note {
        ~Note() { ++ended; }
    };
    ended = 0;
    app.post<"/b">([](BodyStream body) -> task::Task<std::string> {
        const Note note;
        std::size_t bytes = 0;
        while (auto piece = co_await body.next()) {
            bytes += piece->size();
            co_await task::sleep(1ms);
        }
        co_return std::to_string(bytes);
    });
    for (std::size_t sent = 0; sent < 10; ++sent) {
        auto peer = connect();
        peer->say(head(10));
        world.settle();
        for (std::size_t i = 0; i < sent; ++i) {
            peer->say("x");
            world.settle();
        }
        peer->reset();
        const int wanted = static_cast<int>(sent) + 1;
        ASSERT_TRUE(world.run_until([&] { return ended == wanted; })) << sent;
    }
}

// A task that takes the body along has the rest of it, or hears that there is none.
TEST_F(BodyStreamTest, MayOutliveItsHandler) {
    std::string told;
    app.post<"/b">([&](BodyStream body, task::Runner& runner) -> task::Task<std::string> {
        runner.spawn([](BodyStream body, std::string& told) -> task::Task<> {
            try {
                told += co_await count(std::move(body)) + ";";
            } catch (const Problem& problem) {
                told += problem.detail + ";";
            }
        }(std::move(body), told));
        co_return "accepted";
    });
    app.get<"/next">([] { return "next"; });
    auto peer = connect();
    peer->say(head(10));
    world.settle();
    EXPECT_NE(peer->heard().find("accepted"), std::string::npos);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(told, "");
        peer->say("x");
        world.settle();
    }
    EXPECT_EQ(told, "10 in pieces;");
    peer->say("GET /next HTTP/1.1\r\nHost: a\r\n\r\n" + head(10) + "x");
    world.settle();
    EXPECT_NE(peer->heard().find("next"), std::string::npos);
    peer->reset();
    world.settle();
    EXPECT_EQ(told, "10 in pieces;the body was not completed;");
    for (const bool resets : {true, false}) {
        told.clear();
        auto second = connect();
        testing::H2Client client(*second);
        const auto stream = client.request("POST", "/b", {}, false);
        world.settle();
        EXPECT_EQ(client.answer(stream).body, "accepted");
        if (!client.answer(stream).reset) client.data(stream, "xx", !resets);
        world.settle();
        if (resets) client.reset(stream);
        world.settle();
        EXPECT_EQ(told, resets ? "the body was not completed;" : "2;") << resets;
        second->close();
        world.settle();
    }
}

// The time that a client takes to send is not the handler's; its connection has limits for that.
TEST_F(BodyStreamTest, ASlowUploadDoesNotRunIntoTheHandlersTimeout) {
    app = App({.handler_timeout = 5s});
    app.post<"/b">([](BodyStream body) { return count(std::move(body)); });
    auto peer = connect();
    peer->say(head(10));
    for (int i = 0; i < 10; ++i) {
        world.advance(2s);
        peer->say("x");
    }
    ASSERT_TRUE(world.run_until([&] { return peer->heard().contains("10 in pieces"); }));
}

// From the last byte on it is the handler that is waited for.
TEST_F(BodyStreamTest, AHandlerThatWaitsForSomethingElseHasItsTimeout) {
    app = App({.handler_timeout = 5s});
    app.post<"/read">([](BodyStream body) -> task::Task<std::string> {
        while (co_await body.next()) {
        }
        co_await task::sleep(1h);
        co_return "late";
    });
    app.post<"/unread">([](BodyStream) -> task::Task<std::string> {
        co_await task::sleep(1h);
        co_return "late";
    });
    for (const std::string path : {"/read", "/unread"}) {
        auto peer = connect();
        peer->say("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd");
        world.advance(4s);
        EXPECT_EQ(peer->heard(), "") << path;
        world.advance(2s);
        EXPECT_TRUE(peer->heard().starts_with("HTTP/1.1 503 ")) << path << peer->heard();
    }
}

TEST_F(BodyStreamTest, AHandlerThatGivesUpWaitingForTheClientHasItsTimeout) {
    app = App({.handler_timeout = 5s});
    app.post<"/b">([](BodyStream body) -> task::Task<std::string> {
        co_await task::within(2s, count(std::move(body)));
        co_await task::sleep(1h);
        co_return "late";
    });
    auto peer = connect();
    peer->say(head(4) + "ab");
    world.advance(6s);
    EXPECT_EQ(peer->heard(), "");
    world.advance(2s);
    EXPECT_TRUE(peer->heard().starts_with("HTTP/1.1 503 ")) << peer->heard();
}

// Each may hold a piece while its handler works, so together they need a bound.
TEST_F(BodyStreamTest, TheBodiesOfAllHaveOneBound) {
    app = App({.body_bytes_max = 1 << 20, .bodies_bytes_max = 200'000, .handler_timeout = 1h});
    static int refused;
    refused = 0;
    app.post<"/b">([](BodyStream body) -> task::Task<std::string> {
        co_await task::sleep(10s);
        try {
            while (co_await body.next()) {
            }
        } catch (const Problem& problem) {
            refused += problem.status == 503 ? 1 : 0;
            throw;
        }
        co_return "taken";
    });
    std::vector<std::unique_ptr<testing::Peer>> peers;
    for (int i = 0; i < 8; ++i) {
        peers.push_back(connect());
        peers.back()->say(head(50'000));
        peers.back()->say(std::string(50'000, 'x'));
        world.settle();
    }
    world.advance(11s);
    int taken = 0;
    for (const auto& peer : peers) taken += peer->heard().contains("taken") ? 1 : 0;
    EXPECT_EQ(refused, 4);
    EXPECT_EQ(taken, 4);
}

TEST_F(BodyStreamTest, AThrownProblemIsAnswered) {
    app.post<"/b">([](BodyStream body) -> task::Task<std::string> {
        auto first = co_await body.next();
        throw Problem{.status = 409, .detail = "later"};
    });
    app.get<"/now">([]() -> std::string { throw Problem{.status = 402, .detail = "now"}; });
    EXPECT_EQ(status_of(ask("POST", "/b", "", "abc")), "409");
    EXPECT_EQ(body_of(get("/now")), R"({"title":"Payment Required","status":402,"detail":"now"})");
}

}  // namespace
}  // namespace tiderace::http
