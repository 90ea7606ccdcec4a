// WebSocket on the in-memory network: what a task sees of it.
#include "tiderace/http/websocket/socket.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

#include "tiderace/http/websocket/accept.h"
#include "tiderace/http/websocket/socket_state.h"
#include "tiderace/task/run.h"
#include "tiderace/task/runner.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using task::Task;
using testing::client_frame;
using testing::WebSocketStage;
using Opcode = wire::WebSocketOpcode;

class SocketOfATask : public ::testing::Test {
  protected:
    SocketOfATask() {
        stage_.on("/ws", [this](Exchange& exchange) {
            auto* state = new WebSocketState;
            socket_.emplace(*state);
            ASSERT_EQ(accept_websocket(exchange, service_, *state), wire::WebSocketRefusal::none);
        });
    }
    ~SocketOfATask() override {
        runner_.cancel_spawned();
        socket_.reset();
    }

    std::unique_ptr<testing::Peer> open() {
        auto peer = stage_.connect();
        peer->say(WebSocketStage::request());
        world_.settle();
        EXPECT_TRUE(socket_.has_value());
        return peer;
    }

    testing::FakeWorld world_;
    WebSocketService service_{world_.loop(), {.subprotocols = {"one"}}};
    testing::H1Stage stage_{world_};
    task::Runner runner_{world_.loop()};
    std::optional<WebSocket> socket_;
    std::string said_;
};

TEST_F(SocketOfATask, ReceivesAndSends) {
    auto peer = open();
    runner_.spawn([](WebSocket& socket, std::string& said) -> Task<> {
        while (auto message = co_await socket.receive()) {
            said += (message->is_text() ? "text " : "binary ") + message->text() + ' ';
            EXPECT_TRUE(co_await socket.send(*message));
        }
        said += std::to_string(socket.close_code());
    }(*socket_, said_));
    peer->say(client_frame(Opcode::text, "a") + client_frame(Opcode::binary, "b"));
    world_.settle();
    EXPECT_EQ(WebSocketStage::heard(*peer), "text(a) binary(b)");
    socket_->ping("there?");
    world_.settle();
    EXPECT_EQ(WebSocketStage::heard(*peer), "text(a) binary(b) ping(there?)");
    peer->close();
    world_.settle();
    EXPECT_EQ(said_, "text a binary b 1006");
    EXPECT_FALSE(socket_->open());
    EXPECT_EQ(socket_->subprotocol(), "");
}

TEST_F(SocketOfATask, LeavesWithItsOwner) {
    auto peer = open();
    EXPECT_TRUE(socket_->open());
    WebSocket moved = std::move(*socket_);
    socket_.reset();
    world_.settle();
    EXPECT_EQ(WebSocketStage::heard(*peer), "");
    {
        const WebSocket last = std::move(moved);
    }
    world_.settle();
    EXPECT_EQ(WebSocketStage::heard(*peer), "close(1000)");
    socket_.reset();
}

TEST_F(SocketOfATask, TellsItsUserOnceThatItEnded) {
    auto peer = open();
    peer->reset();
    world_.settle();
    // Only the runner owns this task: it goes on, and gives way each time.
    runner_.spawn([](WebSocket& socket, std::string& said) -> Task<> {
        for (int i = 0; i < 1'000; ++i) {
            EXPECT_FALSE(co_await socket.send("x"));
            EXPECT_FALSE(co_await socket.receive());
        }
        said = "done";
    }(*socket_, said_));
    world_.settle();
    EXPECT_EQ(said_, "done");
}

// Received messages make room, to the byte: a long life of short messages is never held up.
TEST_F(SocketOfATask, ReceivesMoreMessagesThanItMayHold) {
    auto peer = open();
    int count = 0;
    runner_.spawn([](WebSocket& socket, int& seen) -> Task<> {
        while (auto message = co_await socket.receive()) {
            EXPECT_EQ(message->text(), std::to_string(seen));
            ++seen;
        }
    }(*socket_, count));
    constexpr int all = 2 * WebSocketState::held_bytes_max / WebSocketState::message_cost;
    for (int i = 0; i < all; ++i) {
        peer->say(client_frame(Opcode::text, std::to_string(i)));
        world_.settle();
    }
    EXPECT_EQ(count, all);
    peer->close();
    world_.settle();
}

// Some are taken while others wait and more arrive: none is lost, and the order stays.
TEST_F(SocketOfATask, ReceivesInOrderWhatArrivesBetween) {
    auto peer = open();
    int next = 0;
    const auto say = [&](int count) {
        std::string frames;
        for (const int end = next + count; next < end; ++next) {
            frames += client_frame(Opcode::text, std::to_string(next));
        }
        peer->say(frames);
        world_.settle();
    };
    const auto receive = [&](int count) {
        runner_.spawn([](WebSocket& socket, std::string& said, int left) -> Task<> {
            for (; left > 0; --left) {
                const auto message = co_await socket.receive();
                said += message ? message->text() + ' ' : "end ";
            }
        }(*socket_, said_, count));
        world_.settle();
    };
    say(5);
    receive(4);
    say(3);
    receive(2);
    say(4);
    receive(6);
    EXPECT_EQ(said_, "0 1 2 3 4 5 6 7 8 9 10 11 ");
}

using SocketOfATaskDeathTest = SocketOfATask;

// Also where the send would only fail: the other thread has no business with the socket.
TEST_F(SocketOfATaskDeathTest, IsOfOneLoop) {
    auto peer = open();
    socket_->close();
    const auto on_another_loop = [this](auto&& use) {
        const auto started = world_.loop().post(
            [this, use] { std::thread([this, use] { task::run(use(*socket_)); }).join(); });
        ASSERT_TRUE(started);
        world_.settle();
    };
    const auto send = [](WebSocket& socket) -> Task<> { co_await socket.send("x"); };
    const auto receive = [](WebSocket& socket) -> Task<> { co_await socket.receive(); };
    EXPECT_DEATH(on_another_loop(send), "called on the wrong thread");
    EXPECT_DEATH(on_another_loop(receive), "called on the wrong thread");
}

}  // namespace
}  // namespace tiderace::http
