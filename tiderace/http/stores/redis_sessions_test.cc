#include "tiderace/http/stores/redis_sessions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/db/redis/server_fixture.h"
#include "tiderace/http/stores/session_store_fixture.h"
#include "tiderace/redis.h"

namespace tiderace::http {
namespace {

class RedisSessionsTest : public db::redis::RedisTest {};

TEST_F(RedisSessionsTest, KeepsExpiresAndEnds) {
    RedisSessions store(redis::open(server->url()));
    EXPECT_EQ(run(use_store(store)), use_log);
}

TEST_F(RedisSessionsTest, NoWriteIsLost) {
    RedisSessions store(redis::open(server->url()));
    EXPECT_EQ(run(writes_kept(store)), 20U);
}

TEST_F(RedisSessionsTest, AKeyHasThePrefixAndExpiresByItself) {
    const redis::Client redis = redis::open(server->url());
    RedisSessions store(redis, "shop:");
    const auto use = [](SessionStore& of, redis::Client at) -> Task<std::string> {
        co_await of.save("key", "x", later);
        const auto keys = co_await at.command<std::vector<std::string>>("KEYS", "*");
        std::string log = keys.at(0);
        std::int64_t left = co_await at.command<std::int64_t>("PTTL", "shop:key");
        log += left > 0 ? " ends" : " stays";
        co_await of.prolong("key", later);
        left = co_await at.command<std::int64_t>("PTTL", "shop:key");
        log += left > 0 ? " ends" : " stays";
        co_await of.replace("key", "x", "y", later);
        left = co_await at.command<std::int64_t>("PTTL", "shop:key");
        log += left > 0 ? " ends" : " stays";
        co_return log;
    };
    EXPECT_EQ(run(use(store, redis)), "shop:key ends ends ends");
}

// As after years on a machine whose clock was wrong.
TEST_F(RedisSessionsTest, EndsThatNoCalendarHas) {
    RedisSessions store(redis::open(server->url()));
    const auto use = [](SessionStore& of) -> Task<std::string> {
        co_await of.save("far", "x", INT64_MAX);
        auto found = co_await of.load("far", later);
        std::string log = found ? found->text + " " : "none ";
        co_await of.save("past", "y", -5);
        found = co_await of.load("past", now);
        log += found ? found->text : "none";
        co_return log;
    };
    EXPECT_EQ(run(use(store)), "x none");
}

TEST_F(RedisSessionsTest, AForeignValueIsNoSession) {
    const redis::Client redis = redis::open(server->url());
    RedisSessions store(redis);
    const auto use = [](SessionStore& of, redis::Client at) -> Task<std::string> {
        std::string log;
        for (const char* const text : {"", "x", "12", "12x", "x 12", " x"}) {
            co_await at.set("session:key", text);
            const auto found = co_await of.load("key", 0);
            log += found ? 'f' : 'n';
            const auto done = co_await of.replace("key", "none", "more", later);
            log += word_of(done);
        }
        co_return log;
    };
    EXPECT_EQ(run(use(store, redis)), "nCnCnCnCnCnC");
}

TEST(RedisSessions, ARedisThatIsAwayIs503AndEndsNoSession) {
    redis::Options options;
    options.waiting_timeout = 100ms;
    App app;
    add_session_routes(
        app, std::make_shared<RedisSessions>(redis::open("unix:/nonexistent/redis.sock", options)));
    expect_unavailable(app);
}

}  // namespace
}  // namespace tiderace::http
