#include "tiderace/log/rate_limited.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace tiderace::log {
namespace {

TEST(RateLimited, LogsTheFirstEventAtOnce) {
    RateLimited limited;
    EXPECT_EQ(limited.ask(0), 0U);
}

TEST(RateLimited, LogsOneEventASecondAndCountsTheRest) {
    RateLimited limited;
    EXPECT_EQ(limited.ask(10'000), 0U);
    EXPECT_EQ(limited.ask(10'000), std::nullopt);
    EXPECT_EQ(limited.ask(10'999), std::nullopt);
    EXPECT_EQ(limited.ask(11'000), 2U);
    EXPECT_EQ(limited.ask(11'001), std::nullopt);
    EXPECT_EQ(limited.ask(12'000), 1U);
    EXPECT_EQ(limited.ask(13'000), 0U);
}

TEST(RateLimited, GoesOnWhenTheClockIsSetBack) {
    RateLimited limited;
    EXPECT_EQ(limited.ask(10'000), 0U);
    EXPECT_EQ(limited.ask(9'000), 0U);
    EXPECT_EQ(limited.ask(9'500), std::nullopt);
}

TEST(RateLimited, AClockThatIsALittleBehindAnotherIsNotSetBack) {
    RateLimited limited;
    EXPECT_EQ(limited.ask(10'000), 0U);
    EXPECT_EQ(limited.ask(9'999), std::nullopt);
    EXPECT_EQ(limited.ask(9'001), std::nullopt);
    EXPECT_EQ(limited.ask(9'000), 2U);
}

TEST(RateLimited, OfThreadsThatAskAtOnceOneLogs) {
    constexpr std::int64_t seconds = 1'000;
    constexpr std::size_t count = 4;
    RateLimited limited;
    std::barrier together(count);
    std::atomic<std::uint64_t> logged = 0;
    std::atomic<std::uint64_t> left_out = 0;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&] {
            for (std::int64_t second = 1; second <= seconds; ++second) {
                together.arrive_and_wait();
                if (const auto before = limited.ask(second * 1'000)) {
                    ++logged;
                    left_out += *before;
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(logged, static_cast<std::uint64_t>(seconds));
    const auto rest = limited.ask((seconds + 1) * 1'000);
    ASSERT_TRUE(rest);
    EXPECT_EQ(left_out + *rest, seconds * (count - 1)) << "each that was left out is counted once";
}

}  // namespace
}  // namespace tiderace::log
