#include "tiderace/testing/world.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tiderace/testing/echo_session.h"
#include "tiderace/testing/engine.h"

namespace tiderace::testing {
namespace {

class EveryWorld : public ::testing::TestWithParam<std::string> {
  protected:
    EveryWorld() { server_.emplace(world_->loop(), sessions_, net::TcpServerOptions{}); }

    std::unique_ptr<World> world_ = make_world(GetParam());
    EchoSessions sessions_;
    std::optional<net::TcpServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, EveryWorld, ::testing::ValuesIn(world_names()),
                         [](const auto& world) { return label_of_world(world.param); });

TEST_P(EveryWorld, RunsTheEngineOfItsName) {
    const std::string name = is_io_uring(GetParam()) ? "io_uring" : GetParam();
    EXPECT_EQ(world_->loop().backend().name(), name);
}

TEST_P(EveryWorld, PeersTalkToAServer) {
    server_->listen(world_->listen());
    const auto one = world_->connect();
    const auto two = world_->connect();
    one->say("one");
    two->say("two");
    EXPECT_TRUE(world_->run_until([&] { return one->heard() == "one" && two->heard() == "two"; }));
    EXPECT_FALSE(one->over());
    one->finish();
    EXPECT_TRUE(world_->run_until([&] { return one->ended(); }));
    EXPECT_FALSE(one->was_reset());
    if (GetParam() != "io_uring-together") {
        EXPECT_GE(world_->kernel().calls(Call::send), 2U);
    }
}

TEST_P(EveryWorld, APeerThatResetsIsGone) {
    server_->listen(world_->listen());
    const auto peer = world_->connect();
    ASSERT_TRUE(world_->run_until([&] { return server_->size() == 1; }));
    peer->reset();
    ASSERT_TRUE(world_->run_until([&] { return server_->size() == 0; }));
    EXPECT_EQ(sessions_.reasons[net::CloseReason::peer_reset], 1U);
}

TEST_P(EveryWorld, APeerHearsThatItWasReset) {
    server_->listen(world_->listen());
    const auto peer = world_->connect();
    ASSERT_TRUE(world_->run_until([&] { return server_->size() == 1; }));
    peer->set_listening(false);
    peer->say("answered, but never read");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.bytes == 24; }));
    world_->settle();  // an answer that has not left would make the end a reset
    server_->abort_all();
    peer->set_listening(true);
    ASSERT_TRUE(world_->run_until([&] { return peer->over(); }));
    EXPECT_TRUE(peer->ended());  // all was read here, so the end is orderly
}

TEST_P(EveryWorld, APeerThatDoesNotListenFillsTheBuffers) {
    server_->listen(world_->listen());
    const auto peer = world_->connect();
    const std::string much(8 << 20, 'x');
    peer->set_listening(false);
    peer->say(much);
    world_->settle();
    EXPECT_EQ(peer->heard(), "");
    EXPECT_LT(sessions_.bytes, much.size());  // held back
    peer->set_listening(true);
    EXPECT_TRUE(world_->run_until([&] { return peer->heard().size() == much.size(); }));
}

TEST_P(EveryWorld, DeadlinesPassWithoutWaiting) {
    struct Once final : core::Timer {
        void on_expired() override { fired = true; }
        bool fired = false;
    } timer;
    world_->loop().arm(timer, world_->loop().now() + 1h);
    world_->advance(59min);
    EXPECT_FALSE(timer.fired);
    world_->advance(2min);
    EXPECT_TRUE(timer.fired);
}

}  // namespace
}  // namespace tiderace::testing
