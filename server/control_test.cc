#include "server/control.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>

namespace tiderace::server {
namespace {

class ControlTest : public ::testing::Test {
  protected:
    static core::Signals open_signals() {
        static constexpr std::array numbers{SIGTERM, SIGINT, SIGUSR1, SIGHUP};
        return std::move(*core::Signals::open(numbers));
    }
    void turn_until(std::size_t steps) {
        for (int turns = 0; turns < 100 && steps_.size() < steps; ++turns) loop_->turn(100ms);
    }

    std::string steps_;  // d, e and r
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    Control control_{*loop_,
                     open_signals(),
                     {.drain = [this] { steps_ += 'd'; },
                      .end_at_once = [this] { steps_ += 'e'; },
                      .look_at_files = [this] { steps_ += 'r'; }}};
};

TEST_F(ControlTest, TheFirstTermDrainsAndTheSecondEnds) {
    ::raise(SIGTERM);
    turn_until(1);
    EXPECT_EQ(steps_, "d");
    ::raise(SIGTERM);
    turn_until(2);
    EXPECT_EQ(steps_, "de");
}

TEST_F(ControlTest, IntIsAsGoodAsTerm) {
    ::raise(SIGINT);
    turn_until(1);
    ::raise(SIGTERM);
    turn_until(2);
    EXPECT_EQ(steps_, "de");
}

TEST_F(ControlTest, HangUpsDrainHoweverManyThereAre) {
    ::raise(SIGHUP);
    turn_until(1);
    ::raise(SIGHUP);
    for (int turns = 0; turns < 3; ++turns) loop_->turn(1ms);
    EXPECT_EQ(steps_, "d");
    ::raise(SIGTERM);
    turn_until(2);
    EXPECT_EQ(steps_, "de");
}

TEST_F(ControlTest, Usr1ReopensTheLogsAndIsNoReasonToStop) {
    for (std::size_t i = 1; i <= 3; ++i) {
        ::raise(SIGUSR1);
        turn_until(i);
    }
    EXPECT_EQ(steps_, "rrr");
    ::raise(SIGTERM);
    turn_until(4);
    ::raise(SIGUSR1);  // also while it drains
    turn_until(5);
    EXPECT_EQ(steps_, "rrrdr");
}

TEST_F(ControlTest, SignalsOfOneTurnAreAllSeen) {
    ::raise(SIGINT);
    ::raise(SIGTERM);
    ::raise(SIGUSR1);
    turn_until(3);
    EXPECT_EQ(std::count(steps_.begin(), steps_.end(), 'r'), 1);
    EXPECT_LT(steps_.find('d'), steps_.find('e'));
}

}  // namespace
}  // namespace tiderace::server
