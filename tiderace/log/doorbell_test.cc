#include "tiderace/log/doorbell.h"

#include <gtest/gtest.h>

#include <thread>

namespace tiderace::log {
namespace {

TEST(Doorbell, RingingIsRememberedOnce) {
    Doorbell bell;
    ASSERT_TRUE(bell.open());
    bell.ring();
    bell.ring();
    EXPECT_TRUE(bell.sleep_for(1h));
    EXPECT_FALSE(bell.sleep_for(1ns));
    EXPECT_EQ(bell.wakeups(), 2U);
}

TEST(Doorbell, DoesNotSleepWhenThereIsSomethingToDo) {
    Doorbell bell;
    ASSERT_TRUE(bell.open());
    bell.sleep_until_rung([] { return true; });
    EXPECT_EQ(bell.wakeups(), 0U);
    EXPECT_FALSE(bell.idle());
}

TEST(Doorbell, RingIfIdleLeavesAnAwakeWriterAlone) {
    Doorbell bell;
    ASSERT_TRUE(bell.open());
    bell.ring_if_idle();
    EXPECT_FALSE(bell.sleep_for(1ns));
}

TEST(Doorbell, RingIfIdleBetweenSayingIdleAndSleepingIsNotLost) {
    Doorbell bell;
    ASSERT_TRUE(bell.open());
    bell.sleep_until_rung([&] {
        EXPECT_TRUE(bell.idle());
        bell.ring_if_idle();
        return false;
    });
    EXPECT_EQ(bell.wakeups(), 1U);
}

TEST(Doorbell, NoPublicationIsSleptThrough) {
    // The game of the rings: publish a number, ring if idle; sleep only when none is new.
    constexpr int last = 20'000;
    Doorbell bell;
    ASSERT_TRUE(bell.open());
    std::atomic<int> published = 0;
    std::thread producer([&] {
        for (int i = 1; i <= last; ++i) {
            published.store(i, std::memory_order_release);
            bell.ring_if_idle();
        }
    });
    for (int seen = 0; seen != last; seen = published.load(std::memory_order_acquire)) {
        bell.sleep_until_rung([&] { return published.load(std::memory_order_relaxed) != seen; });
    }
    producer.join();
    EXPECT_FALSE(bell.idle());
}

TEST(Doorbell, RingingBeforeItIsOpenIsHarmless) {
    Doorbell bell;
    bell.ring();
    bell.ring_if_idle();
    ASSERT_TRUE(bell.open());
    EXPECT_FALSE(bell.sleep_for(1ns));
}

}  // namespace
}  // namespace tiderace::log
