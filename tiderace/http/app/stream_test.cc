#include "tiderace/http/app/stream.h"

#include <gtest/gtest.h>

#include <expected>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/cookies.h"
#include "tiderace/task.h"
#include "tiderace/task/sleep.h"

namespace tiderace::http {
namespace {

class StreamTest : public AppTest {};

TEST(RenderedEvent, EachLineIsAFieldOfItsOwn) {
    EXPECT_EQ(render({.data = "one"}), "data: one\n\n");
    EXPECT_EQ(render({.data = "one\ntwo\r\nthree\rfour"}),
              "data: one\ndata: two\ndata: three\ndata: four\n\n");
    EXPECT_EQ(render({.data = "x", .event = "tick", .id = "7", .retry_ms = 500}),
              "event: tick\nid: 7\nretry: 500\ndata: x\n\n");
    EXPECT_EQ(render({.comment = "still here"}), ": still here\n\n");
    EXPECT_EQ(render({}), "data: \n\n");
    // A peer's text in a type cannot begin a field of its own.
    EXPECT_EQ(render({.data = "x", .event = "a\ndata: forged"}), "event: a\ndata: x\n\n");
}

// The chunks of a chunked body, joined.
std::string unchunked(std::string_view text) {
    std::string out;
    for (;;) {
        const std::size_t bytes = std::stoul(std::string(text), nullptr, 16);
        if (bytes == 0) return out;
        text.remove_prefix(text.find("\r\n") + 2);
        out += text.substr(0, bytes);
        text.remove_prefix(bytes + 2);
    }
}

TEST_F(StreamTest, AGeneratorIsSentPieceByPiece) {
    app.get<"/n/{n}">([](int n) -> task::Generator<std::string> {
        for (int i = 0; i < n; ++i) {
            if (i % 100 == 99) co_await task::sleep(1ms);
            co_yield std::to_string(i) + "\n";
        }
    });
    for (int n : {0, 1, 2, 1'000, 50'000}) {
        std::string expected;
        for (int i = 0; i < n; ++i) expected += std::to_string(i) + "\n";
        EXPECT_EQ(unchunked(body_of(get("/n/" + std::to_string(n)))), expected) << n;
    }
}

TEST_F(StreamTest, AResponseGivesAGeneratorItsStatusTypeAndFields) {
    const auto pieces = []() -> task::Generator<std::string> {
        co_yield "{\"a\":";
        co_await task::sleep(1ms);
        co_yield "1}";
    };
    app.get<"/export">([=] {
        return Response(203)
            .header("Content-Disposition", "attachment")
            .body("application/json", pieces());
    });
    app.get<"/later">([=]() -> Task<std::expected<Response, Problem>> {
        co_await task::sleep(1ms);
        co_return Response().body("application/json", pieces());
    });
    app.get<"/text">([=] { return Response().body("application/json", pieces()).text("a text"); });
    app.get<"/shop/lost">([] { return Problem{.status = 404}; });
    app.error_page([=](const ErrorAnswer&) { return Response().body("text/html", pieces()); });
    const std::string answer = get("/export");
    EXPECT_THAT(answer, ::testing::StartsWith("HTTP/1.1 203 "));
    EXPECT_THAT(answer, ::testing::HasSubstr("Content-Type: application/json\r\n"));
    EXPECT_THAT(answer, ::testing::HasSubstr("Content-Disposition: attachment\r\n"));
    EXPECT_EQ(unchunked(body_of(answer)), "{\"a\":1}");
    EXPECT_EQ(unchunked(body_of(get("/later"))), "{\"a\":1}");
    EXPECT_EQ(body_of(get("/text")), "a text") << "the last body counts";
    const std::string page = ask("GET", "/shop/lost", "Accept: text/html\r\n");
    EXPECT_THAT(page, ::testing::StartsWith("HTTP/1.1 404 "));
    EXPECT_EQ(unchunked(body_of(page)), "{\"a\":1}");
}

TEST_F(StreamTest, AFunctionAfterTheHandlerMayGiveAGeneratorToo) {
    const auto pieces = []() -> task::Generator<std::string> {
        co_yield "one ";
        co_await task::sleep(1ms);
        co_yield "two";
    };
    app.use([=](const Request&, Response& response) { response.body("text/plain", pieces()); });
    app.get<"/text">([] { return "a text"; });
    app.get<"/pieces">([=] { return Response().body("text/html", pieces()); });
    for (const char* path : {"/text", "/pieces", "/nothing"}) {
        EXPECT_EQ(unchunked(body_of(get(path))), "one two") << path;
    }
}

// The generator of a Response goes on when its handler has returned, and may have taken its views.
TEST_F(StreamTest, AResponsesGeneratorKeepsItsViewsOfTheRequest) {
    const auto late = [](std::string_view text,
                         const Request& request) -> task::Generator<std::string> {
        co_await task::sleep(10ms);
        co_yield std::string(text) + " " + std::string(request.path);
    };
    app.get<"/reply/{text}">([=](std::string_view text, const Request& request) {
        return Response().body("text/plain", late(text, request));
    });
    app.get<"/held/{text}">([=](std::string_view text, const Request& request) {
        return std::optional(Response().body("text/plain", late(text, request)));
    });
    app.group("/rule")
        .use([=](const Request& request) -> std::optional<Response> {
            return Response().body("text/plain", late(request.query, request));
        })
        .get<"/x">([] { return "not reached"; });
    for (const std::string path : {"/reply/aaaa", "/held/aaaa", "/rule/x?aaaa"}) {
        auto first = connect();
        auto second = connect();
        first->say("GET " + path + " HTTP/1.1\r\nHost: one\r\nConnection: close\r\n\r\n");
        world.settle();
        second->say(
            "GET /reply/bbbbbbbbbbbbbbb HTTP/1.1\r\nHost: two\r\nConnection: close\r\n\r\n");
        ASSERT_TRUE(world.run_until([&] { return first->over() && second->over(); }));
        EXPECT_EQ(unchunked(body_of(first->heard())), "aaaa " + path.substr(0, path.find('?')));
    }
}

TEST_F(StreamTest, EventsComeAsTheyAreMade) {
    app.get<"/ticks">([]() -> Events {
        for (int i = 0;; ++i) {
            co_yield {.data = std::to_string(i)};
            co_await task::sleep(1s);
        }
    });
    auto peer = connect();
    peer->say("GET /ticks HTTP/1.1\r\nHost: a\r\n\r\n");
    world.settle();
    EXPECT_NE(peer->heard().find("Content-Type: text/event-stream\r\n"), std::string::npos);
    EXPECT_NE(peer->heard().find("data: 0\n\n"), std::string::npos);
    EXPECT_EQ(peer->heard().find("data: 1"), std::string::npos);
    world.advance(2s);
    EXPECT_NE(peer->heard().find("data: 1\n\n"), std::string::npos);
    peer->reset();
    world.advance(2s);
}

// A client that does not read: the generator stops, and its memory with it.
TEST_F(StreamTest, ASlowClientSlowsTheGeneratorDown) {
    static int made;
    made = 0;
    app.get<"/endless">([]() -> task::Generator<std::string> {
        for (;;) {
            ++made;
            co_yield std::string(1'000, 'x');
        }
    });
    auto peer = connect();
    peer->set_listening(false);
    peer->say("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n");
    world.settle();
    const int at_first = made;
    EXPECT_GT(at_first, 0);
    EXPECT_LT(at_first, 3'000) << "no more than the queue and the network hold";
    world.advance(1s);
    EXPECT_EQ(made, at_first);
    peer->reset();
    world.settle();
}

// Only so many pieces without bytes are made in one turn; then others are served.
TEST_F(StreamTest, EmptyPiecesDoNotHoldTheLoop) {
    constexpr int made_max = 100'000;  // then it ends: a test that loops must end
    static int made;
    static bool enough;
    made = 0;
    enough = false;
    app.get<"/empty">([]() -> task::Generator<std::string> {
        while (!enough && ++made < made_max) co_yield "";
        co_yield "some";
    });
    app.get<"/other">([] { return "other"; });
    auto peer = connect();
    peer->say("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(world.run_until([&] { return made > 100; }));
    EXPECT_EQ(body_of(get("/other")), "other");
    EXPECT_LT(made, made_max);
    enough = true;
    ASSERT_TRUE(world.run_until([&] { return peer->heard().find("some") != std::string::npos; }));
}

TEST_F(StreamTest, AGeneratorThatThrowsBreaksTheAnswerOff) {
    app.get<"/broken">([]() -> task::Generator<std::string> {
        co_yield "some";
        co_await task::sleep(1ms);
        throw std::runtime_error("no more");
    });
    const std::string answer = get("/broken");
    EXPECT_NE(answer.find("some"), std::string::npos);
    EXPECT_EQ(answer.find("0\r\n\r\n"), std::string::npos) << "the last chunk must be missing";
}

TEST_F(StreamTest, AClientThatGoesAwayEndsTheGenerator) {
    static int ended;
    ended = 0;
    struct Note {
        ~Note() { ++ended; }
    };
    app.get<"/events">([]() -> Events {
        const Note note;
        for (;;) {
            co_yield {.data = "x"};
            co_await task::sleep(1h);
        }
    });
    auto peer = connect();
    peer->say("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    world.settle();
    EXPECT_EQ(ended, 0);
    peer->reset();
    ASSERT_TRUE(world.run_until([&] { return ended == 1; }));
}

// Its views of the request, which the next request of the loop would otherwise overwrite.
TEST_F(StreamTest, AGeneratorMayReadTheRequestAsLongAsItRuns) {
    app.get<"/pieces/{name}">([](std::string_view name, const Request& request,
                                 Cookies cookies) -> task::Generator<std::string> {
        co_yield "from ";
        co_await task::sleep(1s);
        co_yield std::string(name) + " " + std::string(request.query) + " " +
            std::string(cookies.get("id").value_or("none"));
    });
    app.get<"/events/{name}">([](std::string_view name) -> Events {
        co_yield {.data = "from"};
        co_await task::sleep(1s);
        co_yield {.data = name};
    });
    app.get<"/perhaps/{name}">([](std::string_view name) -> std::expected<Events, Problem> {
        return [](std::string_view of) -> Events {
            co_yield {.data = "from"};
            co_await task::sleep(1s);
            co_yield {.data = of};
        }(name);
    });
    const std::pair<const char*, const char*> cases[] = {
        {"/pieces/", "ann a=1 7"}, {"/events/", "data: ann\n\n"}, {"/perhaps/", "data: ann\n\n"}};
    for (const auto& [path, expected] : cases) {
        const std::string first = "GET " + std::string(path);
        auto one = connect();
        one->say(first + "ann?a=1 HTTP/1.1\r\nHost: a\r\nCookie: id=7\r\n\r\n");
        world.settle();
        EXPECT_THAT(one->heard(), ::testing::HasSubstr("from"));
        auto other = connect();
        other->say(first + "bob?b=2 HTTP/1.1\r\nHost: b\r\nCookie: id=8\r\n\r\n");
        world.settle();
        world.advance(2s);
        EXPECT_THAT(one->heard(), ::testing::HasSubstr(expected)) << path;
    }
}

}  // namespace
}  // namespace tiderace::http
