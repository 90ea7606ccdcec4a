#include "tiderace/testing/fake/wait.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tiderace::testing {
namespace {

struct FakeWaitTest : ::testing::Test {
    ManualClock clock;
    FakeNetwork network{clock, {}};
    FakeWait waiting{network};
    const Instant began = clock.now();
    int ready = 0;
    int looks = 0;

    int wait(Duration longest) {
        return waiting.until(longest, [this] { return ++looks, ready; });
    }
};

TEST_F(FakeWaitTest, WhatIsReadyTakesNoTime) {
    ready = 3;
    EXPECT_EQ(wait(1h), 3);
    EXPECT_EQ(clock.now(), began);
}

TEST_F(FakeWaitTest, AnEventMovesTheClockAndEndsTheWait) {
    network.at(began + 5s, [this] { ready = 1; });
    EXPECT_EQ(wait(3s), 0);
    EXPECT_EQ(clock.now() - began, 3s);
    EXPECT_EQ(wait(1h), 1);
    EXPECT_EQ(clock.now() - began, 5s);
}

TEST_F(FakeWaitTest, SaysWhenNothingWillEverHappen) {
    EXPECT_EQ(wait(Duration(-1)), 0);
    EXPECT_TRUE(waiting.nothing_to_come());
    waiting.wake();
    EXPECT_EQ(wait(Duration(-1)), 0);
    EXPECT_FALSE(waiting.nothing_to_come());
}

TEST_F(FakeWaitTest, IsInterruptedBeforeItLooks) {
    network.plan().interrupted = FaultPlan::always;
    EXPECT_EQ(wait(1s), -EINTR);
    EXPECT_EQ(looks, 0);
}

}  // namespace
}  // namespace tiderace::testing
