// The one deadline that a Session has, on every engine.
#include <gtest/gtest.h>

#include <optional>

#include "tiderace/net/connection.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

class EveryDeadline : public ::testing::TestWithParam<std::string> {
  protected:
    void start() {
        server_.emplace(world_->loop(), sessions_, TcpServerOptions{});
        server_->listen(world_->listen());
        peer_ = world_->connect();
        ASSERT_TRUE(world_->run_until([&] { return sessions_.opened == 1; }));
    }

    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    testing::ScriptedSessions sessions_;
    std::optional<TcpServer> server_;
    std::unique_ptr<testing::Peer> peer_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryDeadline, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryDeadline, ARefreshedDeadlineFiresOnceAtItsLatestTime) {
    sessions_.on_deadline = [](Connection&) {};
    start();
    const Instant began = world_->loop().now();
    sessions_.connection->set_deadline(began + 1s);
    sessions_.connection->set_deadline(began + 10s);
    world_->advance(9s);
    EXPECT_EQ(sessions_.deadlines, 0);
    world_->advance(2s);
    EXPECT_EQ(sessions_.deadlines, 1);
    world_->advance(60s);
    EXPECT_EQ(sessions_.deadlines, 1);
}

TEST_P(EveryDeadline, ADeadlineThatComesNearerFiresEarlier) {
    sessions_.on_deadline = [](Connection&) {};
    start();
    const Instant began = world_->loop().now();
    sessions_.connection->set_deadline(began + 60s);
    sessions_.connection->set_deadline(began + 1s);
    world_->advance(2s);
    EXPECT_EQ(sessions_.deadlines, 1);
}

TEST_P(EveryDeadline, ADeadlineThatIsTakenBackNeverFires) {
    start();
    sessions_.connection->set_deadline(world_->loop().now() + 1s);
    sessions_.connection->set_deadline(Instant::max());
    world_->advance(60s);
    EXPECT_EQ(sessions_.deadlines, 0);
    EXPECT_TRUE(sessions_.closed.empty());
}

TEST_P(EveryDeadline, ADeadlineRefreshedInItsOwnCallbackComesAgain) {
    sessions_.on_deadline = [](Connection& connection) {
        connection.set_deadline(connection.loop().now() + 1s);
    };
    start();
    sessions_.connection->set_deadline(world_->loop().now() + 1s);
    world_->advance(3500ms);
    EXPECT_EQ(sessions_.deadlines, 3);
}

// The process was stopped, and an answer that is longer than one receive arrived meanwhile.
TEST_P(EveryDeadline, WhatArrivedDuringAStopIsReadBeforeItHoweverMuch) {
    std::size_t read_before = 0;
    sessions_.on_deadline = [&](Connection&) { read_before = sessions_.received.size(); };
    start();
    sessions_.connection->set_deadline(world_->loop().now() + 5s);
    const std::string answer(300'000, 'a');
    peer_->say(answer);
    world_->clock().advance(10s);
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deadlines == 1; }));
    EXPECT_EQ(read_before, answer.size());
}

}  // namespace
}  // namespace tiderace::net
