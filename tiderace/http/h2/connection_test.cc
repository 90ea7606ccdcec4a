// HTTP/2's windows, priorities, deadlines, and the ways a connection ends. On every engine.
#include <memory>
#include <new>
#include <optional>

#include "tiderace/testing/h2_fixture.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;
using wire::H2FrameType;
using wire::H2SettingId;

class H2 : public testing::H2Test {};

INSTANTIATE_TEST_SUITE_P(Worlds, H2, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

// --- windows and priorities ------------------------------------------------------------------

TEST_P(H2, SendsAsMuchAsTheWindowsTake) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1'000}});
    const auto stream = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body.size() == 1'000; }));
    client.window_update(stream, 500);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body.size() == 1'500; }));
    client.settings({{H2SettingId::initial_window_size, 0}});
    client.window_update(stream, 999);
    world_->settle();
    EXPECT_EQ(client.answer(stream).body.size(), 1'500U);
    client.settings({{H2SettingId::initial_window_size, large_window}});
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body.size() == 65'535; }));
    client.window_update(0, large_window);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, large_);
}

TEST_P(H2, AWindowTooLargeIsAFault) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1'000}});
    const auto stream = client.get("/large");
    client.window_update(stream, wire::h2_window_bytes_max);
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).reset, H2Error::flow_control_error);
    client.window_update(0, wire::h2_window_bytes_max);
    ASSERT_TRUE(gone());
    EXPECT_EQ(client.goaway(), H2Error::flow_control_error);
}

// The order of DATA, each stream once: 1 1 3 3 1 is "131".
std::string runs(const std::vector<std::uint32_t>& order) {
    std::string text;
    for (const std::uint32_t stream : order) {
        const std::string name = std::to_string(stream) + " ";
        if (!text.ends_with(" " + name) && text != name) text += name;
    }
    return text;
}

TEST_P(H2, TheUrgentGoesFirst) {
    H2Client& client = connect({{H2SettingId::initial_window_size, large_window}});
    client.hold();
    const auto idle = client.get("/large", {{"priority", "u=7"}});
    const auto plain = client.get("/large");
    const auto urgent = client.get("/large", {{"priority", "u=0"}});
    client.window_update(0, 2'000'000);
    client.say_all();
    ASSERT_TRUE(ended(idle));
    EXPECT_EQ(runs(client.data_order()), "5 3 1 ");
    EXPECT_EQ(client.answer(plain).body, large_);
    EXPECT_EQ(client.answer(urgent).body, large_);
}

TEST_P(H2, TheIncrementalShareTheLine) {
    H2Client& client = connect({{H2SettingId::initial_window_size, large_window}});
    client.hold();
    const auto one = client.get("/large", {{"priority", "i"}});
    const auto other = client.get("/large", {{"priority", "i"}});
    client.window_update(0, 2'000'000);
    client.say_all();
    ASSERT_TRUE(ended(other));
    ASSERT_TRUE(ended(one));
    const auto& order = client.data_order();
    for (std::size_t i = 0; i + 1 < order.size() - 1; ++i) EXPECT_NE(order[i], order[i + 1]) << i;
}

TEST_P(H2, APriorityUpdateChangesTheOrder) {
    H2Client& client = connect({{H2SettingId::initial_window_size, large_window}});
    client.hold();
    const auto first = client.get("/large");
    const auto second = client.get("/large");
    client.frame(H2FrameType::priority_update, 0, 0, std::string("\0\0\0\3u=1", 7));
    client.window_update(0, 2'000'000);
    client.say_all();
    ASSERT_TRUE(ended(first));
    ASSERT_TRUE(ended(second));
    EXPECT_EQ(runs(client.data_order()), "3 1 ");
}

TEST_P(H2, APriorityUpdateMayComeBeforeItsStream) {
    H2Client& client = connect({{H2SettingId::initial_window_size, large_window}});
    client.hold();
    client.frame(H2FrameType::priority_update, 0, 0, std::string("\0\0\0\5u=1", 7));
    client.frame(H2FrameType::priority_update, 0, 0, std::string("\0\0\0\3u=0", 7));
    client.frame(H2FrameType::priority_update, 0, 0, std::string("\0\0\0\3u=2", 7));
    const auto plain = client.get("/large");
    const auto second = client.get("/large", {{"priority", "u=0"}});  // the frame says more
    const auto first = client.get("/large");
    client.window_update(0, 2'000'000);
    client.say_all();
    for (const auto stream : {plain, second, first}) ASSERT_TRUE(ended(stream));
    EXPECT_EQ(runs(client.data_order()), "5 3 1 ");
}

TEST_P(H2, AnExchangeUsedAgainHasNoPriorityOfItsLastStream) {
    H2Client& client = connect({{H2SettingId::initial_window_size, large_window}});
    ASSERT_TRUE(ended(client.get("/hello", {{"priority", "u=7, i"}})));
    client.hold();
    const auto plain = client.get("/large");
    const auto late = client.get("/large", {{"priority", "u=5"}});
    client.window_update(0, 2'000'000);
    client.say_all();
    ASSERT_TRUE(ended(late));
    ASSERT_TRUE(ended(plain));
    EXPECT_EQ(runs(client.data_order()), "1 3 5 ");
}

TEST_P(H2, PrioritiesOfMoreStreamsThanMayOpenAreRefused) {
    H2Client& client = connect();
    const auto update = [&client](std::uint32_t stream) {
        client.frame(H2FrameType::priority_update, 0, 0,
                     std::string{'\0', '\0', static_cast<char>(stream >> 8),
                                 static_cast<char>(stream), 'u', '=', '1'});
    };
    const auto waits = client.get("/kept");
    for (std::uint32_t i = 1; i < 128; ++i) update(waits + 2 * i);
    update(waits + 2);  // known already
    update(waits);      // open
    const auto next = client.get("/hello");
    ASSERT_TRUE(ended(next));
    EXPECT_FALSE(client.goaway());
    update(601);  // as many as before: `next` is not idle any more
    update(603);
    ASSERT_TRUE(gone());
    EXPECT_EQ(client.goaway(), H2Error::protocol_error);
}

TEST_P(H2, StreamsThatAreResetLeaveTheOrder) {
    H2Client& client = connect({{H2SettingId::initial_window_size, large_window}});
    const auto first = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(first).body.size() == 65'535; }));
    const auto second = client.get("/large"), third = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(third).status == 200; }));
    for (const auto stream : {second, first, third}) client.reset(stream);
    const auto fourth = client.get("/large"), fifth = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(fifth).status == 200; }));
    client.window_update(0, large_window);
    ASSERT_TRUE(ended(fourth));
    ASSERT_TRUE(ended(fifth));
    EXPECT_EQ(client.answer(fourth).body, large_);
    EXPECT_EQ(client.answer(fifth).body, large_);
    EXPECT_EQ(runs(client.data_order()), "1 7 9 ");
}

TEST_P(H2, TheQueueIsFilledOnlyToItsBound) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0x7fff'ffff}});
    client.window_update(0, 0x7000'0000);
    peer_->set_listening(false);
    std::uint64_t most = 0;
    std::size_t pulls = 0;
    struct Endless final : BodySource {
        std::size_t* pulls;
        explicit Endless(std::size_t& count) : pulls(&count) {}
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes) override {
            ++*pulls;
            out.append(blocks, std::string(bytes, 'x'));
            return State::more;
        }
    };
    stage_->on("/endless", [&](Exchange& exchange) {
        Response response;
        response.set_body(std::make_unique<Endless>(pulls));
        exchange.respond(response);
    });
    for (int i = 0; i < 20; ++i) client.get("/endless");
    world_->settle();
    most = world_->loop().blocks().taken() * core::BlockPool::block_bytes;
    EXPECT_GT(pulls, 0U);
    EXPECT_LE(most, 2 * H2Sender::queue_bytes_wanted + 20 * 32_KiB);
    stage_->server().abort_all();
    world_->settle();
}

// --- resets and the end ----------------------------------------------------------------------

TEST_P(H2, AResetStreamIsAbandoned) {
    bool abandoned = false;
    stage_->on("/kept", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        exchange.on_abandoned([&] { abandoned = true; });
    });
    H2Client& client = connect();
    const auto stream = client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    client.reset(stream);
    ASSERT_TRUE(run_until([&] { return abandoned; }));
    kept_->respond_status(200);  // does nothing
    kept_ = {};
    const auto next = client.get("/hello");
    ASSERT_TRUE(ended(next));
    EXPECT_EQ(client.answer(stream).status, 0);
    EXPECT_EQ(stage_->counters().resets_received, 1U);
}

// The end of an answer in the turn in which its connection was closed comes too late.
TEST_P(H2, AnAnswerThatEndsOnAClosedConnectionIsAbandoned) {
    struct Late final : BodySource {
        State pull(core::BlockPool&, core::SendQueue&, std::size_t) override {
            return is_over ? State::end : State::wait;
        }
        bool is_over = false;
    };
    Late* source = nullptr;
    int abandoned = 0;
    stage_->on("/late", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        exchange.on_abandoned([&] { ++abandoned; });
        auto made = std::make_unique<Late>();
        source = made.get();
        Response response;
        response.set_body(std::move(made));
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto stream = client.get("/late");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    stage_->server().abort_all();
    source->is_over = true;
    kept_->body_ready();
    world_->settle();
    EXPECT_EQ(abandoned, 1);
    EXPECT_FALSE(client.answer(stream).ended);
}

TEST_P(H2, StreamsAboveTheMaximumAreRefused) {
    H2Options options = H2Stage::plain();
    options.streams_max = 2;
    start(options);
    std::vector<core::Ref<Exchange>> kept;
    stage_->on("/kept", [&](Exchange& exchange) { kept.push_back(exchange.defer()); });
    H2Client& client = connect();
    client.get("/kept");
    client.get("/kept");
    const auto third = client.get("/kept");
    ASSERT_TRUE(reset(third));
    EXPECT_EQ(client.answer(third).reset, H2Error::refused_stream);
    EXPECT_EQ(stage_->counters().refused, 1U);
    for (auto& each : kept) each->respond_status(204);
    const auto fourth = client.get("/hello");
    ASSERT_TRUE(ended(fourth));
}

TEST_P(H2, APingIsAnswered) {
    H2Client& client = connect();
    client.ping("12345678");
    ASSERT_TRUE(run_until([&] { return client.pongs().size() == 1; }));
    EXPECT_EQ(client.pongs()[0], "12345678");
}

TEST_P(H2, AFaultOfTheConnectionEndsIt) {
    H2Client& client = connect();
    const auto hello = client.get("/hello");
    ASSERT_TRUE(ended(hello));
    client.frame(H2FrameType::data, 0, 99, "on an idle stream");
    ASSERT_TRUE(gone());
    EXPECT_EQ(client.goaway(), H2Error::protocol_error);
    EXPECT_EQ(client.goaways()[0].last_stream, hello);
    EXPECT_EQ(stage_->counters().faults, 1U);
}

TEST_P(H2, WhatIsNotHttp2AfterAllEndsIt) {
    peer_ = stage_->connect();
    client_ = std::make_unique<H2Client>(*peer_, std::vector<wire::H2Setting>{}, false);
    peer_->say("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
    ASSERT_TRUE(run_until([&] { return peer_->over(); }));
}

TEST_P(H2, Http1GoesOnBesideIt) {
    peer_ = stage_->connect();
    peer_->say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(run_until([&] { return peer_->heard().ends_with("hello\n"); }));
    EXPECT_TRUE(peer_->heard().starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(stage_->counters().connections, 0U);
}

TEST_P(H2, DrainsInTwoSteps) {
    H2Client& client = connect();
    const auto kept = client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    bool drained = false;
    stage_->server().drain(world_->loop().now() + 1h, [&] { drained = true; });
    ASSERT_TRUE(
        run_until([&] { return client.goaways().size() == 1 && client.pings().size() == 1; }));
    EXPECT_EQ(client.goaways()[0].last_stream, wire::h2_stream_max);
    const auto hello = client.get("/hello");  // was on its way
    ASSERT_TRUE(ended(hello));
    client.ping(client.pings()[0], true);
    ASSERT_TRUE(run_until([&] { return client.goaways().size() == 2; }));
    EXPECT_EQ(client.goaways()[1].last_stream, hello);
    EXPECT_EQ(client.goaways()[1].error, H2Error::no_error);
    const auto ignored = client.get("/hello");
    world_->settle();
    EXPECT_FALSE(drained);
    EXPECT_EQ(client.answer(ignored).status, 0);
    Response response;
    response.set_body("done");
    kept_->respond(response);
    kept_ = {};
    ASSERT_TRUE(ended(kept));
    ASSERT_TRUE(run_until([&] { return peer_->over(); }));
    peer_->close();
    EXPECT_TRUE(run_until([&] { return drained; }));
}

TEST_P(H2, APeerThatLeavesTakesItsStreamsWithIt) {
    bool abandoned = false;
    stage_->on("/kept", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        exchange.on_abandoned([&] { abandoned = true; });
    });
    H2Client& client = connect();
    client.get("/kept");
    client.get("/large");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    peer_->reset();
    EXPECT_TRUE(run_until([&] { return abandoned && stage_->server().size() == 0; }));
}

// An observer of one exchange's end may hold others, whose end comes next.
TEST_P(H2, AnAnswerWhileTheStreamsOfAClosedConnectionEndIsDropped) {
    std::vector<core::Ref<Exchange>> kept;
    std::size_t abandoned = 0;
    stage_->on("/each", [&](Exchange& exchange) {
        kept.push_back(exchange.defer());
        exchange.on_abandoned([&] {
            ++abandoned;
            for (const core::Ref<Exchange>& it : kept) it->respond_status(204);
        });
    });
    H2Client& client = connect();
    client.get("/each");
    client.get("/each");
    ASSERT_TRUE(run_until([&] { return kept.size() == 2; }));
    peer_->reset();
    EXPECT_TRUE(run_until([&] { return abandoned > 0 && stage_->server().size() == 0; }));
    kept.clear();
    EXPECT_EQ(stage_->counters().resets_sent, 0U);
}

TEST_P(H2, AnAnswerWhileTheStreamsOfAFaultyConnectionEndIsDropped) {
    std::vector<core::Ref<Exchange>> kept;
    std::size_t abandoned = 0;
    stage_->on("/each", [&](Exchange& exchange) {
        kept.push_back(exchange.defer());
        exchange.on_abandoned([&] {
            ++abandoned;
            for (const core::Ref<Exchange>& it : kept) it->respond_status(204);
        });
    });
    H2Client& client = connect();
    client.get("/each");
    client.get("/each");
    ASSERT_TRUE(run_until([&] { return kept.size() == 2; }));
    client.frame(H2FrameType::data, 0, 99, "on an idle stream");
    ASSERT_TRUE(gone());
    EXPECT_EQ(client.goaway(), H2Error::protocol_error);
    EXPECT_GT(abandoned, 0U);
    kept.clear();
    EXPECT_EQ(stage_->server().size(), 1U) << "what the peer sends is read until its end";
    peer_->finish();
    EXPECT_TRUE(run_until([&] { return stage_->server().size() == 0; }));
    EXPECT_FALSE(peer_->was_reset());
}

TEST_P(H2, APeerThatFinishesIsAnsweredStill) {
    H2Client& client = connect();
    const auto kept = client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    peer_->finish();
    world_->settle();
    kept_->respond_status(204);
    kept_ = {};
    ASSERT_TRUE(ended(kept));
    EXPECT_TRUE(run_until([&] { return peer_->over() && stage_->server().size() == 0; }));
}

TEST_P(H2, APeerThatFinishesGetsNothingThatWaitsForItsWindows) {
    for (const bool of_connection : {false, true}) {
        H2Client& client = connect({{H2SettingId::initial_window_size, 100'000}});
        if (!of_connection) client.window_update(0, 1'000'000);
        const auto kept = client.get("/kept");
        const auto large = client.get("/large");  // larger than either window
        const std::size_t sent = of_connection ? 65'535 : 100'000;
        ASSERT_TRUE(run_until([&] { return kept_ && client.answer(large).body.size() == sent; }));
        if (of_connection) peer_->say(ByteView("\0\0\4\10", 4));  // part of a WINDOW_UPDATE
        peer_->finish();
        ASSERT_TRUE(reset(large));
        EXPECT_EQ(client.answer(large).reset, H2Error::cancel);
        std::exchange(kept_, {})->respond_status(204);  // works without a window
        ASSERT_TRUE(ended(kept));
        EXPECT_TRUE(run_until([&] { return peer_->over() && stage_->server().size() == 0; }));
    }
    EXPECT_EQ(stage_->counters().timed_out, 0U);
}

// --- deadlines -------------------------------------------------------------------------------

TEST_P(H2, AnIdleConnectionGetsAGoawayAndEnds) {
    H2Client& client = connect();
    ASSERT_TRUE(ended(client.get("/hello")));
    world_->advance(59s);
    EXPECT_FALSE(client.goaway());
    world_->advance(2s);
    ASSERT_TRUE(gone());
    EXPECT_EQ(client.goaway(), H2Error::no_error);
}

TEST_P(H2, PingsDoNotHoldAnIdleConnection) {
    H2Client& client = connect();
    ASSERT_TRUE(ended(client.get("/hello")));
    world_->advance(50s);
    client.ping("still us");
    ASSERT_TRUE(run_until([&] { return client.pongs().size() == 1; }));
    world_->advance(9s);
    EXPECT_FALSE(client.goaway());
    ASSERT_TRUE(ended(client.get("/hello")));  // a request does
    for (int i = 0; i < 5; ++i) {
        world_->advance(11s);
        EXPECT_FALSE(client.goaway());
        client.ping("still us");
        client.window_update(0, 1);
        world_->settle();
    }
    world_->advance(6s);
    ASSERT_TRUE(gone());
    EXPECT_EQ(client.goaway(), H2Error::no_error);
}

TEST_P(H2, AFrameThatDoesNotEndInTimeEndsTheConnection) {
    H2Client& client = connect();
    world_->settle();
    peer_->say(std::string("\0\0\x20\1\5\0\0\0\1", 9));
    world_->settle();
    world_->advance(11s);
    ASSERT_TRUE(gone());
    EXPECT_EQ(stage_->counters().timed_out, 1U);
    (void)client;
}

TEST_P(H2, ABodyThatDoesNotComeIsAnswered408) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/upload", {}, false);
    client.data(stream, "some", false);
    world_->settle();
    world_->advance(31s);
    EXPECT_FALSE(client.answer(stream).reset);  // some of it came in that time
    world_->advance(31s);
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).status, 408);
    EXPECT_TRUE(client.answer(stream).ended);
    EXPECT_EQ(stage_->counters().timed_out, 1U);
}

TEST_P(H2, AnUnreadAnswerIsResetInTime) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->advance(31s);
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
}

// --- an access log that throws ---------------------------------------------------------------

class FailingLog final : public AccessLog {
  public:
    void write(const AccessRecord&) override {
        ++lines;
        throw std::bad_alloc();
    }
    int lines = 0;
};

// Gives a piece of more than a frame, and takes the memory that its first part needs.
class Greedy final : public BodySource {
  public:
    Greedy(ByteView piece, std::optional<testing::ScarceMemory>& scarce)
        : piece_(piece), scarce_(&scarce) {}

    State pull(core::BlockPool&, core::SendQueue& out, std::size_t) override {
        out.append_shared(piece_, {});
        scarce_->emplace(1);
        return State::end;
    }

  private:
    ByteView piece_;
    std::optional<testing::ScarceMemory>* scarce_;
};

// The rest of its answers would never be sent.
TEST_P(H2, AConnectionWithoutMemoryForItsAnswersEnds) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    std::optional<testing::ScarceMemory> scarce;
    H2Client& client = connect();
    client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    Response response;
    response.set_body(std::make_unique<Greedy>(large_, scarce));
    std::exchange(kept_, {})->respond(response);
    ASSERT_TRUE(run_until([&] { return scarce && scarce->failed(); }));
    scarce.reset();
    EXPECT_TRUE(run_until([&] { return peer_->over(); }));
    EXPECT_EQ(stage_->stage().closed(net::CloseReason::session_failed), 1U);
}

TEST_P(H2, AnAccessLogThatThrowsCostsItsLinesOnly) {
    static FailingLog log;  // outlives the connection, which writes a line at its end
    log.lines = 0;
    stage_->stage().site().set_log(&log);
    H2Client& client = connect();
    const auto hello = client.get("/hello");
    ASSERT_TRUE(ended(hello));
    EXPECT_EQ(log.lines, 1);
    // The lines of a deferred answer, and of one whose peer resets it, are written later.
    const auto kept = client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    kept_->respond_status(204);
    kept_ = {};
    ASSERT_TRUE(ended(kept));
    EXPECT_EQ(log.lines, 2);
    const auto large = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(large).status == 200; }));
    client.reset(large);
    EXPECT_TRUE(run_until([&] { return log.lines == 3; }));
    // The sent part of the large answer may have used up the connection's window.
    client.window_update(0, 1U << 20);
    const auto again = client.get("/hello");
    ASSERT_TRUE(ended(again));
    EXPECT_EQ(client.answer(again).body, "hello\n");
    EXPECT_EQ(stage_->stage().closed(net::CloseReason::session_failed), 0U);
}

}  // namespace
}  // namespace tiderace::http
