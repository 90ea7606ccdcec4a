#include "tiderace/http/stores/redis_rates.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/app.h"
#include "tiderace/db/redis/server_fixture.h"
#include "tiderace/redis.h"
#include "tiderace/testing.h"

namespace tiderace::http {
namespace {

using filter::RateLimitOptions;

class RedisRatesTest : public db::redis::RedisTest {
  protected:
    // One letter for each request: passes, waits.
    std::string take(RateStore& store, std::string key, RateLimitOptions rate, int times) {
        return run([](RateStore& of, std::string name, RateLimitOptions limit,
                      int left) -> Task<std::string> {
            std::string log;
            for (; left > 0; --left) {
                const auto wait = co_await of.take(name, limit);
                log += wait ? 'w' : 'p';
                if (wait) {
                    EXPECT_GT(*wait, Duration::zero());
                }
            }
            co_return log;
        }(store, std::move(key), rate, times));
    }
};

TEST_F(RedisRatesTest, ABurstPassesAndTheNextWaits) {
    const redis::Client redis = redis::open(server->url());
    RedisRates store(redis);
    RedisRates same(redis);
    RedisRates other(redis, "other:");
    constexpr RateLimitOptions rate{.per_minute = 1, .burst = 3};
    EXPECT_EQ(take(store, "ann", rate, 2), "pp");
    EXPECT_EQ(take(same, "ann", rate, 3), "pww") << "another program counts with it";
    EXPECT_EQ(take(store, "bob", rate, 4), "pppw") << "another key";
    EXPECT_EQ(take(other, "ann", rate, 4), "pppw") << "another limit";
    const auto wait = run(store.take("ann", rate));
    ASSERT_TRUE(wait.has_value());
    EXPECT_GT(*wait, 30s);
    EXPECT_LE(*wait, 60s);
}

TEST_F(RedisRatesTest, NoNumberIsTooLarge) {
    RedisRates store(redis::open(server->url()));
    EXPECT_EQ(take(store, "a", {.per_minute = 0, .burst = 0}, 2), "pw");
    EXPECT_EQ(take(store, "b", {.per_minute = UINT32_MAX, .burst = UINT32_MAX}, 3), "ppp");
    EXPECT_EQ(take(store, "c", {.per_minute = 1, .burst = UINT32_MAX}, 3), "ppp");
}

TEST_F(RedisRatesTest, AKeyIsAHashAndEndsByItself) {
    const redis::Client redis = redis::open(server->url());
    RedisRates store(redis, "login:");
    EXPECT_EQ(take(store, std::string(100'000, 'k'), {.per_minute = 60, .burst = 5}, 1), "p");
    const auto look = [](redis::Client from) -> Task<std::string> {
        const auto keys = co_await from.command<std::vector<std::string>>("KEYS", "*");
        const auto left = co_await from.command<std::int64_t>("PTTL", keys.at(0));
        EXPECT_GT(left, 0);
        EXPECT_LE(left, 1'000) << "its limit is whole again then";
        co_return keys[0];
    };
    const std::string name = run(look(redis));
    EXPECT_EQ(name.size(), 6U + 32U) << name;
    EXPECT_TRUE(name.starts_with("login:")) << name;
}

TEST(RedisRates, ARedisThatIsAwayLetsPassOrRefuses) {
    redis::Options options;
    options.waiting_timeout = 100ms;
    const auto redis = redis::open("unix:/nonexistent/redis.sock", options);
    App app;
    const auto limit = [&](RedisRates::WhenAway when_away) {
        return rate_limit({.per_minute = 1, .burst = 1}, by_client,
                          std::make_shared<RedisRates>(redis, "a:", when_away));
    };
    app.get<"/pass">([] { return "x"; }, limit(RedisRates::WhenAway::pass));
    app.get<"/refuse">([] { return "x"; }, limit(RedisRates::WhenAway::refuse));
    // The line: to standard error, which a test of the suite reads.
    ::testing::internal::CaptureStderr();
    {
        testing::Client client(app, {.log = log::Level::warning});
        EXPECT_EQ(client.get("/pass").status, 200);
        EXPECT_EQ(client.get("/pass").status, 200);
        EXPECT_EQ(client.get("/refuse").status, 503);
    }
    const std::string log = ::testing::internal::GetCapturedStderr();
    const std::size_t line = log.find("Redis does not answer: its rate limits let all pass");
    ASSERT_NE(line, log.npos) << log;
    EXPECT_EQ(log.find("Redis does not answer", line + 1), log.npos) << "one line a minute";
}

}  // namespace
}  // namespace tiderace::http
