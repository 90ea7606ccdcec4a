#include "tiderace/db/redis/script.h"

#include <gtest/gtest.h>

#include "tiderace/db/redis/server_fixture.h"

namespace tiderace::db::redis {
namespace {

using ScriptTest = RedisTest;

TEST_F(ScriptTest, ItsTextIsSentOnceAndAgainWhenTheServerForgotIt) {
    run([](Client redis) -> Task<> {
        const Script add("return redis.call('INCRBY', KEYS[1], ARGV[1])");
        EXPECT_EQ(add.name().size(), 40U);
        EXPECT_EQ(co_await add.run<std::int64_t>(redis, Keys("n"), 5), 5);
        EXPECT_EQ(co_await add.run<std::int64_t>(redis, Keys("n"), 5), 10);
        const auto known =
            co_await redis.command<std::vector<std::int64_t>>("SCRIPT", "EXISTS", add.name());
        EXPECT_EQ(known, std::vector<std::int64_t>{1}) << "the name is the server's";
        co_await redis.command<void>("SCRIPT", "FLUSH");
        EXPECT_EQ(co_await add.run<std::int64_t>(redis, Keys("n"), 5), 15);
    }(open(server->url())));
}

TEST_F(ScriptTest, ItsErrorIsAnError) {
    run([](Client redis) -> Task<> {
        const Script wrong("this is not Lua");
        EXPECT_NE(co_await complaint_of(wrong.run<void>(redis, Keys())), "");
        const Script fails("return redis.error_reply('MINE it is')");
        EXPECT_EQ(co_await complaint_of(fails.run<void>(redis, Keys())), "MINE it is");
    }(open(server->url())));
}

}  // namespace
}  // namespace tiderace::db::redis
