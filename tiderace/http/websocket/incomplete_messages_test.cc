#include "tiderace/http/websocket/incomplete_messages.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/websocket/connection.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using Opcode = wire::WebSocketOpcode;
using testing::client_frame;

class IncompleteMessagesTest : public ::testing::Test {
  protected:
    static WebSocketOptions options() {
        WebSocketOptions options;
        options.message_bytes_max = 20'000;
        options.incomplete_bytes_max = 100'000;
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
    std::size_t held() { return stage.service().incomplete().bytes(); }

    testing::FakeWorld world;
    testing::WebSocketStage stage{world, options()};
};

TEST_F(IncompleteMessagesTest, ThoseThatHoldTheMostMakeRoomTheOldestFirst) {
    const auto small = begin(10);
    std::vector<std::unique_ptr<testing::Peer>> slow;
    for (int i = 0; i < 8; ++i) slow.push_back(begin(15'000));
    EXPECT_LE(held(), 100'000U);
    for (std::size_t i = 0; i < slow.size(); ++i) {
        const std::string heard = finish(*slow[i]);
        EXPECT_EQ(heard, i < 2 ? "close(1008 too much of unfinished messages is held)"
                               : "text(15001 bytes)")
            << i;
    }
    EXPECT_EQ(finish(*small), "text(xxxxxxxxxxy)");
    EXPECT_EQ(held(), 0U);
    EXPECT_EQ(stage.service().counters().overflowed, 2U);
}

TEST_F(IncompleteMessagesTest, SocketsThatEndHoldNothing) {
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

TEST_F(IncompleteMessagesTest, OneThatHasEndedItsSideIsCutOff) {
    const auto finishing = begin(15'000);
    stage.sockets().back()->connection().finish();
    std::vector<std::unique_ptr<testing::Peer>> others;
    for (int i = 0; i < 7; ++i) others.push_back(begin(15'000));
    world.settle();
    EXPECT_LE(held(), 100'000U);
    EXPECT_EQ(stage.heard(*finishing), "");
}

}  // namespace
}  // namespace tiderace::http
