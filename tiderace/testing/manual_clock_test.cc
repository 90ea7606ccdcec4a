#include "tiderace/testing/manual_clock.h"

#include <gtest/gtest.h>

namespace tiderace::testing {
namespace {

TEST(ManualClock, StandsStillUntilItIsMoved) {
    ManualClock clock;
    const Instant began = clock.now();
    const UnixSeconds date = clock.unix_now();
    EXPECT_EQ(clock.now(), began);
    clock.advance(90s);
    EXPECT_EQ(clock.now(), began + 90s);
    EXPECT_EQ(clock.unix_now(), date + 90);
}

TEST(ManualClock, TheCalendarJumpsAlone) {
    ManualClock clock;
    const Instant began = clock.now();
    clock.set_unix(5);
    EXPECT_EQ(clock.unix_now(), 5);
    EXPECT_EQ(clock.now(), began);
}

}  // namespace
}  // namespace tiderace::testing
