// Which stream is late and when, to the second: one beside another, paused, deferred, or while the
// connection drains. Under virtual time.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::FakeWorld;
using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;
using wire::H2SettingId;

class LateStreams : public testing::H2Test {
  protected:
    Duration elapsed() const { return dynamic_cast<const FakeWorld&>(*world_).elapsed(); }
    H2Client& connect_with_closed_windows() {
        H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
        world_->settle();
        return client;
    }
    // Answers wait in a queue of their own, for nothing but its room.
    H2Client& connect_with_a_short_queue() {
        net::TcpServerOptions connections;
        connections.connection.queue_bytes_high = 64 * 1'024;
        connections.connection.queue_bytes_low = 16 * 1'024;
        start(H2Stage::plain(), connections);
        H2Client& client = connect({{H2SettingId::initial_window_size, 10'000'000}});
        client.window_update(0, 10'000'000);
        return client;
    }
    // The bytes of the server that `step` brings.
    std::size_t heard_by(const std::function<void()>& step) {
        world_->settle();
        const std::size_t before = peer_->heard().size();
        step();
        world_->settle();
        return peer_->heard().size() - before;
    }
};

INSTANTIATE_TEST_SUITE_P(Worlds, LateStreams, ::testing::Values("fake"),
                         [](const auto& world) { return world.param; });

TEST_P(LateStreams, AreResetEachInItsOwnTime) {
    H2Client& client = connect_with_closed_windows();
    const auto first = client.get("/large");
    world_->advance(10s);
    const auto second = client.get("/large");
    world_->advance(19'900ms);
    EXPECT_EQ(client.resets(), 0U);
    world_->advance(200ms);
    EXPECT_EQ(client.answer(first).reset, H2Error::cancel);
    world_->advance(9'800ms);
    EXPECT_EQ(client.resets(), 1U);
    world_->advance(200ms);
    EXPECT_EQ(client.answer(second).reset, H2Error::cancel);
    EXPECT_EQ(stage_->counters().timed_out, 2U);
}

// Its handler's pause is no fault of the peer, and takes nothing from the time behind it.
TEST_P(LateStreams, ABodyThatItsHandlerPausesIsNotLateUntilItIsReadAgain) {
    core::Ref<Exchange> exchange;
    stage_->on("/pausing", [&](Exchange& each) {
        exchange = core::Ref<Exchange>(&each);
        testing::receive_whole(each, 1'000'000, [](Exchange&, const testing::ReceivedBody&) {});
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/pausing", {}, false);
    world_->settle();
    exchange->set_body_reading(false);
    world_->advance(5min);
    EXPECT_EQ(client.answer(stream).status, 0);
    exchange->set_body_reading(true);
    world_->advance(29'900ms);
    EXPECT_EQ(client.answer(stream).status, 0);
    world_->advance(200ms);
    EXPECT_EQ(client.answer(stream).status, 408);
    exchange = {};
}

TEST_P(LateStreams, ABodyThatStopsBehindTheBeginningOfItsAnswerIsReset) {
    struct Waiting final : BodySource {
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
            if (!std::exchange(began, true)) out.append(blocks, "half");
            return State::wait;
        }
        bool began = false;
    };
    stage_->on("/both", [](Exchange& exchange) {
        testing::receive_whole(exchange, 100, [](Exchange&, const testing::ReceivedBody&) {});
        Response response;
        response.set_body(std::make_unique<Waiting>());
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/both", {}, false);
    world_->advance(29'900ms);
    EXPECT_EQ(client.answer(stream).body, "half");
    EXPECT_FALSE(client.answer(stream).reset);
    world_->advance(200ms);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    EXPECT_EQ(client.answer(stream).heads, std::vector<int>{200}) << "a 408 cannot follow";
    EXPECT_EQ(stage_->counters().timed_out, 1U);
}

TEST_P(LateStreams, ADeferredAnswerHasItsTimeFromWhenItIsGiven) {
    H2Client& client = connect_with_closed_windows();
    const auto stream = client.get("/kept");
    world_->advance(5min);
    Response response;
    response.set_body(large_);
    std::exchange(kept_, {})->respond(response);
    world_->advance(29'900ms);
    EXPECT_EQ(client.answer(stream).status, 200);
    EXPECT_FALSE(client.answer(stream).reset);
    world_->advance(200ms);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
}

// When an answer begins, the queue may hold as much as its low mark, and no more.
TEST_P(LateStreams, AnAnswerThatBeginsBehindASlowSocketHasAPeriodMore) {
    std::size_t head = 0;
    {
        H2Client& client = connect_with_closed_windows();
        head = heard_by([&] { client.get("/large"); });
        ASSERT_GT(head, 0U);
    }
    for (const std::size_t low : {head, head - 1}) {
        SCOPED_TRACE(low);
        net::TcpServerOptions connections;
        connections.connection.queue_bytes_low = low;
        start(H2Stage::plain(), connections);
        H2Client& client = connect_with_closed_windows();
        const auto stream = client.get("/large");
        world_->advance(31s);
        EXPECT_EQ(client.answer(stream).reset.has_value(), low == head);
        world_->advance(30s);
        EXPECT_TRUE(client.answer(stream).reset);
    }
}

// --- the connection --------------------------------------------------------------------------

TEST_P(LateStreams, AnIdleConnectionHasItsTimeFromADeferredAnswer) {
    H2Client& client = connect();
    const auto stream = client.get("/kept");
    world_->advance(5min);
    std::exchange(kept_, {})->respond_status(204);
    ASSERT_TRUE(ended(stream));
    world_->advance(59'900ms);
    EXPECT_FALSE(client.goaway());
    world_->advance(200ms);
    EXPECT_EQ(client.goaway(), H2Error::no_error);
}

// Its idle time had begun before the requests came.
TEST_P(LateStreams, ALateStreamDoesNotEndAConnectionWithOthers) {
    H2Client& client = connect();
    world_->advance(1s);
    const auto kept = client.get("/kept");
    world_->advance(40s);
    const auto upload = client.request("POST", "/upload", {}, false);
    world_->advance(31s);
    EXPECT_EQ(client.answer(upload).status, 408);
    EXPECT_FALSE(client.goaway());
    std::exchange(kept_, {})->respond_status(204);
    EXPECT_TRUE(ended(kept));
}

// ALPN chose HTTP/2, so no byte of the peer's was needed for the connection to begin.
TEST_P(LateStreams, AConnectionWithoutAByteIsEndedInTime) {
    net::TcpServer server(world_->loop(), stage_->service(), {});
    server.listen(world_->listen());
    const auto peer = world_->connect();
    testing::RecordingPeer heard;
    H2Client client(heard, {}, false);
    const auto goaway = [&] {
        heard.to_hear = peer->heard();
        return client.goaway();
    };
    world_->advance(9'900ms);
    EXPECT_FALSE(goaway());
    world_->advance(200ms);
    EXPECT_EQ(goaway(), H2Error::no_error);
    peer->close();
    world_->settle();
    EXPECT_EQ(server.size(), 0U);
}

TEST_P(LateStreams, TheLastOfADrainingConnectionEndsIt) {
    H2Client& client = connect_with_closed_windows();
    const auto stream = client.get("/large");
    world_->settle();
    bool drained = false;
    stage_->server().drain(world_->loop().now() + 1h, [&] { drained = true; });
    world_->settle();
    client.ping(client.pings().at(0), true);
    world_->settle();
    ASSERT_EQ(client.goaways().size(), 2U);
    world_->advance(31s);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    EXPECT_TRUE(peer_->over());
    peer_->close();
    EXPECT_TRUE(run_until([&] { return drained; }));
    EXPECT_LT(elapsed(), 35s) << "not by the idle time-out";
}

TEST_P(LateStreams, OneThatIsResetDoesNotShortenTheDrainsRound) {
    H2Client& client = connect_with_closed_windows();
    const auto kept = client.get("/kept");
    const auto stream = client.get("/large");
    world_->advance(29'700ms);
    stage_->server().drain(world_->loop().now() + 1h, [] {});
    world_->advance(600ms);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    EXPECT_EQ(client.goaways().size(), 1U);
    world_->advance(500ms);
    EXPECT_EQ(client.goaways().size(), 2U);
    std::exchange(kept_, {})->respond_status(204);
    EXPECT_TRUE(ended(kept));
}

TEST_P(LateStreams, PingsMoveNoIdleDeadline) {
    for (const bool asked : {true, false}) {
        H2Client& client = connect();
        if (asked) {
            ASSERT_TRUE(ended(client.get("/hello")));
        }
        world_->settle();
        for (int i = 0; i < 5; ++i) {
            world_->advance(11s);
            client.ping("still us");
        }
        world_->advance(4'900ms);
        EXPECT_FALSE(client.goaway());
        world_->advance(200ms);
        EXPECT_EQ(client.goaway(), H2Error::no_error);
        // The peer has nothing under way, so its own end is not waited for.
        EXPECT_TRUE(peer_->over());
        EXPECT_EQ(stage_->server().size(), 0U);
    }
}

// A field block that goes on is whole frames, of which nothing is left to be read.
TEST_P(LateStreams, AFieldBlockHasItsTimeFromWhenAFullQueueHasDrained) {
    H2Client& client = connect_with_a_short_queue();
    world_->settle();
    dynamic_cast<testing::FakePeer&>(*peer_).set_hearing_pace({2'000, 100ms});
    client.hold();
    const auto large = client.get("/large");
    client.frame(wire::H2FrameType::headers, 0, 3, H2Client::block({{":method", "GET"}}));
    client.say_all();
    ASSERT_TRUE(run_until([&] { return client.goaway() || client.answer(large).ended; }));
    EXPECT_TRUE(client.answer(large).ended);
    EXPECT_GT(elapsed(), 14s) << "it was not slow";
    world_->advance(11s);
    EXPECT_EQ(client.goaway(), H2Error::no_error);
    EXPECT_EQ(stage_->counters().timed_out, 1U);
}

// It began before the answer, when the queue was empty.
TEST_P(LateStreams, AFrameThatHasBegunGetsNoMoreTimeFromAQueueThatDrains) {
    H2Client& client = connect_with_a_short_queue();
    client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    dynamic_cast<testing::FakePeer&>(*peer_).set_hearing_pace({1'000, 100ms});
    peer_->say(ByteView("\0\0\x8\6", 4));  // a PING begins
    world_->settle();
    const Duration began = elapsed();
    Response response;
    response.set_body(ByteView(large_).substr(0, 140'000));  // half of it for the socket
    std::exchange(kept_, {})->respond(response);
    while (stage_->counters().timed_out == 0 && elapsed() < began + 30s) world_->advance(100ms);
    EXPECT_GE(elapsed(), began + 9s);
    EXPECT_LE(elapsed(), began + 11s);
}

// The answers of one receive leave in one write, while the queue is at its high mark at most.
TEST_P(LateStreams, RequestsWaitForAQueueAboveItsHighMark) {
    stage_->on("/text", [](Exchange& exchange) {
        Response response;
        response.set_body("some text");
        exchange.respond(response);
    });
    connect();
    const std::size_t answer = heard_by([&] { client_->get("/text"); });
    for (const std::size_t high : {answer, answer - 1}) {
        SCOPED_TRACE(high);
        net::TcpServerOptions connections;
        connections.connection.queue_bytes_high = high;
        connections.connection.queue_bytes_low = 0;
        start(H2Stage::plain(), connections);
        stage_->on("/text", [](Exchange& exchange) {
            Response response;
            response.set_body("some text");
            exchange.respond(response);
        });
        H2Client& client = connect();
        world_->settle();
        auto& network = dynamic_cast<FakeWorld&>(*world_).network();
        network.trace_on();
        const std::size_t before = network.trace().size();
        client.hold();
        client.get("/text");
        const auto second = client.get("/text");
        client.say_all();
        ASSERT_TRUE(ended(second));
        const auto sends = std::count_if(
            network.trace().begin() + static_cast<std::ptrdiff_t>(before), network.trace().end(),
            [](const std::string& call) { return call.find(" send(") != std::string::npos; });
        EXPECT_EQ(sends, high == answer ? 1 : 2);
    }
}

TEST_P(LateStreams, ALineSaysHowLongItsRequestTook) {
    struct Durations final : AccessLog {
        void write(const AccessRecord& record) override { all.push_back(record.duration); }
        std::vector<Duration> all;
    };
    static Durations log;  // outlives the connection
    log.all.clear();
    stage_->stage().site().set_log(&log);
    H2Client& client = connect();
    world_->advance(10s);
    ASSERT_TRUE(ended(client.get("/hello")));
    const auto kept = client.get("/kept");
    world_->advance(5s);
    std::exchange(kept_, {})->respond_status(204);
    ASSERT_TRUE(ended(kept));
    ASSERT_EQ(log.all.size(), 2U);
    EXPECT_LT(log.all[0], 1s);
    EXPECT_EQ(log.all[1] / 1s, 5);
}

// Its window was open when the period began, so it also waited for the others.
TEST_P(LateStreams, OneThatHadAWindowIsJudgedByTheWholeConnection) {
    H2Options options = H2Stage::plain();
    options.send_bytes_per_second_min = 1'000;
    start(options);
    stage_->on("/huge", [text = std::string(1'000'000, 'b')](Exchange& exchange) {
        Response response;
        response.set_body(ByteView(text));
        exchange.respond(response);
    });
    H2Client& client = connect({{H2SettingId::initial_window_size, 100}});
    client.window_update(0, 10'000'000);
    const auto shut = client.get("/huge");
    const auto other = client.get("/huge");
    const auto pass = [&](int seconds) {
        for (int second = 0; second < seconds; ++second) {
            client.window_update(other, 2'000);
            world_->advance(1s);
        }
    };
    pass(31);
    EXPECT_EQ(client.answer(shut).body.size(), 100U);
    EXPECT_EQ(client.resets(), 0U);
    pass(61);  // what all streams took bought a minute
    EXPECT_EQ(client.answer(shut).reset, H2Error::cancel);
    EXPECT_FALSE(client.answer(other).reset);
}

}  // namespace
}  // namespace tiderace::http
