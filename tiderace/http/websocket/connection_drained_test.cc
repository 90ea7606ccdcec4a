// A socket's queue decides when there is room again, and when the peer is read; and what a
// window saves it.
#include <gtest/gtest.h>

#include <string>
#include <utility>

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

// The content of the window need not be sent again.
TEST(WebSocketWindow, SendsLessOfWhatItsWindowHasSeen) {
    testing::FakeWorld world;
    WebSocketOptions options;
    options.deflate = {.server_context_takeover = true, .client_context_takeover = true};
    testing::WebSocketStage stage(world, options);
    auto peer = stage.open("Sec-WebSocket-Extensions: permessage-deflate\r\n");
    std::string noise;
    for (std::uint32_t i = 0, x = 1; i < 1'000; ++i) {
        x = x * 1'664'525 + 1'013'904'223;
        noise += static_cast<char>('0' + (x >> 24U) % 64);
    }
    std::size_t heard = peer->heard().size();
    const auto echo_bytes = [&] {
        peer->say(testing::client_frame(wire::WebSocketOpcode::text, noise));
        world.settle();
        return peer->heard().size() - std::exchange(heard, peer->heard().size());
    };
    const std::size_t first = echo_bytes();
    EXPECT_GT(first, 500U);
    EXPECT_LT(echo_bytes(), 100U);
    EXPECT_LT(echo_bytes(), 100U);
}

// At the mark of its queue it still reads.
TEST(WebSocketMarks, ReadsUpToTheMarkOfItsQueueAndNoFurther) {
    for (const std::size_t over : {0U, 1U}) {
        SCOPED_TRACE(over);
        testing::FakeWorld world;
        testing::WebSocketStage stage(world);
        auto peer = stage.open();
        peer->set_listening(false);
        WebSocketConnection& socket = *stage.sockets()[0];
        net::Connection& connection = socket.connection();
        while (connection.queue_bytes() == 0) {  // until the peer's buffers are full
            socket.send(WebSocketKind::binary, std::string(10'000, 'x'));
            world.settle();
        }
        const std::uint64_t mark = connection.limits().queue_bytes_high;
        const std::string rest(mark + over - connection.queue_bytes(), 'x');
        connection.queue().append(connection.blocks(), rest);
        ASSERT_EQ(connection.queue_bytes(), mark + over);
        const std::uint64_t before = stage.service().counters().messages_in;
        const std::string frame = testing::client_frame(wire::WebSocketOpcode::pong, "") +
                                  testing::client_frame(wire::WebSocketOpcode::text, "x");
        net::Session& session = socket;
        EXPECT_EQ(session.on_data(connection, frame), over == 0 ? frame.size() : 0U);
        EXPECT_EQ(stage.service().counters().messages_in - before, over == 0 ? 1U : 0U);
        peer->reset();
        world.settle();
    }
}

}  // namespace
}  // namespace tiderace::http
