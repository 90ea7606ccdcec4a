#include "tiderace/redis.h"

// The example of the header, which includes what it needs.
#include "redis_example.h"

#include <gtest/gtest.h>

#include "tiderace/db/redis/server_fixture.h"

namespace tiderace::db::redis {
namespace {

TEST(Redis, TheExampleOfTheHeaderRuns) {
    if (!RedisServer::missing().empty()) GTEST_SKIP() << RedisServer::missing();
    const RedisServer server;
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await visit(redis, "home"), 1);
        EXPECT_EQ(co_await visit(redis, "home"), 2);
        EXPECT_FALSE(co_await take_one(redis, "item"));
        co_await redis.set("item", "1");
        EXPECT_TRUE(co_await take_one(redis, "item"));
        EXPECT_EQ(co_await redis.get("item"), "0");
    }(open(server.url())));
}

}  // namespace
}  // namespace tiderace::db::redis
