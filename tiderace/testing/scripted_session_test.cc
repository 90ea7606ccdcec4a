#include "tiderace/testing/scripted_session.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {
namespace {

TEST(ScriptedSessions, FollowTheirScriptAndRecordEvents) {
    FakeWorld world;
    ScriptedSessions sessions;
    std::string order;
    sessions.on_open = [&](net::Connection&) { order += "open "; };
    sessions.on_data = [&](net::Connection&, ByteView data) {
        order += "data ";
        return data.size() - 1;
    };
    sessions.on_close = [&](net::Connection&, net::CloseReason) { order += "close"; };
    net::TcpServer server(world.loop(), sessions, {});
    server.listen(world.listen());
    const auto peer = world.connect();
    peer->say("abc");
    ASSERT_TRUE(world.run_until([&] { return !sessions.deliveries.empty(); }));
    EXPECT_NE(sessions.connection, nullptr);
    peer->finish();
    ASSERT_TRUE(world.run_until([&] { return !sessions.closed.empty(); }));
    EXPECT_EQ(order, "open data data close");
    EXPECT_EQ(sessions.deliveries, (std::vector<std::string>{"abc", "c"}));
    EXPECT_EQ(sessions.received, "ab");
    EXPECT_EQ(sessions.peer_finished, 1);
    EXPECT_EQ(sessions.connection, nullptr);
}

}  // namespace
}  // namespace tiderace::testing
