// Which deadline runs when over HTTP/2: only while the server waits for the peer, and as long as is
// written. Under virtual time, with peers that are slow at a pace of their own.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::FakePeer;
using testing::FakeWorld;
using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;
using wire::H2FrameType;
using wire::H2SettingId;

constexpr std::uint32_t huge_window = 100'000'000;

class H2Deadlines : public testing::H2Test {
  protected:
    // Every window is open: what holds an answer up is the socket.
    H2Client& connect_with_open_windows() {
        H2Client& client = connect({{H2SettingId::initial_window_size, huge_window}});
        client.window_update(0, huge_window);
        return client;
    }
    void read_at(std::size_t bytes_per_second) {
        dynamic_cast<FakePeer&>(*peer_).set_hearing_pace({bytes_per_second / 10, 100ms});
    }
    void serve(const std::string& path, std::size_t bytes) {
        stage_->on(path, [text = std::string(bytes, 'b')](Exchange& exchange) {
            Response response;
            response.set_body(ByteView(text));
            exchange.respond(response);
        });
    }
    // An hour in steps, with `step` before each; until `done`.
    bool run_in_steps(Duration each, const std::function<void()>& step,
                      const std::function<bool()>& done) {
        for (Duration passed{}; passed < 1h && !done(); passed += each) {
            step();
            world_->advance(each);
        }
        return done();
    }
    Duration elapsed() const { return dynamic_cast<const FakeWorld&>(*world_).elapsed(); }
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Deadlines, ::testing::Values("fake"),
                         [](const auto& world) { return world.param; });

TEST_P(H2Deadlines, MayBeNever) {
    H2Options options = H2Stage::plain();
    options.header_timeout = Duration::max();
    options.body_timeout = Duration::max();
    options.write_timeout = Duration::max();
    options.idle_timeout = Duration::max();
    options.half_closed_timeout = Duration::max();
    start(options);
    const auto pass = [&] {
        world_->settle();
        world_->advance(1h);
        return !peer_->over() && !client_->goaway() && client_->resets() == 0;
    };
    // The preface is incomplete until the client's first step; then no request is open.
    H2Client& client = connect();
    EXPECT_TRUE(pass());
    const auto upload = client.request("POST", "/upload", {}, false);
    EXPECT_TRUE(pass());
    client.data(upload, "xx", false);
    EXPECT_TRUE(pass());
    client.data(upload, "xx", true);
    ASSERT_TRUE(ended(upload));
    EXPECT_EQ(client.answer(upload).body, "xxxx");
    EXPECT_TRUE(pass());
    // The client's window is too small for this one.
    const auto large = client.get("/large");
    EXPECT_TRUE(pass());
    EXPECT_FALSE(client.answer(large).ended);
}

// --- frames ----------------------------------------------------------------------------------

TEST_P(H2Deadlines, ASlowReaderLosesNoAnswerForFramesThatWeLeaveUnread) {
    serve("/page", 15'000);
    H2Client& client = connect_with_open_windows();
    read_at(60'000);
    client.hold();
    std::vector<std::uint32_t> streams;
    for (int i = 0; i < 128; ++i) streams.push_back(client.get("/page"));
    client.say_all();
    ASSERT_TRUE(world_->run_until([&] {
        return client.goaway() || std::ranges::all_of(streams, [&](std::uint32_t stream) {
                   return client.answer(stream).ended;
               });
    }));
    EXPECT_FALSE(client.goaway());
    EXPECT_EQ(client.resets(), 0U);
    EXPECT_EQ(stage_->counters().timed_out, 0U);
    EXPECT_GT(elapsed(), 20s) << "it was not slow";
    EXPECT_LT(elapsed(), 60s);
}

// The rest of its frame may be in the socket, which is not read while the queue is full.
TEST_P(H2Deadlines, AFrameOfWhichWeReadHalfHasItsTimeFromWhenWeReadOn) {
    serve("/page", 15'000);
    H2Client& client = connect_with_open_windows();
    read_at(20'000);
    client.hold();
    std::uint32_t last = 0;
    for (int i = 0; i < 18; ++i) last = client.get("/page");  // a little more than the queue takes
    client.say_all();
    peer_->say(ByteView("\0\0\x8\6", 4));  // a PING begins
    world_->advance(11s);
    EXPECT_FALSE(client.answer(last).ended) << "it was not slow";
    EXPECT_FALSE(client.goaway());
    world_->advance(4s);
    EXPECT_TRUE(client.answer(last).ended);
    EXPECT_FALSE(client.goaway());
    peer_->say(ByteView("\0\0\0\0\0whatever", 13));
    ASSERT_TRUE(run_until([&] { return client.pongs().size() == 1; }));
}

TEST_P(H2Deadlines, AFrameThatDripsEndsTheConnectionInTime) {
    H2Client& client = connect();
    world_->settle();
    peer_->say(std::string("\0\0\x20\1\5\0\0\0\1", 9));
    for (int second = 0; second < 9; ++second) {
        world_->advance(1s);
        EXPECT_FALSE(client.goaway()) << second;
        peer_->say("x");
    }
    world_->advance(900ms);
    EXPECT_FALSE(client.goaway());
    world_->advance(200ms);
    EXPECT_EQ(client.goaway(), H2Error::no_error);
    EXPECT_EQ(stage_->counters().timed_out, 1U);
}

TEST_P(H2Deadlines, AFieldBlockThatDripsInFramesEndsTheConnectionInTime) {
    H2Client& client = connect();
    client.frame(H2FrameType::headers, 0, 1, H2Client::block({{":method", "GET"}}));
    for (int i = 0; i < 3; ++i) {
        world_->advance(3s);
        EXPECT_FALSE(client.goaway()) << i;
        client.frame(H2FrameType::continuation, 0, 1, "");
    }
    world_->advance(900ms);
    EXPECT_FALSE(client.goaway());
    world_->advance(200ms);
    EXPECT_EQ(client.goaway(), H2Error::no_error);
}

TEST_P(H2Deadlines, EachFrameHasItsOwnTime) {
    H2Client& client = connect();
    std::string ping("\0\0\x8\6\0\0\0\0\0whatever", 17);
    std::ranges::rotate(ping, ping.begin() + 5);  // the end of one, and the beginning of another
    world_->settle();
    peer_->say(ByteView("\0\0\x8\6\0", 5));
    for (std::size_t i = 1; i <= 4; ++i) {
        world_->advance(6s);
        EXPECT_FALSE(client.goaway()) << i;
        peer_->say(ping);
        world_->settle();
        EXPECT_EQ(client.pongs().size(), i);
    }
    world_->advance(11s);
    EXPECT_EQ(client.goaway(), H2Error::no_error) << "the last one did not end";
}

TEST_P(H2Deadlines, APeerThatSaysNothingAfterThePrefaceIsEndedInTime) {
    peer_ = stage_->connect();
    client_ = std::make_unique<H2Client>(*peer_, std::vector<wire::H2Setting>{}, false);
    peer_->say(wire::h2_preface);
    world_->advance(9'900ms);
    EXPECT_FALSE(client_->goaway());
    world_->advance(200ms);
    EXPECT_EQ(client_->goaway(), H2Error::no_error);
}

// --- answers ---------------------------------------------------------------------------------

TEST_P(H2Deadlines, AStreamThatOursPassOverIsNotLate) {
    serve("/huge", 1'000'000);
    H2Client& client = connect({{H2SettingId::initial_window_size, huge_window}});
    const auto first = client.get("/huge");
    const auto second = client.get("/huge");
    // The connection's window opens by 20 kB/s; the first takes all of it for 47 s.
    const bool done = run_in_steps(
        500ms, [&] { client.window_update(0, 10'000); },
        [&] { return client.answer(second).ended || client.resets() > 0; });
    ASSERT_TRUE(done);
    EXPECT_EQ(client.resets(), 0U);
    EXPECT_TRUE(client.answer(first).ended);
    EXPECT_GT(elapsed(), 90s);
    EXPECT_EQ(stage_->counters().timed_out, 0U);
}

TEST_P(H2Deadlines, StreamsAreLateWhenTheConnectionsWindowStaysShut) {
    H2Client& client = connect({{H2SettingId::initial_window_size, huge_window}});
    const auto first = client.get("/large");
    const auto second = client.get("/large");
    world_->settle();
    EXPECT_EQ(client.answer(first).body.size(), 65'535U);
    world_->advance(31s);  // something went in that time
    EXPECT_EQ(client.resets(), 0U);
    world_->advance(30s);
    EXPECT_EQ(client.answer(first).reset, H2Error::cancel);
    EXPECT_EQ(client.answer(second).reset, H2Error::cancel);
    EXPECT_EQ(stage_->counters().timed_out, 2U);
}

TEST_P(H2Deadlines, PingsAreNoProgress) {
    H2Client& client = connect({{H2SettingId::initial_window_size, huge_window}});
    const auto stream = client.get("/large");
    const bool done =
        run_in_steps(5s, [&] { client.ping("whatever"); }, [&] { return client.resets() > 0; });
    ASSERT_TRUE(done);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    EXPECT_LE(elapsed(), 65s);
}

TEST_P(H2Deadlines, AStreamWhoseOwnWindowStaysShutIsLateBesideOthersThatGoOn) {
    serve("/huge", 1'000'000);
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto shut = client.get("/huge");
    const auto other = client.get("/huge");
    const bool done = run_in_steps(
        1s,
        [&] {
            client.window_update(other, 5'000);
            client.window_update(0, 5'000);
        },
        [&] { return client.resets() > 0; });
    ASSERT_TRUE(done);
    EXPECT_EQ(client.answer(shut).reset, H2Error::cancel);
    EXPECT_FALSE(client.answer(other).reset);
    EXPECT_GE(elapsed(), 30s);
    EXPECT_LE(elapsed(), 32s);
}

TEST_P(H2Deadlines, AFastStartDoesNotExcuseAStandstill) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 100'000}});
    client.window_update(0, huge_window);
    const auto stream = client.get("/large");
    world_->settle();
    ASSERT_EQ(client.answer(stream).body.size(), 100'000U);
    world_->advance(59s);
    EXPECT_EQ(client.resets(), 0U);
    world_->advance(2s);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
}

TEST_P(H2Deadlines, AFastStartExcusesLessThanTheLeastRateForItsTimeOnly) {
    H2Options options = H2Stage::plain();
    options.send_bytes_per_second_min = 1'000;
    start(options);
    serve("/huge", 1'000'000);
    H2Client& client = connect({{H2SettingId::initial_window_size, 200'000}});
    client.window_update(0, huge_window);
    const auto stream = client.get("/huge");
    const bool done = run_in_steps(
        1s, [&] { client.window_update(stream, 100); }, [&] { return client.resets() > 0; });
    ASSERT_TRUE(done);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    EXPECT_GE(elapsed(), 230s);  // a period, and 200 s for 200,000 bytes
    EXPECT_LE(elapsed(), 270s);
}

TEST_P(H2Deadlines, TheLeastRateItselfIsEnough) {
    H2Options options = H2Stage::plain();
    options.send_bytes_per_second_min = 1'000;
    start(options);
    serve("/huge", 300'000);
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    client.window_update(0, huge_window);
    const auto stream = client.get("/huge");
    const bool done = run_in_steps(
        1s, [&] { client.window_update(stream, 1'000); },
        [&] { return client.resets() > 0 || client.answer(stream).ended; });
    ASSERT_TRUE(done);
    EXPECT_TRUE(client.answer(stream).ended);
}

// As clients give it: half a window at a time.
TEST_P(H2Deadlines, AWindowMayOpenInLargeSteps) {
    H2Options options = H2Stage::plain();
    options.send_bytes_per_second_min = 256;
    start(options);
    serve("/huge", 300'000);
    H2Client& client = connect({{H2SettingId::initial_window_size, 65'535}});
    client.window_update(0, huge_window);
    const auto stream = client.get("/huge");
    const bool done = run_in_steps(
        120s, [&] { client.window_update(stream, 32'768); },
        [&] { return client.resets() > 0 || client.answer(stream).ended; });
    ASSERT_TRUE(done);
    EXPECT_EQ(client.resets(), 0U);
}

TEST_P(H2Deadlines, TheLeastRateMayBeSharedByTheStreamsOfAConnection) {
    H2Options options = H2Stage::plain();
    options.send_bytes_per_second_min = 1'000;
    start(options);
    serve("/page", 65'000);
    H2Client& client = connect({{H2SettingId::initial_window_size, huge_window}});
    std::vector<std::uint32_t> streams;
    for (int i = 0; i < 5; ++i) streams.push_back(client.get("/page"));
    const bool done = run_in_steps(
        1s, [&] { client.window_update(0, 1'100); },
        [&] { return client.resets() > 0 || client.answer(streams.back()).ended; });
    ASSERT_TRUE(done);
    EXPECT_EQ(client.resets(), 0U);
    EXPECT_GT(elapsed(), 200s);
}

TEST_P(H2Deadlines, TheLeastRateThroughTheConnectionsWindowIsEnoughToo) {
    H2Options options = H2Stage::plain();
    options.send_bytes_per_second_min = 10;
    start(options);
    serve("/huge", 100'000);
    for (const std::uint32_t in_a_period : {300U, 150U}) {
        SCOPED_TRACE(in_a_period);
        H2Client& client = connect({{H2SettingId::initial_window_size, huge_window}});
        const auto stream = client.get("/huge");
        world_->advance(15s);  // between the looks
        for (int period = 0; period < 25 && client.resets() == 0; ++period) {
            client.window_update(0, in_a_period);
            world_->advance(30s);
        }
        EXPECT_EQ(client.answer(stream).reset.has_value(), in_a_period == 150U);
        EXPECT_GE(client.answer(stream).body.size(), 65'535U + in_a_period);
    }
}

// The peer has ended its side, and the handler makes its answer in its own time.
TEST_P(H2Deadlines, AnAnswerThatIsMadeSlowlyForAPeerThatFinishedGoesOnAsLongAsItGrows) {
    struct Growing final : BodySource {
        explicit Growing(std::string& ready) : ready_(&ready) {}
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
            out.append(blocks, std::exchange(*ready_, {}));
            return State::wait;
        }
        std::string* ready_;
    };
    std::string ready;
    stage_->on("/growing", [&](Exchange& exchange) {
        Response response;
        response.set_body(std::make_unique<Growing>(ready));
        kept_ = core::Ref<Exchange>(&exchange);
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto stream = client.get("/growing");
    world_->settle();
    peer_->finish();
    for (std::size_t pieces = 1; pieces <= 6; ++pieces) {
        world_->advance(20s);
        ready = "x";
        kept_->body_ready();
        world_->settle();
        ASSERT_EQ(client.answer(stream).body.size(), pieces);
        ASSERT_EQ(client.resets(), 0U);
    }
    EXPECT_EQ(stage_->counters().timed_out, 0U);
    world_->advance(61s);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel) << "and no longer";
    EXPECT_EQ(stage_->counters().timed_out, 1U);
    kept_ = {};
}

// A stream may also wait for the socket, which has limits of its own.
TEST_P(H2Deadlines, AStreamBehindASlowSocketIsNotLate) {
    for (const std::uint32_t window : {huge_window, 200'000U}) {
        SCOPED_TRACE(window);
        H2Client& client = connect({{H2SettingId::initial_window_size, window}});
        client.window_update(0, huge_window);
        const auto stream = client.get("/large");
        read_at(3'000);
        world_->advance(70s);
        EXPECT_EQ(client.resets(), 0U);
        EXPECT_FALSE(client.goaway());
        read_at(10'000'000);
        client.window_update(stream, huge_window);
        ASSERT_TRUE(
            world_->run_until([&] { return client.answer(stream).ended || client.resets() > 0; }));
        EXPECT_EQ(client.answer(stream).body.size(), large_.size());
    }
}

// Neither while the socket is behind nor in the period after that, which began behind it.
TEST_P(H2Deadlines, AStreamIsLateOnlyAfterAWholePeriodWithoutASlowSocket) {
    serve("/huge", 1'000'000);
    H2Client& client = connect({{H2SettingId::initial_window_size, 50'000}});
    client.window_update(0, huge_window);
    const auto shut = client.get("/huge");
    world_->advance(31s);
    ASSERT_EQ(client.answer(shut).body.size(), 50'000U);
    const auto other = client.get("/huge");
    client.window_update(other, huge_window);
    read_at(3'000);
    world_->advance(30s);
    EXPECT_EQ(client.resets(), 0U) << "at its end the socket was behind";
    read_at(10'000'000);
    world_->advance(30s);
    EXPECT_TRUE(client.answer(other).ended);
    EXPECT_EQ(client.resets(), 0U) << "when it began the socket was behind";
    world_->advance(30s);
    EXPECT_EQ(client.answer(shut).reset, H2Error::cancel);
}

// --- bodies ----------------------------------------------------------------------------------

TEST_P(H2Deadlines, ABodyThatStopsIsAnswered408) {
    testing::ReceivedBody received;
    stage_->on("/form", [&](Exchange& exchange) {
        testing::receive_whole(exchange, 1'000'000,
                               [&](Exchange& each, const testing::ReceivedBody& body) {
                                   received = body;
                                   each.respond_status(200);  // does nothing any more
                               });
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/form", {}, false);
    client.data(stream, std::string(50'000, 'f'), false);
    world_->advance(31s);  // a fast start
    EXPECT_EQ(client.answer(stream).status, 0);
    world_->advance(28s);
    EXPECT_EQ(client.answer(stream).status, 0);
    world_->advance(2s);
    EXPECT_TRUE(received.failed);
    EXPECT_EQ(client.answer(stream).status, 408);
    EXPECT_EQ(client.answer(stream).body, "The request did not arrive in time.\n");
    EXPECT_TRUE(client.answer(stream).ended);
    EXPECT_EQ(client.answer(stream).reset, H2Error::no_error) << "the rest is not wanted";
    EXPECT_EQ(stage_->counters().timed_out, 1U);
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Deadlines, A408WaitsForItsWindowAsAnyAnswer) {
    stage_->on("/form", [&](Exchange& exchange) {
        testing::receive_whole(exchange, 100, [](Exchange&, const testing::ReceivedBody&) {});
    });
    H2Client& client = connect({{H2SettingId::initial_window_size, 5}});
    const auto stream = client.request("POST", "/form", {}, false);
    world_->advance(31s);
    EXPECT_EQ(client.answer(stream).status, 408);
    EXPECT_EQ(client.answer(stream).body, "The r");
    EXPECT_FALSE(client.answer(stream).reset);
    client.window_update(stream, 1'000);
    world_->settle();
    EXPECT_TRUE(client.answer(stream).ended);
    EXPECT_EQ(client.answer(stream).reset, H2Error::no_error);
}

TEST_P(H2Deadlines, ABodyThatWeDropIsNotWaitedForEither) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {}, false);
    ASSERT_TRUE(ended(stream));
    world_->advance(29s);
    EXPECT_EQ(client.resets(), 0U);
    world_->advance(2s);
    EXPECT_EQ(client.answer(stream).reset, H2Error::no_error);
}

TEST_P(H2Deadlines, ABodyWhoseReceiverPausedIsNotWaitedForBehindTheAnswer) {
    struct Pausing final : BodyReceiver {
        void on_body(Exchange& exchange, ByteView bytes) override {
            body += bytes;
            if (!exchange.responded()) exchange.set_body_reading(false);
        }
        void on_body_end(Exchange&) override {}
        void on_body_failed(Exchange&) override {}
        std::string body;
    } pausing;
    stage_->on("/paused", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        testing::receive_into(exchange, pausing, 1'000'000);
    });
    for (const bool again : {false, true}) {
        SCOPED_TRACE(again);
        pausing.body.clear();
        H2Client& client = connect();
        const auto stream = client.request("POST", "/paused", {}, false);
        client.data(stream, "some", false);
        world_->settle();
        client.data(stream, "more", false);
        world_->settle();
        ASSERT_EQ(pausing.body, "some");
        kept_->respond_status(204);
        if (again) kept_->set_body_reading(false);
        kept_ = {};
        world_->settle();
        EXPECT_EQ(pausing.body, "somemore");
        world_->advance(29s);
        EXPECT_EQ(client.resets(), 0U);
        world_->advance(2s);
        EXPECT_EQ(client.answer(stream).reset, H2Error::no_error);
    }
}

TEST_P(H2Deadlines, ABodyThatTheHandlerLeavesIsNotLate) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/kept", {}, false);
    client.data(stream, "some", false);
    world_->advance(5min);
    EXPECT_EQ(client.resets(), 0U);
    kept_->respond_status(204);
    kept_ = {};
    client.data(stream, "rest", true);
    ASSERT_TRUE(ended(stream));
}

TEST_P(H2Deadlines, ABodyThatWeLeaveUnreadIsNotLate) {
    start(H2Stage::plain(), {.connection = {.write = 10min}});
    const std::string wide(8'000, 'w');
    stage_->on("/wide", [&](Exchange& exchange) {
        Response response;
        response.add("x-wide", wide);
        exchange.respond(response);
    });
    H2Client& client = connect_with_open_windows();
    const auto upload = client.request("POST", "/upload", {}, false);
    client.data(upload, "xx", false);
    world_->settle();
    peer_->set_listening(false);
    for (int i = 0; i < 60; ++i) client.get("/wide");
    world_->settle();
    client.data(upload, "yy", true);
    world_->advance(2min);
    peer_->set_listening(true);
    ASSERT_TRUE(ended(upload));
    EXPECT_EQ(client.answer(upload).body, "xxyy");
    EXPECT_EQ(stage_->counters().timed_out, 0U);
}

TEST_P(H2Deadlines, ABodyBelowTheLeastRateIsLateAfterAFastStart) {
    H2Options options = H2Stage::plain();
    options.receive_bytes_per_second_min = 10;
    start(options);
    stage_->on("/form", [&](Exchange& exchange) {
        testing::receive_whole(exchange, 1'000'000, [](Exchange&, const testing::ReceivedBody&) {});
    });
    for (const std::size_t rate : {10U, 9U}) {
        SCOPED_TRACE(rate);
        H2Client& client = connect();
        const auto stream = client.request("POST", "/form", {}, false);
        client.data(stream, std::string(50'000, 'f'), false);
        for (int second = 0; second < 70; ++second) {
            world_->advance(1s);
            if (client.answer(stream).status == 0) {
                client.data(stream, std::string(rate, 'g'), false);
            }
        }
        EXPECT_EQ(client.answer(stream).status, rate == 10 ? 0 : 408);
    }
}

// --- the connection --------------------------------------------------------------------------

// Its last answer is in the queue still: the limits of a slow reader are others.
TEST_P(H2Deadlines, AnAnswerThatLeavesKeepsAConnectionWithoutStreams) {
    serve("/page", 120'000);
    H2Client& client = connect_with_open_windows();
    const auto stream = client.get("/page");
    read_at(500);
    world_->advance(65s);
    EXPECT_FALSE(client.answer(stream).ended);
    EXPECT_FALSE(client.goaway());
    const auto next = client.get("/hello");
    read_at(10'000'000);
    ASSERT_TRUE(run_until([&] { return client.answer(next).ended || peer_->over(); }));
    EXPECT_TRUE(client.answer(stream).ended);
    EXPECT_EQ(client.answer(next).body, "hello\n");
}

TEST_P(H2Deadlines, APeerThatIgnoresTheDrainStillLearnsItsLastStream) {
    H2Client& client = connect();
    const auto kept = client.get("/kept");
    world_->settle();
    bool drained = false;
    stage_->server().drain(world_->loop().now() + 1h, [&] { drained = true; });
    world_->advance(500ms);
    ASSERT_EQ(client.goaways().size(), 1U);
    client.ping("not that");  // whole frames, and never the answer to ours
    world_->advance(400ms);
    EXPECT_EQ(client.goaways().size(), 1U);
    world_->advance(200ms);
    ASSERT_EQ(client.goaways().size(), 2U);
    EXPECT_EQ(client.goaways()[1].last_stream, kept);
    kept_->respond_status(204);
    kept_ = {};
    ASSERT_TRUE(ended(kept));
    peer_->close();
    EXPECT_TRUE(run_until([&] { return drained; }));
}

}  // namespace
}  // namespace tiderace::http
