#include "tiderace/db/redis/pipeline.h"

#include <gtest/gtest.h>

#include "tiderace/db/redis/server_fixture.h"

namespace tiderace::db::redis {
namespace {

using PipelineTest = RedisTest;

TEST_F(PipelineTest, RepliesComeInTheOrderOfTheCommandsAndErrorsAreAmongThem) {
    run([](Client redis) -> Task<> {
        auto batch = redis.pipeline();
        batch.add("SET", "a", "1");
        batch.add("INCR", "a");
        batch.add("LPUSH", "a", "x");
        batch.add("GET", "a");
        EXPECT_EQ(batch.size(), 4U);
        const auto replies = co_await batch.run();
        EXPECT_EQ(replies.size(), 4U);
        EXPECT_EQ(replies[0].view().text(), "OK");
        EXPECT_EQ(replies[1].view().integer(), 2);
        EXPECT_TRUE(replies[2].view().is_error());
        EXPECT_EQ(replies[3].view().text(), "2");
        EXPECT_EQ(batch.size(), 0U);
        batch.add("PING");
        const auto again = co_await batch.run();
        EXPECT_EQ(again.size(), 1U);
        auto empty = redis.pipeline();
        const auto none = co_await empty.run();
        EXPECT_EQ(none.size(), 0U);
    }(open(server->url())));
}

TEST_F(PipelineTest, ALargeOneIsAnsweredWhole) {
    run([](Client redis) -> Task<> {
        auto batch = redis.pipeline();
        const std::string value(1'000, 'v');
        for (int i = 0; i < 5'000; ++i) batch.add("SET", std::to_string(i), value);
        for (int i = 0; i < 5'000; ++i) batch.add("GET", std::to_string(i));
        const auto replies = co_await batch.run();
        EXPECT_EQ(replies.size(), 10'000U);
        for (std::size_t i = 5'000; i < replies.size(); ++i) {
            EXPECT_EQ(replies[i].view().text(), value);
        }
    }(open(server->url())));
}

TEST_F(PipelineTest, ACancelledOneLeavesTheConnectionInOrder) {
    run([](Client redis) -> Task<> {
        co_await redis.ping();
        auto batch = redis.pipeline();
        batch.add("DEBUG", "SLEEP", "0.2");
        for (int i = 0; i < 100; ++i) batch.add("INCR", "n");
        const auto late = co_await within(20ms, batch.run());
        EXPECT_FALSE(late.has_value());
        EXPECT_EQ(batch.size(), 0U);
        EXPECT_EQ(co_await redis.get("n"), "100");
        EXPECT_EQ(redis.counters().opened, 1U);
        EXPECT_EQ(redis.counters().commands, 0U);
    }(open(server->url())));
}

TEST_F(PipelineTest, WhatWouldSpoilTheConnectionIsRefused) {
    Pipeline batch = open(server->url()).pipeline();
    EXPECT_THROW(batch.add("MULTI"), Error);
    EXPECT_THROW(batch.add("BLPOP", "l", "0"), Error);
}

}  // namespace
}  // namespace tiderace::db::redis
