// A handler that throws ends its own socket, with close code 1011 if a frame can still be sent,
// and no other. The same holds when memory runs out anywhere.
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "tiderace/http/websocket/client.h"
#include "tiderace/http/websocket/topics.h"
#include "tiderace/net/connector.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using testing::client_frame;
using testing::WebSocketStage;
using Opcode = wire::WebSocketOpcode;

class HandlerThrows : public ::testing::Test {
  protected:
    static void fail(WebSocketConnection&) { throw std::runtime_error("no such room"); }

    // Another socket, opened before, is there and works.
    void expect_that_others_live(testing::Peer& other) {
        stage_.when_opened = stage_.when_told = stage_.when_drained = {};
        stage_.when_ponged = stage_.when_ended = stage_.when_closed = {};
        other.say(client_frame(Opcode::text, "here"));
        EXPECT_TRUE(stage_.hears(other, "text(here)")) << stage_.heard(other);
        EXPECT_EQ(stage_.service().size(), 1U);
        EXPECT_EQ(stage_.service().counters().failed, 1U);
        EXPECT_EQ(stage_.http().server().size(), 1U);
    }

    testing::FakeWorld world_;
    WebSocketStage stage_{world_};
};

TEST_F(HandlerThrows, InOnMessageTheSocketIsClosedWithInternalError) {
    const auto other = stage_.open();
    const auto peer = stage_.open();
    stage_.when_told = fail;
    peer->say(client_frame(Opcode::text, "a"));
    peer->finish();
    EXPECT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_EQ(stage_.heard(*peer), "text(a) close(1011)");
    EXPECT_EQ(stage_.told(), "open open text(a) closed(1011)");
    expect_that_others_live(*other);
}

TEST_F(HandlerThrows, InOnOpenTheSocketIsClosedWithInternalError) {
    const auto other = stage_.open();
    stage_.when_opened = fail;
    const auto peer = stage_.open();
    ASSERT_NE(peer, nullptr);
    peer->finish();
    EXPECT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_EQ(stage_.heard(*peer), "close(1011)");
    world_.settle();
    EXPECT_EQ(stage_.told(), "open open closed(1011)");
    expect_that_others_live(*other);
}

TEST_F(HandlerThrows, InOnPongTheSocketIsClosedWithInternalError) {
    const auto other = stage_.open();
    const auto peer = stage_.open();
    stage_.when_ponged = fail;
    peer->say(client_frame(Opcode::pong, "p"));
    peer->finish();
    EXPECT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_EQ(stage_.heard(*peer), "close(1011)");
    expect_that_others_live(*other);
}

// The queue, and the close frame, arrive all the same.
TEST_F(HandlerThrows, InOnEndThePeerGetsTheCloseFrame) {
    struct Case {
        const char* name;
        std::string said;  // by the peer, which ends its direction then
        std::string heard;
        std::string told;
    };
    const Case cases[] = {
        {"a close frame",
         client_frame(Opcode::close,
                      "\x03\xe8"
                      "bye"),
         "text(queued) close(1000)", "open open closed(1000 bye)"},
        {"a fault", client_frame(Opcode::close, "x"),
         "text(queued) close(1002 close payload of one byte)",
         "open open closed(1002 close payload of one byte)"},
        {"an end", "", "text(queued)", "open open closed(1006)"},
    };
    for (const Case& one : cases) {
        SCOPED_TRACE(one.name);
        testing::FakeWorld world;
        WebSocketStage stage(world);
        const auto other = stage.open();
        const auto peer = stage.open();
        stage.when_ended = fail;
        stage.sockets().back()->send_text("queued");
        peer->say(one.said);
        peer->finish();
        EXPECT_TRUE(stage.run_until([&] { return peer->over(); }));
        world.settle();
        EXPECT_EQ(stage.heard(*peer), one.heard);
        EXPECT_EQ(stage.told(), one.told);
        EXPECT_EQ(stage.service().counters().failed, 1U);
        other->say(client_frame(Opcode::text, "here"));
        EXPECT_TRUE(stage.hears(*other, "text(here)"));
    }
}

TEST_F(HandlerThrows, InOnCloseTheSocketIsGoneAllTheSame) {
    const auto other = stage_.open();
    const auto peer = stage_.open();
    stage_.when_closed = fail;
    peer->reset();
    EXPECT_TRUE(stage_.run_until([&] { return stage_.sockets().size() == 1; }));
    world_.settle();
    stage_.when_closed = {};
    other->say(client_frame(Opcode::text, "here"));
    EXPECT_TRUE(stage_.hears(*other, "text(here)"));
    EXPECT_EQ(stage_.service().size(), 1U);
    EXPECT_EQ(stage_.service().counters().closed, 1U);
    EXPECT_EQ(stage_.service().counters().failed, 1U);
}

TEST_F(HandlerThrows, InOnDrainedTheSocketIsClosedWithInternalError) {
    const auto other = stage_.open();
    const auto peer = stage_.open();
    stage_.when_drained = fail;
    while (stage_.sockets().back()->send_binary(std::string(10'000, 'x')) != WebSocketSend::high) {
    }
    EXPECT_TRUE(stage_.run_until([&] { return stage_.heard(*peer).ends_with("close(1011)"); }));
    peer->finish();
    world_.settle();
    expect_that_others_live(*other);
}

// A subscriber for whom there is no memory is closed; the others get the message, and the next.
TEST_F(HandlerThrows, WithoutMemoryAtAnyPointOfATopicTheOthersGoOn) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([](std::uint64_t nth) {
        testing::FakeWorld world;
        std::optional<WebSocketStage> stage(std::in_place, world);
        std::optional<Topics> topics(std::in_place, world.loop(),
                                     std::make_shared<task::TopicHub>());
        stage->service().attach(*topics);
        stage->when_opened = [&](WebSocketConnection& socket) { socket.join(*topics, "t"); };
        const auto first = stage->open();
        const auto second = stage->open();
        bool failed = false;
        {
            testing::ScarceMemory scarce(nth);
            try {
                topics->publish("t", "one, too long for a small string");
                topics->flush();
            } catch (const std::bad_alloc&) {  // the publisher's
            }
            failed = scarce.failed();
        }
        world.settle();
        topics->publish("t", "two");
        world.settle();
        int served = 0;
        for (const auto* peer : {first.get(), second.get()}) {
            const std::string heard = WebSocketStage::heard(*peer);
            EXPECT_TRUE(peer->over() || heard.ends_with("text(two)")) << nth << ": " << heard;
            if (heard.ends_with("text(two)")) ++served;
        }
        EXPECT_GE(served, 1) << nth;
        stage->http().server().abort_all();
        world.settle();
        EXPECT_EQ(stage->service().size(), 0U);
        topics.reset();
        return failed;
    });
    EXPECT_GT(calls, 4U);
}

class Quiet final : public WebSocketHandler {
  public:
    void on_message(WebSocketConnection&, WebSocketKind, ByteView) override {}
    void on_close(WebSocketConnection&, std::uint16_t, ByteView) override { ++ended; }
    void on_refused(int, std::string_view) override {
        ++ended;
        throw std::runtime_error("refused");
    }
    int ended = 0;
};

TEST_F(HandlerThrows, AClientWhoseRefusalThrowsIsGone) {
    net::Connector connector(world_.loop(), {});
    WebSocketService service(world_.loop(), {});
    Quiet client;
    (void)stage_.connect();
    connector.connect(world_.listening_at(), [&](Result<net::Connection*> made) {
        ASSERT_TRUE(made.has_value());
        open_websocket(**made, service, client, {.authority = "a.example", .target = "/nowhere"});
    });
    world_.settle();
    EXPECT_EQ(client.ended, 1);
    EXPECT_EQ(connector.size(), 0U);
}

}  // namespace
}  // namespace tiderace::http
