#include "tiderace/testing/echo_session.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {
namespace {

TEST(EchoSessions, EchoAndCount) {
    FakeWorld world;
    EchoSessions sessions;
    net::TcpServer server(world.loop(), sessions, {});
    server.listen(world.listen());
    const auto peer = world.connect();
    peer->say("hello");
    peer->finish();
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    EXPECT_EQ(peer->heard(), "hello");
    EXPECT_EQ(sessions.opened, 1U);
    EXPECT_EQ(sessions.closed, 1U);
    EXPECT_EQ(sessions.bytes, 5U);
    EXPECT_EQ(sessions.reasons[net::CloseReason::peer_finished], 1U);
}

}  // namespace
}  // namespace tiderace::testing
