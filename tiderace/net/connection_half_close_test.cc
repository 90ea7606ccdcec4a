// Half-close: our direction ends, the peer's goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

class EveryHalfClose : public ::testing::TestWithParam<std::string> {
  protected:
    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    testing::ScriptedSessions sessions_;
    TcpServer server_{world_->loop(), sessions_, {}};
};
INSTANTIATE_TEST_SUITE_P(Engines, EveryHalfClose, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryHalfClose, ThePeerGoesOnAfterOurEnd) {
    server_.listen(world_->listen());
    sessions_.on_open = [](Connection& connection) {
        connection.write("all I have");
        connection.finish_sending();
        connection.finish_sending();
    };
    const auto peer = world_->connect();
    ASSERT_TRUE(world_->run_until([&] { return peer->ended(); }));
    EXPECT_EQ(peer->heard(), "all I have");
    peer->say("more ");
    peer->say("of mine");
    EXPECT_TRUE(world_->run_until([&] { return sessions_.received == "more of mine"; }));
    EXPECT_TRUE(sessions_.closed.empty());
    peer->finish();
    EXPECT_TRUE(world_->run_until([&] { return sessions_.closed.size() == 1; }));
    EXPECT_EQ(sessions_.closed[0], CloseReason::peer_finished);
    EXPECT_FALSE(peer->was_reset());
}

TEST(HalfClose, OurEndIsSentOnce) {
    testing::FakeWorld world;
    world.network().trace_on();
    testing::ScriptedSessions sessions;
    TcpServer server(world.loop(), sessions, {});
    server.listen(world.listen());
    const auto peer = world.connect();
    ASSERT_TRUE(world.run_until([&] { return sessions.opened == 1; }));
    for (int turn = 0; turn < 2; ++turn) {
        sessions.connection->finish_sending();
        world.settle();
        peer->say("the peer goes on");
        world.settle();
    }
    sessions.connection->finish();  // which lingers: the peer may still send
    world.settle();
    EXPECT_TRUE(peer->ended());
    EXPECT_TRUE(sessions.closed.empty());
    EXPECT_EQ(std::ranges::count_if(world.network().trace(),
                                    [](const std::string& call) {
                                        return call.find(" shut_down(") != std::string::npos;
                                    }),
              1);
}

TEST_P(EveryHalfClose, WhatWasQueuedLeavesBeforeIt) {
    server_.listen(world_->listen());
    const std::string much(1'000'000, 'x');
    sessions_.on_open = [&](Connection& connection) {
        connection.write(much);
        connection.finish_sending();
    };
    const auto peer = world_->connect();
    peer->set_listening(false);
    world_->settle();
    EXPECT_FALSE(peer->ended());
    peer->set_listening(true);
    ASSERT_TRUE(world_->run_until([&] { return peer->ended(); }));
    EXPECT_EQ(peer->heard().size(), much.size());
    sessions_.connection->finish();
    peer->finish();
    EXPECT_TRUE(world_->run_until([&] { return sessions_.closed.size() == 1; }));
}

TEST_P(EveryHalfClose, WhatThePeerSentBeforeItsEndIsReadHoweverLate) {
    server_.listen(world_->listen());
    const std::string much(100'000, 'x');
    sessions_.on_open = [](Connection& connection) {
        connection.finish_sending();
        connection.set_reading(false);
    };
    const auto peer = world_->connect();
    ASSERT_TRUE(world_->run_until([&] { return peer->ended(); }));
    peer->say(much);
    peer->finish();
    world_->settle();
    world_->advance(1s);
    ASSERT_TRUE(sessions_.closed.empty()) << "two ends in order are no reset";
    sessions_.connection->set_reading(true);
    EXPECT_TRUE(world_->run_until([&] { return sessions_.closed.size() == 1; }));
    EXPECT_EQ(sessions_.received.size(), much.size());
    EXPECT_EQ(sessions_.closed[0], CloseReason::peer_finished);
}

TEST_P(EveryHalfClose, TunesItsSocket) {
    server_.listen(world_->listen());
    bool tuned = false;
    sessions_.on_open = [&](Connection& connection) {
        tuned = connection.tune({.no_delay = false,
                                 .keep_alive = 60s,
                                 .send_buffer_bytes = 64_KiB,
                                 .receive_buffer_bytes = 64_KiB});
    };
    const auto peer = world_->connect();
    EXPECT_TRUE(world_->run_until([&] { return sessions_.opened == 1; }));
    EXPECT_TRUE(tuned);
}

}  // namespace
}  // namespace tiderace::net
