#include "tiderace/task/backoff.h"

#include <gtest/gtest.h>

#include <set>

namespace tiderace::task {
namespace {

TEST(Backoff, DoublesFromTheFirstToTheLongestAndBeginsAgainAfterASuccess) {
    Backoff backoff(100ms, 350ms);
    for (int round = 0; round < 2; ++round) {
        for (const Duration middle : {100ms, 200ms, 350ms, 350ms}) {
            const Duration pause = backoff.next();
            EXPECT_GE(pause, middle * 3 / 4);
            EXPECT_LE(pause, middle * 5 / 4);
        }
        backoff.reset();
    }
}

TEST(Backoff, AFirstPauseAboveTheLongestIsKept) {
    Backoff backoff(1min, 5s);
    for (int i = 0; i < 3; ++i) EXPECT_GE(backoff.next(), 45s);
}

TEST(Backoff, TwoOfThemDoNotPauseForTheSameTime) {
    std::set<Duration> pauses;
    for (int i = 0; i < 8; ++i) pauses.insert(Backoff(1s, 1s).next());
    EXPECT_GT(pauses.size(), 4U);
}

TEST(Backoff, NeverStaysNever) {
    Random random(1);
    EXPECT_GT(spread(Duration::max(), random), Duration::max() / 2);
    for (const Duration first : {Duration(Duration::max() / 3), Duration::max()}) {
        Backoff backoff(first, Duration::max());
        for (int i = 0; i < 4; ++i) EXPECT_GE(backoff.next(), first / 4 * 3) << i;
    }
}

TEST(Backoff, ZeroStaysNearZero) {
    Random random(1);
    EXPECT_LE(spread(0ms, random), 1ms);
}

}  // namespace
}  // namespace tiderace::task
