#include "tiderace/net/session.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <tuple>

#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

// A server whose sessions do what Session itself does, but for what a test scripts.
class SessionTest : public ::testing::TestWithParam<std::tuple<const char*, bool>> {
  protected:
    SessionTest() { server_.listen(world_->listen()); }

    CloseReason reason_of_end() {
        EXPECT_TRUE(world_->run_until([&] { return !sessions_.closed.empty(); }));
        return sessions_.closed.at(0);
    }

    std::unique_ptr<testing::World> world_ = testing::make_world("fake");
    testing::ScriptedSessions sessions_;
    TcpServer server_{world_->loop(), sessions_, {}};
};

TEST_F(SessionTest, EndsTheConnectionWithThePeer) {
    const auto peer = world_->connect();
    peer->finish();
    EXPECT_EQ(reason_of_end(), CloseReason::peer_finished);
}

TEST_F(SessionTest, ClosesWhenItsDeadlinePasses) {
    sessions_.on_open = [](Connection& connection) {
        connection.set_deadline(connection.loop().now() + 5s);
    };
    const auto peer = world_->connect();
    world_->settle();
    world_->advance(6s);
    EXPECT_EQ(reason_of_end(), CloseReason::deadline_expired);
}

TEST_F(SessionTest, EndsWhenTheServerDrains) {
    const auto peer = world_->connect();
    world_->settle();
    server_.drain(world_->loop().now() + 1h, [] {});
    EXPECT_EQ(reason_of_end(), CloseReason::finished);
}

// ---- exceptions ---------------------------------------------------------------------------------

constexpr const char* throwing_callbacks[] = {"data",     "drained", "peer_finished",
                                              "deadline", "drain",   "close"};

INSTANTIATE_TEST_SUITE_P(Callbacks, SessionTest,
                         ::testing::Combine(::testing::ValuesIn(throwing_callbacks),
                                            ::testing::Bool()),
                         [](const auto& each) {
                             return std::string(std::get<0>(each.param)) +
                                    (std::get<1>(each.param) ? "_bad_alloc" : "_runtime_error");
                         });

// Scripts the callback of this name to throw, on the connection `first` alone.
void throw_in(testing::ScriptedSessions& sessions, std::string_view callback, bool bad_alloc,
              ConnectionId first) {
    const auto fail = [bad_alloc, first](Connection& connection) {
        if (connection.id() != first) return;
        if (bad_alloc) throw std::bad_alloc();
        throw std::runtime_error("the session's own fault");
    };
    sessions.on_data = [callback, fail](Connection& connection, ByteView data) {
        connection.write(data);
        connection.want_drained();
        if (callback == "data") fail(connection);
        return data.size();
    };
    if (callback == "drained") sessions.on_drained = fail;
    if (callback == "peer_finished") sessions.on_peer_finished = fail;
    if (callback == "deadline") sessions.on_deadline = fail;
    if (callback == "drain") sessions.on_drain = fail;
    if (callback == "close") {
        sessions.on_close = [fail](Connection& connection, CloseReason) { fail(connection); };
    }
}

TEST_P(SessionTest, ThatThrowsEndsItsOwnConnectionOnly) {
    const auto [name, bad_alloc] = GetParam();
    const std::string_view callback = name;
    const auto peer = world_->connect();
    ASSERT_TRUE(world_->run_until([&] { return sessions_.opened == 1; }));
    sessions_.connection->set_deadline(world_->loop().now() + 5s);
    throw_in(sessions_, callback, bad_alloc, sessions_.connection->id());
    const auto other = world_->connect();
    ASSERT_TRUE(world_->run_until([&] { return sessions_.opened == 2; }));

    if (callback == "drain") {
        server_.drain(world_->loop().now() + 1h, [] {});
    } else if (callback == "deadline") {
        world_->advance(6s);
    } else {
        peer->say("hello");
        world_->settle();
        peer->finish();
    }
    const bool in_close = callback == "close";
    EXPECT_EQ(reason_of_end(), in_close ? CloseReason::peer_finished : CloseReason::session_failed);
    world_->settle();
    EXPECT_EQ(sessions_.closed.size(), 1U);
    EXPECT_EQ(server_.size(), 1U);
    other->say("still here");
    EXPECT_TRUE(world_->run_until([&] { return other->heard() == "still here"; }));
}

}  // namespace
}  // namespace tiderace::net
