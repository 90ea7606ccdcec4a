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

// Its time would pass what a cell can hold, and begin anew: no request would ever be refused.
TEST(RateTable, AnEndlessBurstEnds) {
    RateTable table({.per_minute = 1, .burst = 4'000'000'000});
    int passed = 0;
    while (passed < 5'000'000 && !table.take("a", start)) ++passed;
    EXPECT_LT(passed, 5'000'000);
    EXPECT_GT(passed, 2'000'000) << "four years of its rate";
    EXPECT_TRUE(table.take("a", start));
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

// A newcomer takes over the one of its key's four cells that is the nearest to being empty.
TEST(RateTable, AFloodOfOthersDoesNotFreeAClientAboveItsLimit) {
    RateTable table({.per_minute = 60, .burst = 3});
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(table.take("loud", start)) << i;
    for (int i = 0; i < 300'000; ++i) table.take("client " + std::to_string(i), start);
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
    EXPECT_EQ(refused.header("Retry-After"), "60");
}

// The limit, for requests of one address after the other.
struct OfPeer final : AccessRule {
    Verdict check(Exchange& exchange) override {
        exchange.set_client(*core::Address::parse(peer), false);
        return limit.check(exchange);
    }
    RateLimit limit{std::make_shared<RateTable>(RateLimitOptions{.per_minute = 1, .burst = 1})};
    std::string peer;
};

TEST_F(RateLimitTest, ASubscriberOfIpv6IsA64AndOfIpv4AnAddress) {
    OfPeer rule;
    const auto status = [&](std::string peer) {
        rule.peer = std::move(peer);
        return ask(rule, "GET").status();
    };
    // A run of zeros, and none, in the first half or in the second.
    EXPECT_EQ(status("[2001:db8::a:1:1:1]:1"), 200);
    EXPECT_EQ(status("[2001:db8::b:1:1:1]:2"), 429);
    EXPECT_EQ(status("[2001:db8::1]:3"), 429);
    EXPECT_EQ(status("[2001:db8:0:0:ffff:ffff:ffff:ffff]:4"), 429);
    EXPECT_EQ(status("[2001:db8:0:1::1]:1"), 200) << "another /64";
    EXPECT_EQ(status("[2001:db8:1:2:3:4:5:6]:1"), 200);
    EXPECT_EQ(status("[2001:db8:1:2::]:1"), 429);
    EXPECT_EQ(status("[::1]:1"), 200);
    EXPECT_EQ(status("192.0.2.1:1"), 200);
    EXPECT_EQ(status("192.0.2.2:1"), 200) << "another address";
    EXPECT_EQ(status("192.0.2.1:2"), 429);
    EXPECT_EQ(status("[::ffff:192.0.2.1]:1"), 429) << "of a socket for both families";
    EXPECT_EQ(status("[::ffff:192.0.2.3]:1"), 200);
}

}  // namespace
}  // namespace tiderace::http::filter
