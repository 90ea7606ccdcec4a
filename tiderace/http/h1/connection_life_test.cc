// A connection's life: deadlines, drain, the last request, an upgrade, the log, memory. Time is the
// test's. On every engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/http/h1/messages_fixture.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h1_stage.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::http {
namespace {

using net::CloseReason;
using testing::H1Stage;
using testing::Logged;
using testing::Peer;
using testing::World;

const std::string too_late =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 36\r\nConnection: close\r\n\r\nThe request did not arrive in time.\n";

class H1Life : public ::testing::TestWithParam<std::string> {
  protected:
    H1Life() { start(H1Stage::plain()); }

    void start(H1Options options) {
        stage_.reset();
        stage_ = std::make_unique<H1Stage>(*world_, std::move(options));
        stage_->add_usual_paths();
        stage_->on("/kept", [this](Exchange& exchange) { kept_ = exchange.defer(); });
        stage_->on("/large", [this](Exchange& exchange) {
            core::SendQueue queue;
            queue.append_shared(large_, {});
            Response response;
            response.set_body(std::move(queue));
            exchange.respond(response);
        });
        stage_->on("/large-stream", [this](Exchange& exchange) {
            Response response;
            response.set_body(
                testing::pieces(std::vector<std::string>(256, large_.substr(0, 64_KiB))),
                256 * 64_KiB);
            exchange.respond(response);
        });
    }
    bool heard(const Peer& peer, const std::string& answer) {
        return stage_->run_until([&] { return H1Stage::heard(peer).size() >= answer.size(); }) &&
               H1Stage::heard(peer) == answer;
    }
    bool open(std::size_t connections) {
        return stage_->run_until([&] { return stage_->server().size() == connections; });
    }

    const std::string large_ = std::string(16_MiB, 'x');
    std::unique_ptr<World> world_ = testing::make_world(GetParam());
    std::unique_ptr<H1Stage> stage_;
    core::Ref<Exchange> kept_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H1Life, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

// --- deadlines -------------------------------------------------------------------------------

TEST_P(H1Life, AFreshConnectionThatSaysNothingIsClosedWithoutAWord) {
    const auto peer = stage_->connect();
    ASSERT_TRUE(open(1));
    world_->advance(9s);
    EXPECT_FALSE(peer->over());
    world_->advance(2s);
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    EXPECT_EQ(peer->heard(), "");
    EXPECT_EQ(stage_->closed(CloseReason::idle_expired), 1U);
}

TEST_P(H1Life, AHeadThatDripsIsAnswered408) {
    const auto peer = stage_->connect();
    const std::string head = "GET /hello HTTP/1.1\r\nX: ";
    for (std::size_t i = 0; i < 12 && !peer->over(); ++i) {
        peer->say(head.substr(i, 1));
        world_->advance(1s);
    }
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    EXPECT_EQ(H1Stage::heard(*peer), too_late);
    EXPECT_EQ(stage_->service().counters().timed_out, 1U);
    EXPECT_TRUE(stage_->served().empty());
}

TEST_P(H1Life, TheSecondHeadHasItsOwnTime) {
    const auto peer = stage_->connect();
    peer->say(get_hello);
    ASSERT_TRUE(heard(*peer, hello));
    world_->advance(30s);
    peer->say("GET /hel");
    world_->advance(8s);
    EXPECT_FALSE(peer->over());
    peer->say("lo HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(heard(*peer, hello + hello));
    peer->say("GET");
    world_->advance(11s);
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    EXPECT_EQ(H1Stage::heard(*peer), hello + hello + too_late);
}

TEST_P(H1Life, AnIdleConnectionIsClosedWithoutAWord) {
    const auto peer = stage_->connect();
    peer->say(get_hello);
    ASSERT_TRUE(heard(*peer, hello));
    world_->advance(59s);
    EXPECT_FALSE(peer->over());
    world_->advance(2s);
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    EXPECT_EQ(H1Stage::heard(*peer), hello);
    EXPECT_EQ(stage_->closed(CloseReason::idle_expired), 1U);
}

TEST_P(H1Life, ABodyThatStallsIsAnswered408AndOneThatDripsIsNot) {
    const std::string head = "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n";
    const auto stalls = stage_->connect();
    const auto drips = stage_->connect();
    stalls->say(head);
    drips->say(head);
    for (int i = 0; i < 4; ++i) {
        world_->advance(20s);
        drips->say("x");
    }
    ASSERT_TRUE(stage_->run_until([&] { return stalls->over(); }));
    EXPECT_EQ(H1Stage::heard(*stalls), too_late);
    EXPECT_TRUE(heard(*drips, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nxxxx"));
}

TEST_P(H1Life, ABodyBelowTheMinimumRateIsAnswered408) {
    H1Options options = H1Stage::plain();
    options.receive_bytes_per_second_min = 2;
    start(options);
    const auto peer = stage_->connect();
    peer->say("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    for (int i = 0; i < 40 && !peer->over(); ++i) {
        peer->say("x");
        world_->advance(1s);
    }
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    EXPECT_EQ(H1Stage::heard(*peer), too_late);
}

TEST_P(H1Life, AnAnswerThatIsBeingMadeHasNoDeadline) {
    const auto peer = stage_->connect();
    peer->say(get("/kept"));
    ASSERT_TRUE(stage_->run_until([&] { return static_cast<bool>(kept_); }));
    world_->advance(2h);
    ASSERT_FALSE(peer->over());
    std::exchange(kept_, {})->respond_status(204);
    EXPECT_TRUE(heard(*peer, "HTTP/1.1 204 No Content\r\n\r\n"));
}

// Bytes of one period do not count for the next: neither a fast start nor one that is enough
// to the byte.
TEST(H1LifeFake, ABodyThatBeginsFastIsHeldToTheMinimumRateInEachPeriod) {
    testing::FakeWorld world;
    H1Options options = H1Stage::plain();
    options.body_timeout = 10s;
    options.receive_bytes_per_second_min = 1;
    H1Stage stage(world, std::move(options));
    stage.add_usual_paths();
    const auto peer = stage.connect();
    peer->say("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    world.settle();
    const Duration began = world.elapsed();
    for (const std::size_t bytes : {50U, 10U, 10U, 9U}) {
        EXPECT_FALSE(peer->over()) << bytes;
        peer->say(std::string(bytes, 'x'));
        world.advance(10s);
    }
    ASSERT_TRUE(stage.run_until([&] { return peer->over(); }));
    EXPECT_EQ(H1Stage::heard(*peer), too_late);
    EXPECT_GE(world.elapsed() - began, 40s);
    EXPECT_LT(world.elapsed() - began, 50s);
}

TEST(H1LifeFake, ItsLimitsOfTimeMayBeNever) {
    testing::FakeWorld world;
    H1Options options = H1Stage::plain();
    options.header_timeout = Duration::max();
    options.body_timeout = Duration::max();
    options.idle_timeout = Duration::max();
    options.half_closed_timeout = Duration::max();
    H1Stage stage(world, std::move(options));
    stage.add_usual_paths();
    const auto peer = stage.connect();
    for (const char* part :
         {"", "POST /upload HTTP/1.1\r\n", "Host: a\r\nContent-Length: 4\r\n\r\n", "xx", "xx",
          "POST /upload HTTP/1.1\r\n"}) {
        peer->say(part);
        world.settle();
        world.advance(1h);
        ASSERT_FALSE(peer->over()) << part;
    }
    EXPECT_EQ(H1Stage::heard(*peer), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nxxxx");
}

// The rest of the body may be on its way, and must not reset what carries the answer.
TEST(H1LifeFake, ABodyThatStallsIsAnsweredAndItsRestIsStillTaken) {
    testing::FakeWorld world;
    H1Options options = H1Stage::plain();
    options.body_timeout = 10s;
    H1Stage stage(world, std::move(options));
    stage.add_usual_paths();
    const auto peer = stage.connect();
    peer->say("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nfirst");
    world.advance(10s);
    ASSERT_TRUE(stage.run_until([&] { return H1Stage::heard(*peer) == too_late; }));
    EXPECT_EQ(stage.server().size(), 1U);
    peer->say("the rest");
    world.advance(100ms);
    EXPECT_FALSE(peer->was_reset());
    peer->finish();
    EXPECT_TRUE(stage.run_until([&] { return stage.server().size() == 0; }));
}

// --- HTTP/2 in clear, by its preface ---------------------------------------------------------

TEST(H1Preface, HandsItsConnectionToHttp2) {
    testing::FakeWorld world;
    testing::H2Stage stage(world);
    const auto peer = stage.connect();
    testing::H2Client client(*peer);
    const auto first = client.get("/hello");
    ASSERT_TRUE(stage.run_until([&] { return client.answer(first).ended; }));
    EXPECT_EQ(client.answer(first).status, 200);
    EXPECT_EQ(client.answer(first).body, "hello\n");
    const auto second = client.get("/hello");
    ASSERT_TRUE(stage.run_until([&] { return client.answer(second).ended; }));
}

TEST(H1Preface, WithoutItsFirstByteIsNoRequest) {
    testing::FakeWorld world;
    testing::H2Stage stage(world);
    const auto peer = stage.connect();
    peer->say("RI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    ASSERT_TRUE(stage.run_until([&] { return !peer->heard().empty(); }));
    EXPECT_THAT(peer->heard(), ::testing::StartsWith("HTTP/1.1 "));
}

// A bug of a server before us: the idle limit ran while a download did.
TEST(H1LifeFake, ADownloadLongerThanTheIdleLimitIsNotCut) {
    for (const char* path : {"/large", "/large-stream"}) {
        SCOPED_TRACE(path);
        testing::FakeWorld world;
        H1Stage stage(world);
        const std::string large(2_MiB, 'x');
        stage.on("/large", [&](Exchange& exchange) {
            core::SendQueue queue;
            queue.append_shared(large, {});
            Response response;
            response.set_body(std::move(queue));
            exchange.respond(response);
        });
        stage.on("/large-stream", [&](Exchange& exchange) {
            Response response;
            response.set_body(
                testing::pieces(std::vector<std::string>(32, large.substr(0, 64_KiB))), 2_MiB);
            exchange.respond(response);
        });
        {
            stage.connect();
        }
        const auto peer = world.connect_fake();
        peer->set_hearing_pace({.bytes = 32_KiB, .every = 10s});
        peer->say(get(path));
        ASSERT_TRUE(world.run_until([&] { return peer->over() || peer->heard().size() >= 2_MiB; }));
        EXPECT_FALSE(peer->over());
        EXPECT_GT(world.elapsed(), 5min);
        world.advance(3min);  // and then it is idle
        EXPECT_TRUE(peer->ended());
        EXPECT_EQ(H1Stage::heard(*peer),
                  "HTTP/1.1 200 OK\r\nContent-Length: 2097152\r\n\r\n" + large);
    }
}

// --- drain, and the last request -------------------------------------------------------------

TEST_P(H1Life, DrainClosesIdleOnesAndLetsBusyOnesFinish) {
    const auto fresh = stage_->connect();
    const auto idle = stage_->connect();
    const auto busy = stage_->connect();
    const auto half = stage_->connect();
    idle->say(get_hello);
    half->say("GET /hello HTTP");
    busy->say(get("/kept") + get_hello);
    ASSERT_TRUE(heard(*idle, hello));
    ASSERT_TRUE(open(4));
    ASSERT_TRUE(stage_->run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    bool drained = false;
    stage_->server().drain(world_->loop().now() + 10s, [&] { drained = true; });
    world_->advance(600ms);
    ASSERT_TRUE(stage_->run_until([&] { return fresh->over() && idle->over(); }));
    world_->settle();
    EXPECT_FALSE(busy->over() || half->over() || drained);
    half->say("/1.1\r\nHost: a\r\n\r\n");
    std::exchange(kept_, {})->respond_status(204);
    ASSERT_TRUE(stage_->run_until([&] { return busy->over() && half->over(); }));
    EXPECT_EQ(H1Stage::heard(*half), hello_close);
    EXPECT_EQ(H1Stage::heard(*busy), "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    half->close();
    busy->close();
    EXPECT_TRUE(stage_->run_until([&] { return drained; }));
}

// It is in the kernel's hands, or on its way: the client could not know of the drain.
TEST_P(H1Life, ARequestThatMeetsADrainIsAnsweredAsTheLast) {
    const auto idle = stage_->connect();
    idle->say(get_hello);
    ASSERT_TRUE(heard(*idle, hello));
    const auto fresh = stage_->connect();
    const auto late = stage_->connect();
    ASSERT_TRUE(open(3));
    const auto queued = stage_->connect();
    for (const auto* each : {&idle, &fresh, &queued}) (*each)->say(get_hello);
    bool drained = false;
    stage_->server().drain(world_->loop().now() + 10s, [&] { drained = true; });
    ASSERT_TRUE(stage_->run_until([&] { return idle->over() && fresh->over() && queued->over(); }));
    EXPECT_EQ(H1Stage::heard(*idle), std::string(hello) + std::string(hello_close));
    EXPECT_EQ(H1Stage::heard(*fresh), hello_close);
    EXPECT_EQ(H1Stage::heard(*queued), hello_close);
    EXPECT_FALSE(late->over());
    late->say(get_hello);
    ASSERT_TRUE(stage_->run_until([&] { return late->over(); }));
    EXPECT_EQ(H1Stage::heard(*late), hello_close);
    for (const auto* each : {&idle, &fresh, &queued, &late}) (*each)->close();
    EXPECT_TRUE(stage_->run_until([&] { return drained; }));
}

TEST_P(H1Life, WhatIsStillBusyAtTheEndOfTheDrainIsAborted) {
    const auto busy = stage_->connect();
    busy->say(get("/kept"));
    ASSERT_TRUE(stage_->run_until([&] { return static_cast<bool>(kept_); }));
    bool drained = false;
    stage_->server().drain(world_->loop().now() + 10s, [&] { drained = true; });
    world_->advance(11s);
    EXPECT_TRUE(drained);
    EXPECT_TRUE(kept_->abandoned());
    EXPECT_EQ(stage_->closed(CloseReason::server_stopped), 1U);
}

TEST_P(H1Life, DrainOfAConnectionThatStillTakesItsAnswerServesNoMore) {
    const auto peer = stage_->connect();
    peer->set_listening(false);
    peer->say(get("/large"));
    ASSERT_TRUE(stage_->run_until([&] { return stage_->served().size() == 1; }));
    world_->settle();
    stage_->server().drain(world_->loop().now() + 1h, [] {});
    peer->say(get_hello);
    world_->settle();
    peer->set_listening(true);
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    EXPECT_EQ(stage_->served().size(), 1U);
    EXPECT_TRUE(H1Stage::heard(*peer) ==
                "HTTP/1.1 200 OK\r\nContent-Length: 16777216\r\n\r\n" + large_);
}

TEST_P(H1Life, TheLastAnswerOfAConnectionSaysClose) {
    H1Options options = H1Stage::plain();
    options.requests_max = 2;
    start(options);
    const auto peer = stage_->connect();
    peer->say(get_hello + get_hello + get_hello);
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    EXPECT_FALSE(peer->was_reset());
    EXPECT_EQ(H1Stage::heard(*peer), hello + hello_close);
    EXPECT_EQ(stage_->served().size(), 2U);
}

// --- upgrade ---------------------------------------------------------------------------------

class Shout final : public net::Session {
  public:
    std::size_t on_data(net::Connection& connection, ByteView data) override {
        connection.write("[" + std::string(data) + "]");
        return data.size();
    }
    void on_close(net::Connection&, CloseReason) override { ++closes; }
    int closes = 0;
};

class H1Upgrade : public H1Life {
  protected:
    static std::string request(const std::string& path) {
        return "GET " + path +
               " HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\nleft over";
    }
    bool upgrade(Exchange& exchange) {
        Response response;
        response.add(wire::FieldName::upgrade, "shout");
        return exchange.upgrade(response,
                                [this](net::Connection&) -> net::Session& { return shout_; });
    }
    void expect_shouting(const Peer& peer) {
        const std::string answer =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: shout\r\nConnection: upgrade\r\n\r\n";
        EXPECT_TRUE(heard(peer, answer + "[left over]")) << H1Stage::heard(peer);
    }

    Shout shout_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H1Upgrade, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(H1Upgrade, HandsTheConnectionOverWithWhatIsLeft) {
    stage_->on("/up", [&](Exchange& exchange) { EXPECT_TRUE(upgrade(exchange)); });
    const auto peer = stage_->connect();
    peer->say(request("/up"));
    expect_shouting(*peer);
    world_->advance(1h);  // the deadlines of HTTP are over
    EXPECT_FALSE(peer->over());
    EXPECT_EQ(stage_->logged(), (std::vector<Logged>{{"GET /up", 101, 0}}));
    peer->close();
    EXPECT_TRUE(stage_->run_until([&] { return shout_.closes == 1; }));
}

// They would be served to whomever the new protocol speaks for.
TEST_P(H1Upgrade, BytesBehindItAreNoRequestOfHttp) {
    stage_->on("/up", [&](Exchange& exchange) { EXPECT_TRUE(upgrade(exchange)); });
    const auto peer = stage_->connect();
    peer->say(get("/up", "Connection: upgrade\r\nUpgrade: shout\r\n") + get_hello);
    EXPECT_TRUE(stage_->run_until([&] { return peer->heard().ends_with("\r\n\r\n]"); }));
    EXPECT_EQ(stage_->served(), std::vector<std::string>{"GET /up"});
    peer->close();
    EXPECT_TRUE(stage_->run_until([&] { return shout_.closes == 1; }));
}

TEST_P(H1Upgrade, IsPossibleLaterToo) {
    const auto peer = stage_->connect();
    peer->say(request("/kept"));
    ASSERT_TRUE(stage_->run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    EXPECT_TRUE(upgrade(*std::exchange(kept_, {})));
    expect_shouting(*peer);
    peer->close();
    EXPECT_TRUE(stage_->run_until([&] { return shout_.closes == 1; }));
}

TEST_P(H1Upgrade, IsNotPossibleWithoutARequest) {
    stage_->on("/up", [&](Exchange& exchange) {
        EXPECT_FALSE(upgrade(exchange));
        exchange.respond_status(426);
    });
    const auto peer = stage_->connect();
    peer->say(get("/up"));
    EXPECT_TRUE(heard(*peer, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n"));
}

TEST_P(H1Upgrade, ThatCannotBeWrittenIsA500) {
    stage_->on("/up", [&](Exchange& exchange) {
        Response response;
        response.add("X-Bad", "a\r\nb");
        EXPECT_TRUE(exchange.upgrade(response,
                                     [this](net::Connection&) -> net::Session& { return shout_; }));
    });
    const auto peer = stage_->connect();
    peer->say(request("/up"));
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    EXPECT_THAT(peer->heard(), ::testing::StartsWith("HTTP/1.1 500 "));
    EXPECT_EQ(shout_.closes, 0);
}

// --- the access log --------------------------------------------------------------------------

TEST_P(H1Life, EveryAnswerIsLoggedOnceWithTheBytesOfItsBody) {
    const auto peer = stage_->connect();
    peer->say(get_hello + "HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n" + get("/unchanged") +
              get("/stream") + get("/later") + get("/nothing") + "GET /hello HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    const std::uint64_t refusal = wire::explain(wire::Refusal::missing_host).size() + 1;
    EXPECT_EQ(stage_->logged(), (std::vector<Logged>{{"GET /hello", 200, 6},
                                                     {"HEAD /hello", 200, 0},
                                                     {"GET /unchanged", 304, 0},
                                                     {"GET /stream", 200, 6},
                                                     {"GET /later", 200, 6},
                                                     {"GET /nothing", 500, 0},
                                                     {"GET /hello", 400, refusal}}));
}

TEST_P(H1Life, ARequestWithoutAHeadIsLoggedAsADash) {
    const auto peer = stage_->connect();
    peer->say("nonsense\r\n\r\n");
    ASSERT_TRUE(stage_->run_until([&] { return peer->over(); }));
    ASSERT_EQ(stage_->logged().size(), 1U);
    EXPECT_EQ(stage_->logged()[0].request, "- -");
    EXPECT_EQ(stage_->logged()[0].status, 400);
}

TEST_P(H1Life, ALargeAnswerIsLoggedWhenItIsGone) {
    for (const char* path : {"/large", "/large-stream"}) {
        SCOPED_TRACE(path);
        start(H1Stage::plain());
        const auto peer = stage_->connect();
        peer->set_listening(false);
        peer->say(get(path));
        ASSERT_TRUE(stage_->run_until([&] { return stage_->served().size() == 1; }));
        world_->settle();
        EXPECT_TRUE(stage_->logged().empty());
        peer->set_listening(true);
        ASSERT_TRUE(stage_->run_until([&] { return peer->heard().size() > 16_MiB; }));
        world_->settle();
        EXPECT_EQ(stage_->logged(),
                  (std::vector<Logged>{{std::string("GET ") + path, 200, 16_MiB}}));
    }
}

TEST_P(H1Life, ALargeAnswerThatIsCutIsLoggedWithWhatWasSent) {
    for (const char* path : {"/large", "/large-stream"}) {
        SCOPED_TRACE(path);
        start(H1Stage::plain());
        const auto peer = stage_->connect();
        peer->set_listening(false);
        peer->say(get(path));
        ASSERT_TRUE(stage_->run_until([&] { return stage_->served().size() == 1; }));
        world_->settle();
        peer->reset();
        world_->advance(1min);  // the peer reads nothing: the write deadline, at the latest
        ASSERT_TRUE(open(0));
        ASSERT_EQ(stage_->logged().size(), 1U);
        EXPECT_GT(stage_->logged()[0].bytes, 0U);
        EXPECT_LT(stage_->logged()[0].bytes, 16_MiB);
    }
}

}  // namespace
}  // namespace tiderace::http
