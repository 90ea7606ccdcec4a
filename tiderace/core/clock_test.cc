#include "tiderace/core/clock.h"

#include <gtest/gtest.h>

#include <ctime>

#include "tiderace/testing/manual_clock.h"

namespace tiderace::core {
namespace {

using tiderace::testing::ManualClock;

TEST(SystemClock, NeverGoesBack) {
    SystemClock clock;
    Instant last = clock.now();
    for (int i = 0; i < 10'000; ++i) {
        const Instant now = clock.now();
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(SystemClock, TheCalendarIsTheMachines) {
    SystemClock clock;
    const std::time_t before = std::time(nullptr);
    const UnixSeconds now = clock.unix_now();
    // time() may lag the finer clock by a scheduler tick, so one second of slack each way.
    EXPECT_GE(now, before - 1);
    EXPECT_LE(now, std::time(nullptr) + 1);
}

TEST(Clock, SecondsAreRoundedDownOnBothSidesOf1970) {
    const struct {
        std::int64_t ns;
        UnixSeconds seconds;
    } cases[] = {
        {0, 0},
        {1, 0},
        {999'999'999, 0},
        {1'000'000'000, 1},
        {-1, -1},
        {-1'000'000'000, -1},
        {-1'000'000'001, -2},
    };
    for (const auto& [ns, seconds] : cases) {
        EXPECT_EQ(ManualClock(Instant(), ns).unix_now(), seconds) << ns << " ns";
    }
}

TEST(ManualClock, MovesOnlyOnRequest) {
    ManualClock clock;
    const Instant start = clock.now();
    const UnixSeconds date = clock.unix_now();
    EXPECT_EQ(clock.now(), start);
    clock.advance(90s);
    EXPECT_EQ(clock.now(), start + 90s);
    EXPECT_EQ(clock.unix_now(), date + 90);
    clock.set_unix(7);
    EXPECT_EQ(clock.unix_now(), 7);
    EXPECT_EQ(clock.now(), start + 90s);
}

}  // namespace
}  // namespace tiderace::core
