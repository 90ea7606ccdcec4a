// WebSocketState: what it holds for a task that does not receive.
#include "tiderace/http/websocket/socket_state.h"

#include <gtest/gtest.h>

#include <coroutine>
#include <memory>
#include <new>
#include <string>

#include "tiderace/http/websocket/accept.h"
#include "tiderace/http/websocket/client.h"
#include "tiderace/net/connector.h"
#include "tiderace/task/runner.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using testing::client_frame;
using testing::WebSocketStage;

struct Ended final : WebSocketObserver {
    void on_ended(bool waiting) override { said += waiting ? "ended, held " : "ended "; }
    void on_stuck() override { said += "stuck "; }
    std::string said;
};

// A socket that a peer has opened.
struct Open {
    Open() {
        state->set_observer(&observer);
        stage.on("/ws",
                 [this](Exchange& exchange) { accept_websocket(exchange, service, *state); });
        peer = stage.connect();
        peer->say(WebSocketStage::request());
        world.settle();
    }

    testing::FakeWorld world;
    WebSocketService service{world.loop(), {}};
    testing::H1Stage stage{world};
    Ended observer;
    WebSocketState* state = new WebSocketState;  // the test's to disown
    std::shared_ptr<testing::Peer> peer;
};

// Stands before a state, and gives it no memory for one of its calls.
struct Poor : WebSocketHandler {
    Poor(WebSocketState& state, std::uint64_t n) : inner(&state), nth(n) {}
    void on_open(WebSocketConnection& socket) override { inner->on_open(socket); }
    void on_message(WebSocketConnection& socket, WebSocketKind kind, ByteView message) override {
        inner->on_message(socket, kind, message);
    }
    void on_drained(WebSocketConnection& socket) override { inner->on_drained(socket); }
    void on_end(WebSocketConnection& socket, std::uint16_t code, ByteView reason) override {
        inner->on_end(socket, code, reason);
    }
    void on_close(WebSocketConnection& socket, std::uint16_t code, ByteView reason) override {
        inner->on_close(socket, code, reason);
    }
    template <typename Call>
    void without_memory(Call call) {
        const testing::ScarceMemory scarce(failed ? 0 : nth);
        try {
            call();
        } catch (const std::bad_alloc&) {
            failed = true;
            throw;
        }
    }

    WebSocketHandler* inner;
    std::uint64_t nth;
    bool failed = false;

  protected:
    ~Poor() = default;
};
struct PoorAtOpening final : Poor {
    using Poor::Poor;
    void on_open(WebSocketConnection& socket) override {
        without_memory([&] { inner->on_open(socket); });
    }
};
struct PoorWhenDrained final : Poor {
    using Poor::Poor;
    void on_drained(WebSocketConnection& socket) override {
        without_memory([&] { inner->on_drained(socket); });
    }
};

// The bytes that a peer can send to an unread socket are bounded, however small its messages are.
TEST(SocketState, HoldsSoMuchAndThenNothingIsReadFromThePeer) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{10'000}}) {
        Open open;
        auto& [world, service, stage, observer, state, peer] = open;
        ASSERT_NE(state->connection(), nullptr);
        const std::string message(bytes, 'x');
        std::string all;
        for (int i = 0; i < 20'000; ++i) {
            all += client_frame(wire::WebSocketOpcode::text, message);
        }
        peer->say(all);
        world.advance(5s);
        const std::size_t most = WebSocketState::held_bytes_max / WebSocketState::message_cost;
        EXPECT_LE(service.counters().messages_in, most) << bytes;
        EXPECT_GE(service.counters().messages_in, 5u) << bytes;
        EXPECT_TRUE(state->has_news());
        peer->reset();
        world.settle();
        EXPECT_EQ(observer.said, "ended, held ");
        EXPECT_TRUE(state->has_news());
        state->disown();
    }
}

TEST(SocketState, KeepsWhyAClientWasRefused) {
    Ended observer;
    auto* state = new WebSocketState;
    state->set_observer(&observer);
    state->ask(nullptr);
    EXPECT_TRUE(state->asked());
    WebSocketHandler& handler = *state;
    handler.on_refused(403, "not you");
    EXPECT_FALSE(state->asked());
    EXPECT_TRUE(state->refused());
    EXPECT_EQ(state->http_status(), 403);
    EXPECT_EQ(state->reason(), "not you");
    EXPECT_TRUE(state->ended());
    EXPECT_EQ(observer.said, "ended ");
    state->disown();
}

// The text of the reason is all that it costs.
TEST(SocketState, WithoutMemoryForTheReasonOfTheEndItsReceiveReturns) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        Open open;
        auto& [world, service, stage, observer, state, peer] = open;
        task::Runner runner(world.loop());
        bool returned = false;
        runner.spawn([](WebSocketState& each, bool& done) -> task::Task<> {
            EXPECT_FALSE(co_await WebSocketReceive(each));
            done = true;
        }(*state, returned));
        const std::string reason = "a reason too long for a small string";
        WebSocketHandler& handler = *state;
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            try {
                handler.on_end(*state->connection(), 1001, reason);
            } catch (const std::bad_alloc&) {  // the connection contains it
            }
            failed = scarce.failed();
        }
        peer->reset();
        world.settle();
        EXPECT_TRUE(returned) << nth;
        EXPECT_EQ(observer.said, "ended, held ") << nth;
        EXPECT_EQ(state->code(), 1001) << nth;
        EXPECT_EQ(state->reason(), failed ? "" : reason) << nth;
        state->disown();
        return failed;
    });
    EXPECT_EQ(calls, 2U);
}

// Waits for the end of a client's handshake.
struct Asking {
    explicit Asking(WebSocketState& asked) : state(&asked) { asked.ask(&waiter); }
    bool await_ready() const { return !state->asked(); }
    void await_suspend(std::coroutine_handle<> handle) { waiter.suspend(handle); }
    void await_resume() const {}

    WebSocketState* state;
    task::Waiter waiter;
};

TEST(SocketState, WithoutMemoryForAClientsSocketItsTaskGoesOn) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        testing::FakeWorld world;
        const std::string subprotocol = "a-name-too-long-for-a-small-string";
        WebSocketStage stage(world, {.subprotocols = {subprotocol}});
        (void)stage.connect();
        net::Connector connector(world.loop(), {});
        WebSocketService service(world.loop(), {.subprotocols = {subprotocol}});
        task::Runner runner(world.loop());
        auto* state = new WebSocketState;
        PoorAtOpening handler(*state, nth);
        bool returned = false;
        runner.spawn([](WebSocketState& each, bool& done) -> task::Task<> {
            co_await Asking(each);
            done = true;
        }(*state, returned));
        connector.connect(world.listening_at(), [&](Result<net::Connection*> made) {
            ASSERT_TRUE(made.has_value());
            open_websocket(**made, service, handler, {.authority = "a.example", .target = "/ws"});
        });
        world.settle();
        EXPECT_TRUE(returned) << nth;
        EXPECT_FALSE(state->asked()) << nth;
        EXPECT_EQ(state->code(), handler.failed ? 1011 : 0) << nth;
        EXPECT_EQ(state->subprotocol(), handler.failed ? "" : subprotocol) << nth;
        runner.cancel_spawned();
        state->disown();
        connector.abort_all();
        world.settle();
        return handler.failed;
    });
    EXPECT_EQ(calls, 2U);
}

TEST(SocketState, WithoutMemoryForAClientsHandshakeItIsRefusedAndTheConnectionEnds) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        testing::FakeWorld world;
        WebSocketStage stage(world);
        (void)stage.connect();
        net::Connector connector(world.loop(), {});
        WebSocketService service(world.loop(), {.compression = true});
        auto* state = new WebSocketState;
        bool failed = false;
        connector.connect(world.listening_at(), [&](Result<net::Connection*> made) {
            ASSERT_TRUE(made.has_value());
            const Asking asking(*state);  // as a task that will wait, and does not yet
            const testing::ScarceMemory scarce(nth);
            try {
                open_websocket(**made, service, *state,
                               {.authority = "a.example", .target = "/ws"});
            } catch (const std::bad_alloc&) {
                failed = true;
            }
            state->stop_asking();
        });
        world.settle();
        EXPECT_FALSE(state->asked()) << nth;
        EXPECT_EQ(state->refused(), failed) << nth;
        EXPECT_EQ(connector.size(), failed ? 0U : 1U) << nth;
        state->disown();
        connector.abort_all();
        world.settle();
        return failed;
    });
    EXPECT_GE(calls, 2U);
}

TEST(SocketState, WithoutMemoryForAMessageThatWaitedEverySendReturns) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const std::string message(100'000, 'x');  // in a block of its own, which is allocated
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        testing::FakeWorld world;
        WebSocketService service(world.loop(), {});
        testing::H1Stage stage(world);
        auto* state = new WebSocketState;
        PoorWhenDrained handler(*state, nth);
        stage.on("/ws", [&](Exchange& exchange) { accept_websocket(exchange, service, handler); });
        const auto peer = stage.connect();
        peer->say(WebSocketStage::request());
        world.settle();
        EXPECT_NE(state->connection(), nullptr);
        world.loop().assert_on_loop();
        while (!state->connection()->has_backlog()) state->connection()->send_binary(message);
        task::Runner runner(world.loop());
        int sent = 0;
        int not_sent = 0;
        for (int i = 0; i < 3; ++i) {
            runner.spawn([](WebSocketState& each, const std::string& bytes, int& yes,
                            int& no) -> task::Task<> {
                ++(co_await WebSocketSending(each, WebSocketKind::binary, bytes) ? yes : no);
            }(*state, message, sent, not_sent));
        }
        world.settle();
        peer->finish();
        world.settle();
        EXPECT_EQ(sent + not_sent, 3) << nth;
        EXPECT_EQ(not_sent == 0, !handler.failed) << nth;
        runner.cancel_spawned();
        state->disown();
        stage.server().abort_all();
        world.settle();
        return handler.failed;
    });
    EXPECT_GE(calls, 2U);
}

}  // namespace
}  // namespace tiderace::http
