// The effect of each frame where it is allowed, and the error where it is not. On every engine.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;
using wire::H2FrameType;

class H2Frames : public testing::H2Test {
  protected:
    // A stream that waits for its answer, and one that is over.
    std::uint32_t waiting_ = 0;
    std::uint32_t over_ = 0;

    H2Client& connect_with_streams() {
        H2Client& client = connect();
        over_ = client.get("/hello");
        waiting_ = client.get("/kept");
        EXPECT_TRUE(ended(over_));
        EXPECT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
        return client;
    }
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Frames, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

// Where a frame goes: an idle stream, the connection, the open one, the one that is over.
enum class To { connection, idle, waiting, over };

struct Fault {
    const char* what;
    H2FrameType type;
    std::uint8_t flags;
    To to;
    std::string payload;
    H2Error error;
    bool ends_connection;
};

const std::string four_zeros(4, '\0');

const std::vector<Fault> faults{
    {"DATA on an idle stream", H2FrameType::data, 0, To::idle, "x", H2Error::protocol_error, true},
    {"DATA on stream 0", H2FrameType::data, 0, To::connection, "x", H2Error::protocol_error, true},
    {"DATA behind END_STREAM", H2FrameType::data, 0, To::waiting, "x", H2Error::stream_closed,
     false},
    {"DATA on an ended stream", H2FrameType::data, 0, To::over, "x", H2Error::stream_closed, true},
    {"HEADERS behind END_STREAM", H2FrameType::headers, 5, To::waiting, "", H2Error::stream_closed,
     false},
    {"a field block that is none", H2FrameType::headers, 5, To::idle, "\xff\xff\xff\xff\xff\xff",
     H2Error::compression_error, true},
    {"RST_STREAM of an idle stream", H2FrameType::rst_stream, 0, To::idle, four_zeros,
     H2Error::protocol_error, true},
    {"a short RST_STREAM", H2FrameType::rst_stream, 0, To::waiting, "123",
     H2Error::frame_size_error, true},
    {"WINDOW_UPDATE of an idle stream", H2FrameType::window_update, 0, To::idle,
     std::string("\0\0\0\1", 4), H2Error::protocol_error, true},
    {"WINDOW_UPDATE by nothing", H2FrameType::window_update, 0, To::waiting, four_zeros,
     H2Error::protocol_error, false},
    {"WINDOW_UPDATE by nothing of the connection", H2FrameType::window_update, 0, To::connection,
     four_zeros, H2Error::protocol_error, true},
    {"SETTINGS of a stream", H2FrameType::settings, 0, To::waiting, "", H2Error::protocol_error,
     true},
    {"SETTINGS of an odd length", H2FrameType::settings, 0, To::connection, "12345",
     H2Error::frame_size_error, true},
    {"an initial window too large", H2FrameType::settings, 0, To::connection,
     std::string("\0\4\x80\0\0\0", 6), H2Error::flow_control_error, true},
    {"PUSH_PROMISE of a client", H2FrameType::push_promise, 4, To::waiting, four_zeros,
     H2Error::protocol_error, true},
    {"a short PING", H2FrameType::ping, 0, To::connection, "1234", H2Error::frame_size_error, true},
    {"CONTINUATION of nothing", H2FrameType::continuation, 4, To::waiting, "",
     H2Error::protocol_error, true},
};

TEST_P(H2Frames, EachFaultHasItsErrorAndReach) {
    for (const Fault& fault : faults) {
        SCOPED_TRACE(fault.what);
        H2Client& client = connect_with_streams();
        const std::uint32_t stream = fault.to == To::connection ? 0
                                     : fault.to == To::idle     ? 99
                                     : fault.to == To::waiting  ? waiting_
                                                                : over_;
        client.frame(fault.type, fault.flags, stream, fault.payload);
        if (fault.ends_connection) {
            ASSERT_TRUE(gone());
            EXPECT_EQ(client.goaway(), fault.error);
        } else {
            ASSERT_TRUE(reset(stream));
            EXPECT_EQ(client.answer(stream).reset, fault.error);
            EXPECT_FALSE(client.goaway());
            const auto next = client.get("/hello");
            EXPECT_TRUE(ended(next));
        }
        kept_ = {};
    }
}

TEST_P(H2Frames, WhatMaySayNothingSaysNothing) {
    H2Client& client = connect_with_streams();
    client.frame(static_cast<H2FrameType>(0x77), 0xff, waiting_, "a frame of tomorrow");
    client.frame(H2FrameType::priority, 0, waiting_, std::string("\0\0\0\0\1", 5));
    client.frame(H2FrameType::priority, 0, 99, std::string("\0\0\0\0\1", 5));
    client.frame(H2FrameType::priority_update, 0, 0, std::string("\0\0\0\x63u=1", 7));
    client.frame(H2FrameType::goaway, 0, 0, std::string(8, '\0'));
    client.window_update(over_, 100);
    client.reset(over_);
    client.ping("12345678", true);
    const auto next = client.get("/hello");
    ASSERT_TRUE(ended(next));
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Frames, WhatComesLateOnAResetStreamIsPassedOver) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {{"content-length", "9000000"}}, false);
    ASSERT_TRUE(reset(stream));  // by us
    client.data(stream, "more", false);
    client.window_update(stream, 10);
    client.headers(stream, {{"x-trailer", "1"}}, true);
    const auto next = client.get("/hello");
    ASSERT_TRUE(ended(next));
    EXPECT_FALSE(client.goaway());
}

// Sent before our SETTINGS told the peer how many it may open.
TEST_P(H2Frames, BodiesOfRefusedRequestsArePassedOver) {
    std::vector<core::Ref<Exchange>> kept;
    stage_->on("/kept", [&](Exchange& exchange) { kept.push_back(exchange.defer()); });
    H2Client& client = connect();
    client.hold();
    std::vector<std::uint32_t> streams;
    for (int i = 0; i < 300; ++i) streams.push_back(client.request("POST", "/kept", {}, false));
    for (const auto stream : streams) client.data(stream, std::string(1'000, 'x'), false);
    for (const auto stream : streams) client.headers(stream, {{"x-trailer", "1"}}, true);
    client.say_all();
    ASSERT_TRUE(run_until([&] { return client.resets() == 300 - 128 || client.goaway(); }));
    EXPECT_FALSE(client.goaway());
    EXPECT_EQ(kept.size(), 128U);
    EXPECT_EQ(client.answer(streams[128]).reset, H2Error::refused_stream);
    for (auto& each : kept) each->respond_status(204);
    const auto next = client.get("/hello");
    EXPECT_TRUE(ended(next));
}

// However many streams closed since.
TEST_P(H2Frames, WhatComesVeryLateOnAResetStreamIsPassedOver) {
    for (const std::uint32_t closes : {65U, 1'023U, 1'024U, 1'500U}) {
        SCOPED_TRACE(closes);
        H2Client& client = connect();
        const auto stream =
            client.request("POST", "/hello", {{"content-length", "9000000"}}, false);
        ASSERT_TRUE(reset(stream));  // by us
        std::uint32_t last = 0;
        for (std::uint32_t i = 0; i < closes; ++i) {
            last = client.get("/hello");
            if (i % 100 == 99) {
                ASSERT_TRUE(ended(last));
            }
        }
        ASSERT_TRUE(ended(last));
        const std::size_t resets = client.resets();
        client.data(stream, std::string(16'000, 'x'), false);
        client.window_update(stream, 10);
        client.headers(stream, {{"x-trailer", "1"}}, true);
        const auto next = client.get("/hello");
        ASSERT_TRUE(ended(next));
        EXPECT_FALSE(client.goaway());
        EXPECT_EQ(client.resets(), resets);
    }
}

TEST_P(H2Frames, WhatComesLateIsCounted) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {{"content-length", "9000000"}}, false);
    ASSERT_TRUE(reset(stream));
    client.skip(stream + 4'000);
    ASSERT_TRUE(ended(client.get("/hello")));
    int frames = 0;
    for (; frames < 5'000 && !client.goaway(); frames += 50) {
        client.hold();
        for (int i = 0; i < 50; ++i) client.data(stream, "x", false);
        client.say_all();
        world_->settle();
    }
    EXPECT_EQ(client.goaway(), H2Error::enhance_your_calm);
    EXPECT_LT(frames, 2'500);
}

TEST_P(H2Frames, TheWindowOfLateBytesIsGivenBack) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 100'000;
    start(options);
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {{"content-length", "9000000"}}, false);
    ASSERT_TRUE(reset(stream));
    client.skip(stream + 4'000);
    ASSERT_TRUE(ended(client.get("/hello")));
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i, sent += 20'000) {
        client.data(stream, std::string(20'000, 'x'), false);
        ASSERT_TRUE(run_until([&] { return 65'535 + client.given_back(0) >= sent + 40'000; })) << i;
    }
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Frames, TheWindowOfBytesThatAStreamHeldIsGivenBackWhenItCloses) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 100'000;
    start(options);
    H2Client& client = connect();
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i, sent += 20'000) {
        const auto stream = client.request("POST", "/kept", {}, false);
        client.data(stream, std::string(20'000, 'x'), false);
        client.reset(stream);
        ASSERT_TRUE(run_until([&] { return 65'535 + client.given_back(0) >= sent + 40'000; })) << i;
        kept_ = {};
    }
    EXPECT_FALSE(client.goaway());
}

// Answers as soon as something of the body is there, which ends the stream inside on_body.
struct Hasty final : BodyReceiver {
    void on_body(Exchange& exchange, ByteView) override {
        if (!exchange.responded()) exchange.respond_status(204);
    }
    void on_body_end(Exchange&) override {}
    void on_body_failed(Exchange&) override {}
};

TEST_P(H2Frames, TheWindowOfBytesInWhoseCallTheStreamEndsIsGivenBack) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 100'000;
    start(options);
    core::Ref<Exchange> paused;
    stage_->on("/hasty", [&](Exchange& exchange) {
        exchange.receive_body(std::make_unique<Hasty>(), 10'000'000);
        exchange.set_body_reading(false);
        paused = core::Ref<Exchange>(&exchange);
    });
    H2Client& client = connect();
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i, sent += 20'000) {
        const auto stream =
            client.request("POST", "/hasty", {{"content-length", "9000000"}}, false);
        client.data(stream, std::string(20'000, 'x'), false);
        world_->settle();
        world_->loop().post([&] { std::exchange(paused, {})->set_body_reading(true); });
        ASSERT_TRUE(reset(stream)) << i;
        EXPECT_EQ(client.answer(stream).status, 204);
        ASSERT_TRUE(run_until([&] { return 65'535 + client.given_back(0) >= sent + 40'000; })) << i;
    }
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Frames, TheWindowOfDroppedBytesIsGivenBack) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 100'000;
    start(options);
    H2Client& client = connect();
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i) {
        const auto stream =
            client.request("POST", "/hello", {{"content-length", "9000000"}}, false);
        client.data(stream, std::string(20'000, 'x'), false);
        sent += 20'000;
        ASSERT_TRUE(run_until([&] { return 65'535 + client.given_back(0) >= sent + 20'000; })) << i;
    }
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Frames, ARequestThatAnnouncesAByteAndEndsIsMalformed) {
    H2Client& client = connect();
    const auto none = client.get("/hello", {{"content-length", "0"}});
    const auto one = client.get("/hello", {{"content-length", "1"}});
    ASSERT_TRUE(ended(none));
    ASSERT_TRUE(reset(one));
    EXPECT_EQ(client.answer(one).reset, H2Error::protocol_error);
}

// An entry of HPACK's table is charged once, not again with every later one.
TEST_P(H2Frames, ATableThatGrowsWithEachRequestIsInOrder) {
    H2Client& client = connect();
    for (std::uint32_t stream = 1; stream < 1'000; stream += 2) {
        const std::string block = H2Client::block({{":method", "GET"},
                                                   {":scheme", "http"},
                                                   {":path", "/hello"},
                                                   {":authority", "a"}}) +
                                  std::string("\x40\1x\1", 4) +
                                  static_cast<char>('a' + stream % 26);
        client.frame(H2FrameType::headers, 5, stream, block);
        ASSERT_TRUE(ended(stream)) << stream;
    }
    EXPECT_FALSE(client.goaway());
}

// It counts towards the streams whose priorities are kept for when they open.
TEST_P(H2Frames, APriorityOfTheLastStreamThatEndedIsNotKept) {
    H2Options options = H2Stage::plain();
    options.streams_max = 2;
    start(options);
    H2Client& client = connect();
    const auto first = client.get("/hello");
    ASSERT_TRUE(ended(first));
    for (const char stream : {'\1', '\3', '\5'}) {
        client.frame(H2FrameType::priority_update, 0, 0, std::string("\0\0\0", 3) + stream + "u=1");
    }
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_FALSE(client.goaway());
}

// Each stream's is large enough; together they send more than the connection's takes.
TEST_P(H2Frames, MoreThanTheConnectionsWindowIsAFault) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 65'535;
    start(options);
    for (const std::size_t last : {1'535U, 1'536U}) {
        SCOPED_TRACE(last);
        std::vector<core::Ref<Exchange>> kept;
        stage_->on("/each", [&](Exchange& exchange) { kept.push_back(exchange.defer()); });
        H2Client& client = connect();
        const auto first = client.request("POST", "/each", {}, false);
        const auto second = client.request("POST", "/each", {}, false);
        for (const auto stream : {first, second}) {
            client.data(stream, std::string(16'000, 'x'), false);
            client.data(stream, std::string(16'000, 'x'), false);
        }
        client.data(second, std::string(last, 'x'), false);
        client.ping("the next");
        ASSERT_TRUE(run_until([&] { return client.goaway() || !client.pongs().empty(); }));
        EXPECT_EQ(client.goaway().has_value(), last == 1'536U);
        if (client.goaway()) {
            EXPECT_EQ(client.goaway(), H2Error::flow_control_error);
        }
        kept.clear();
    }
}

// Padding counts in the windows and is never delivered; the handler takes nothing meanwhile.
TEST_P(H2Frames, TheWindowsOfPaddingAreGivenBackAtOnce) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 65'535;
    options.stream_window_bytes = 65'535;
    start(options);
    H2Client& client = connect();
    const auto stream = client.request("POST", "/kept", {}, false);
    const std::string padded = std::string(1, '\xff') + "x" + std::string(255, '\0');
    for (int i = 0; i < 100; ++i) client.frame(H2FrameType::data, 8, stream, padded);
    EXPECT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.given_back(0), 0U) << "not yet half of the window";
    EXPECT_EQ(client.given_back(stream), 0U);
    for (int i = 0; i < 400; ++i) client.frame(H2FrameType::data, 8, stream, padded);
    EXPECT_TRUE(ended(client.get("/hello")));
    EXPECT_FALSE(client.goaway());
    EXPECT_FALSE(client.answer(stream).reset);
    // 256 of each frame's 257 bytes; the 128 of half a window are announced together.
    EXPECT_EQ(client.given_back(0), 3 * 128 * 256U);
    EXPECT_EQ(client.given_back(stream), 3 * 128 * 256U);
}

TEST_P(H2Frames, TheWindowOfAStreamWhoseBodyIsWholeStaysAsItIs) {
    H2Options options = H2Stage::plain();
    options.stream_window_bytes = 74 * 256;
    start(options);
    stage_->on("/sink", [](Exchange& exchange) {
        testing::receive_whole(
            exchange, 1'000'000,
            [](Exchange& each, const testing::ReceivedBody&) { each.respond_status(204); });
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/sink", {}, false);
    client.data(stream, std::string(15'000, 'x'), true);
    ASSERT_TRUE(ended(stream));
    const auto padded = client.request("POST", "/kept", {}, false);
    for (int i = 1; i <= 74; ++i) {  // with the last half of the window the body ends
        client.frame(H2FrameType::data, i < 74 ? 8 : 9, padded,
                     std::string(1, '\xff') + "x" + std::string(255, '\0'));
    }
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.given_back(stream), 0U);
    EXPECT_EQ(client.given_back(padded), 37 * 256U);
}

TEST_P(H2Frames, AStreamThatDependsOnItselfIsReset) {
    H2Client& client = connect();
    const auto headers = [&](std::uint32_t stream, std::uint8_t flags, std::uint32_t on,
                             const H2Client::Fields& fields) {
        client.frame(
            H2FrameType::headers, flags | wire::h2_flag::priority, stream,
            std::string("\0\0\0", 3) + static_cast<char>(on) + '\1' + H2Client::block(fields));
    };
    const H2Client::Fields request = {
        {":method", "POST"}, {":scheme", "http"}, {":path", "/upload"}, {":authority", "a"}};
    headers(1, 5, 1, request);
    ASSERT_TRUE(reset(1));
    EXPECT_EQ(client.answer(1).reset, H2Error::protocol_error);
    headers(3, 4, 1, request);
    headers(3, 5, 3, {{"x-sum", "1"}});
    ASSERT_TRUE(reset(3));
    EXPECT_EQ(client.answer(3).reset, H2Error::protocol_error);
    headers(5, 4, 3, request);
    headers(5, 5, 3, {{"x-sum", "1"}});
    EXPECT_TRUE(ended(5));
    EXPECT_FALSE(client.answer(5).reset);
}

// The drain's PING is answered once it was sent, and by its own bytes.
TEST_P(H2Frames, AnAnswerToAPingThatWasNotSentEndsNoRound) {
    H2Client& client = connect_with_streams();
    client.ping("draining", true);
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.goaways().size(), 0U);
    stage_->server().drain(world_->loop().now() + 1h, [] {});
    ASSERT_TRUE(run_until([&] { return client.goaways().size() == 1; }));
    client.ping("anything", true);
    client.ping("draining");  // a question of its own
    ASSERT_TRUE(run_until([&] { return client.pongs().size() == 1; }));
    EXPECT_EQ(client.goaways().size(), 1U);
    client.ping("draining", true);
    ASSERT_TRUE(run_until([&] { return client.goaways().size() == 2; }));
    kept_->respond_status(204);
    kept_ = {};
    EXPECT_TRUE(ended(waiting_));
}

TEST_P(H2Frames, BodiesOfRequestsBehindTheLastGoawayArePassedOver) {
    H2Client& client = connect_with_streams();
    stage_->server().drain(world_->loop().now() + 1h, [] {});
    ASSERT_TRUE(run_until([&] { return client.pings().size() == 1; }));
    client.ping(client.pings()[0], true);
    ASSERT_TRUE(run_until([&] { return client.goaways().size() == 2; }));
    const auto ignored = client.request("POST", "/upload", {}, false);
    client.data(ignored, "some", false);
    client.headers(ignored, {{"x-trailer", "1"}}, true);
    client.ping("the next");
    ASSERT_TRUE(run_until([&] { return client.pongs().size() == 1; }));
    EXPECT_EQ(client.goaways().size(), 2U);
    EXPECT_EQ(client.resets(), 0U);
    kept_->respond_status(204);
    kept_ = {};
    EXPECT_TRUE(ended(waiting_));
}

TEST_P(H2Frames, TheWindowOfBytesBeyondAStreamsWindowIsGivenBack) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 65'535;
    options.stream_window_bytes = 1'000;
    start(options);
    H2Client& client = connect();
    for (int i = 0; i < 100; ++i) {
        const auto stream = client.request("POST", "/kept", {}, false);
        client.data(stream, std::string(1'001, 'x'), false);
        ASSERT_TRUE(reset(stream)) << i;
        EXPECT_EQ(client.answer(stream).reset, H2Error::flow_control_error);
        kept_ = {};
    }
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Frames, AnAcknowledgementIsNotAcknowledged) {
    H2Client& client = connect();
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.settings_acks(), 1U);
    client.frame(H2FrameType::settings, wire::h2_flag::ack, 0, "");
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.settings_acks(), 1U);
}

TEST_P(H2Frames, AGoawayWithAnErrorEndsTheConnection) {
    H2Client& client = connect_with_streams();
    client.frame(H2FrameType::goaway, 0, 0, std::string("\0\0\0\0\0\0\0\2", 8));
    ASSERT_TRUE(run_until([&] { return peer_->over(); }));
    EXPECT_TRUE(kept_->abandoned());
    EXPECT_FALSE(client.answer(waiting_).ended);
    EXPECT_EQ(stage_->counters().faults, 0U) << "none of ours";
}

// --- the first frame, and frames behind the end ----------------------------------------------

TEST_P(H2Frames, TheFirstFrameSaysTheLimits) {
    H2Options options = H2Stage::plain();
    options.streams_max = 7;
    options.stream_window_bytes = 70'000;
    options.head.list_bytes_max = 9'000;
    for (const bool extended : {false, true}) {
        SCOPED_TRACE(extended);
        options.head.extended_connect = extended;
        start(options);
        ASSERT_TRUE(ended(connect().get("/hello")));
        const ByteView heard = peer_->heard();
        const wire::H2FrameHeader first = wire::read_h2_frame_header(heard);
        ASSERT_EQ(first.type, H2FrameType::settings);
        wire::H2Settings settings;
        ASSERT_EQ(settings.apply(heard.substr(wire::h2_frame_header_bytes, first.length)),
                  H2Error::no_error);
        EXPECT_EQ(settings.max_concurrent_streams, 7U);
        EXPECT_EQ(settings.initial_window_size, 70'000U);
        EXPECT_EQ(settings.max_header_list_size, 9'000U);
        EXPECT_EQ(settings.enable_connect_protocol, extended);
        EXPECT_TRUE(settings.no_rfc7540_priorities);
    }
}

TEST_P(H2Frames, NothingBehindAFaultOfTheConnectionIsServed) {
    H2Client& client = connect();
    client.hold();
    client.frame(H2FrameType::data, 0, 99, "on an idle stream");
    client.get("/hello");
    client.say_all();
    ASSERT_TRUE(gone());
    EXPECT_EQ(stage_->stage().served().size(), 0U);
}

// To close at once could destroy what is on its way to the peer.
TEST_P(H2Frames, BehindAGoawayWithAnErrorThePeersEndIsWaitedFor) {
    H2Client& client = connect_with_streams();
    client.frame(H2FrameType::goaway, 0, 0, std::string("\0\0\0\0\0\0\0\2", 8));
    ASSERT_TRUE(run_until([&] { return peer_->over(); }));
    EXPECT_EQ(stage_->server().size(), 1U);
    peer_->finish();
    EXPECT_TRUE(run_until([&] { return stage_->server().size() == 0; }));
}

// These streams will not open, so that nothing is kept for them.
TEST_P(H2Frames, PrioritiesBehindTheLastGoawayAreNotKept) {
    H2Options options = H2Stage::plain();
    options.streams_max = 2;
    start(options);
    H2Client& client = connect_with_streams();
    stage_->server().drain(world_->loop().now() + 1h, [] {});
    ASSERT_TRUE(run_until([&] { return client.pings().size() == 1; }));
    client.ping(client.pings()[0], true);
    ASSERT_TRUE(run_until([&] { return client.goaways().size() == 2; }));
    for (const char stream : {'\x11', '\x13', '\x15', '\x17'}) {
        client.frame(H2FrameType::priority_update, 0, 0, std::string("\0\0\0", 3) + stream + "u=1");
    }
    kept_->respond_status(204);
    kept_ = {};
    ASSERT_TRUE(ended(waiting_));
    EXPECT_EQ(client.goaway(), H2Error::no_error);
}

}  // namespace
}  // namespace tiderace::http
