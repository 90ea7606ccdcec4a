// When a socket that a sender waited for reports that there is room again.
#include <gtest/gtest.h>

#include "tiderace/http/websocket/connection.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

TEST(WebSocketDrained, IsToldOnceForEachHigh) {
    testing::FakeWorld world;
    WebSocketOptions options;
    options.slow_receiver = SlowReceiver::wait;
    testing::WebSocketStage stage(world, options);
    const auto peer = stage.open();
    WebSocketConnection& socket = *stage.sockets()[0];
    EXPECT_EQ(stage.told(), "open");
    const std::string message(100'000, 'x');
    for (int round = 0; round < 2; ++round) {
        peer->set_listening(false);
        while (socket.send_binary(message) == WebSocketSend::sent) world.settle();
        peer->set_listening(true);
        world.settle();
        EXPECT_EQ(stage.told(), "drained");
        // The connection was behind and caught up, and no send has heard of it.
        peer->set_listening(false);
        while (socket.connection().write(message) == net::Backlog::low) world.settle();
        peer->set_listening(true);
        world.settle();
        EXPECT_EQ(stage.told(), "");
    }
}

}  // namespace
}  // namespace tiderace::http
