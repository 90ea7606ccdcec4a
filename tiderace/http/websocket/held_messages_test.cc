#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/websocket/accept.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/http/websocket/socket_state.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using Opcode = wire::WebSocketOpcode;
using testing::client_frame;

class HeldMessagesTest : public ::testing::Test {
  protected:
    static WebSocketOptions options() {
        WebSocketOptions options;
        options.message_bytes_max = 20'000;
        options.waiting_bytes_max = 200'000;
        return options;
    }
    // The beginning of a message.
    std::unique_ptr<testing::Peer> begin(std::size_t bytes) {
        auto peer = stage.open();
        peer->say(client_frame(Opcode::text, std::string(bytes, 'x'), {.final = false}));
        world.settle();
        return peer;
    }
    std::string finish(testing::Peer& peer) {
        peer.say(client_frame(Opcode::continuation, "y"));
        world.settle();
        return stage.heard(peer);
    }
    std::size_t held() { return stage.service().waiting()->bytes(); }

    testing::FakeWorld world;
    testing::WebSocketStage stage{world, options()};
};

TEST_F(HeldMessagesTest, ThoseThatHoldTheMostMakeRoomTheOldestFirst) {
    const auto small = begin(10);
    std::vector<std::unique_ptr<testing::Peer>> slow;
    for (int i = 0; i < 14; ++i) slow.push_back(begin(15'000));
    EXPECT_LE(held(), 200'000U);
    for (std::size_t i = 0; i < slow.size(); ++i) {
        const std::string heard = finish(*slow[i]);
        EXPECT_EQ(heard, i < 2 ? "close(1008 too much of unreceived messages is held)"
                               : "text(15001 bytes)")
            << i;
    }
    EXPECT_EQ(finish(*small), "text(xxxxxxxxxxy)");
    EXPECT_EQ(held(), 0U);
    EXPECT_EQ(stage.service().counters().overflowed, 2U);
}

TEST_F(HeldMessagesTest, SocketsThatEndHoldNothing) {
    for (int i = 0; i < 20; ++i) {
        const auto gone = begin(15'000);
        EXPECT_EQ(held(), 15'000U);
        i % 2 == 0 ? gone->reset() : gone->close();
        world.settle();
        EXPECT_EQ(held(), 0U);
    }
    const auto faulty = begin(15'000);
    faulty->say(client_frame(Opcode::text, "another"));
    world.settle();
    EXPECT_EQ(held(), 0U);
    const auto closes = begin(15'000);
    stage.sockets().back()->close();
    EXPECT_EQ(held(), 0U);
}

TEST_F(HeldMessagesTest, OneThatHasEndedItsSideIsCutOff) {
    const auto finishing = begin(15'000);
    stage.sockets().back()->connection().finish();
    std::vector<std::unique_ptr<testing::Peer>> others;
    for (int i = 0; i < 13; ++i) others.push_back(begin(15'000));
    world.settle();
    EXPECT_LE(held(), 200'000U);
    EXPECT_EQ(stage.heard(*finishing), "");
}

// Tasks that are busy: they receive nothing until the test does it for them.
class BusyTasksTest : public HeldMessagesTest {
  protected:
    ~BusyTasksTest() override {
        for (WebSocketState* state : states) state->disown();
        world.settle();
    }
    void open(std::size_t count) {
        service.emplace(world.loop(), options());
        site.on("/ws", [this](Exchange& exchange) {
            states.push_back(new WebSocketState);
            accept_websocket(exchange, *service, *states.back());
        });
        for (std::size_t i = 0; i < count; ++i) {
            peers.push_back(site.connect());
            peers.back()->say(testing::WebSocketStage::request());
            world.settle();
        }
    }
    void say(std::size_t peer, std::size_t messages, std::size_t bytes) {
        std::string all;
        for (std::size_t i = 0; i < messages; ++i) {
            all += client_frame(Opcode::text, std::string(bytes, 'x'));
        }
        peers[peer]->say(all);
        world.settle();
    }
    std::string heard(std::size_t peer) { return testing::WebSocketStage::heard(*peers[peer]); }

    std::optional<WebSocketService> service;
    testing::H1Stage site{world};
    std::vector<WebSocketState*> states;
    std::vector<std::unique_ptr<testing::Peer>> peers;
};

TEST_F(BusyTasksTest, HoldNoMoreThanTheBoundOfAll) {
    open(30);
    for (std::size_t i = 0; i < states.size(); ++i) {
        say(i, 10, 15'000);
        EXPECT_LE(service->waiting()->bytes(), 200'000U) << i;
    }
    std::size_t refused = 0;
    for (std::size_t i = 0; i < states.size(); ++i) {
        if (states[i]->has_news()) continue;
        ++refused;
        EXPECT_EQ(heard(i), "close(1008 too much of unreceived messages is held)") << i;
    }
    EXPECT_GT(refused, 0U);
    EXPECT_LT(refused, states.size() - 5);
    EXPECT_EQ(service->counters().overflowed, refused);
    EXPECT_FALSE(states.front()->has_news()) << "the oldest of the large goes first";
    EXPECT_TRUE(states.back()->has_news());
}

// Small messages end no socket: their peers are pushed back on before that.
TEST_F(BusyTasksTest, PushBackOnTheirPeersBeforeTheBound) {
    open(100);
    for (std::size_t i = 0; i < states.size(); ++i) say(i, 100, 500);
    EXPECT_EQ(service->counters().overflowed, 0U);
    EXPECT_LE(service->waiting()->bytes(), 200'000U);
    for (WebSocketState* state : states) EXPECT_TRUE(state->has_news());
}

// Messages that a socket leaves at its end still count, and are dropped where there is no room.
TEST_F(BusyTasksTest, HoldNoMoreWhenTheirPeersHaveLeft) {
    open(30);
    for (std::size_t i = 0; i < states.size(); ++i) {
        say(i, 1, 15'000);
        peers[i]->reset();
        world.settle();
        EXPECT_TRUE(states[i]->ended());
        EXPECT_LE(service->waiting()->bytes(), 200'000U) << i;
    }
    EXPECT_GE(service->waiting()->bytes(), 100'000U);
    for (WebSocketState* state : states) EXPECT_TRUE(state->has_news()) << "a message or the end";
    for (WebSocketState* state : std::exchange(states, {})) state->disown();
    EXPECT_EQ(service->waiting()->bytes(), 0U);
}

}  // namespace
}  // namespace tiderace::http
