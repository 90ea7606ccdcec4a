#include "tiderace/http/filter/rate_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/http/filter/filter_fixture.h"

namespace tiderace::http::filter {
namespace {

class RateLimitTest : public FilterTest {};

const Instant start = Instant(Duration(std::chrono::hours(1)));

TEST(RateTable, LetsABurstThroughAndThenOneAtATime) {
    RateTable table({.per_minute = 60, .burst = 3});
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(table.take("a", start)) << i;
    EXPECT_EQ(table.take("a", start), Duration(1s));
    EXPECT_EQ(table.take("a", start + 400ms), Duration(600ms)) << "a refused one costs nothing";
    EXPECT_FALSE(table.take("a", start + 1s));
    EXPECT_TRUE(table.take("a", start + 1s));
    EXPECT_FALSE(table.take("b", start + 1s)) << "another client";
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(table.take("a", start + 1h)) << i;
    EXPECT_TRUE(table.take("a", start + 1h));
}

TEST(RateTable, ALimitOfOneAndTheFirstRequestEver) {
    RateTable table({.per_minute = 1, .burst = 1});
    EXPECT_FALSE(table.take("a", Instant{}));
    EXPECT_EQ(table.take("a", Instant{}), Duration(60s));
    EXPECT_FALSE(table.take("a", Instant{} + 60s));
}

// More clients than it has cells: it forgets, and never refuses one that asks for the first time.
TEST(RateTable, AFloodOfClientsKeepsItsSizeAndRefusesNone) {
    RateTable table({.per_minute = 60, .burst = 2});
    for (int i = 0; i < 300'000; ++i) {
        ASSERT_FALSE(table.take("client " + std::to_string(i), start)) << i;
    }
    for (int i = 0; i < 10; ++i) table.take("loud", start);
    EXPECT_TRUE(table.take("loud", start));
}

TEST(RateTable, ThreadsShareOneLimit) {
    RateTable table({.per_minute = 1, .burst = 1'000});
    std::atomic<int> passed = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int k = 0; k < 1'000; ++k) {
                    if (!table.take("a", start)) ++passed;
                }
            });
        }
    }
    EXPECT_EQ(passed, 1'000);
}

TEST_F(RateLimitTest, ARequestAboveTheLimitGetsARetryAfter) {
    RateLimit rule(std::make_shared<RateTable>(RateLimitOptions{.per_minute = 1, .burst = 1}));
    EXPECT_EQ(ask(rule, "GET").status(), 200);
    auto& refused = ask(rule, "GET");
    EXPECT_EQ(refused.status(), 429);
    EXPECT_EQ(refused.field("Retry-After"), "60");
}

}  // namespace
}  // namespace tiderace::http::filter
