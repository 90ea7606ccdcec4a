#include "tiderace/db/redis/transaction.h"

#include <gtest/gtest.h>

#include <optional>

#include "tiderace/db/redis/server_fixture.h"

namespace tiderace::db::redis {
namespace {

using TransactionTest = RedisTest;

TEST_F(TransactionTest, ItIsDoneAsAWhole) {
    run([](Client redis) -> Task<> {
        auto tx = co_await redis.transaction();
        tx.queue("SET", "a", "1");
        tx.queue("LPUSH", "a", "x");
        tx.queue("INCR", "a");
        EXPECT_EQ(co_await redis.get("a"), std::nullopt) << "not yet";
        const auto replies = co_await tx.exec();
        EXPECT_TRUE(replies.has_value());
        EXPECT_EQ(replies->size(), 3U);
        EXPECT_TRUE((*replies)[1].view().is_error()) << "Redis goes on behind it";
        EXPECT_EQ((*replies)[2].view().integer(), 2);
        EXPECT_EQ(co_await redis.get("a"), "2");
        const auto nothing = co_await tx.exec();
        EXPECT_EQ(nothing->size(), 0U);
    }(open(server->url())));
}

TEST_F(TransactionTest, AWatchedKeyThatChangesUndoesIt) {
    run([](Client redis) -> Task<> {
        co_await redis.set("stock", "5");
        auto tx = co_await redis.transaction();
        co_await tx.watch("stock");
        EXPECT_EQ(co_await tx.command<std::int64_t>("GET", "stock"), 5);
        co_await redis.set("stock", "3");
        tx.queue("SET", "stock", "4");
        const auto done = co_await tx.exec();
        EXPECT_FALSE(done.has_value());
        EXPECT_EQ(co_await redis.get("stock"), "3");
        tx.queue("SET", "stock", "4");
        const auto again = co_await tx.exec();
        EXPECT_TRUE(again.has_value()) << "the watch ended with the first one";
    }(open(server->url())));
}

TEST_F(TransactionTest, ACommandThatIsNoneUndoesItAndIsNamed) {
    run([](Client redis) -> Task<> {
        auto tx = co_await redis.transaction();
        tx.queue("SET", "a", "1");
        tx.queue("NOSUCH");
        EXPECT_EQ(co_await complaint_of(tx.exec()), "ERR unknown command 'NOSUCH'");
        EXPECT_EQ(co_await redis.get("a"), std::nullopt);
    }(open(server->url())));
}

TEST_F(TransactionTest, NothingIsDoneWhereTheServerRefusesMulti) {
    run([](RedisServer& real, Client redis) -> Task<> {
        co_await redis.command<void>("ACL", "SETUSER", "weak", "on", ">w", "~*", "+@all", "-multi");
        const Client weak = open(real.url() + "?user=weak&password=w");
        auto tx = co_await weak.transaction();
        tx.queue("SET", "a", "1");
        tx.queue("SET", "b", "2");
        EXPECT_TRUE((co_await complaint_of(tx.exec())).starts_with("NOPERM"));
        EXPECT_EQ(co_await redis.get("a"), std::nullopt);
        EXPECT_EQ(co_await redis.get("b"), std::nullopt);
        EXPECT_EQ(co_await tx.command<std::string>("ECHO", "mine"), "mine") << "it is usable";
    }(*server, open(server->url())));
}

TEST_F(TransactionTest, AnAccountThatMayNotExecLeavesACleanConnection) {
    run([](RedisServer& real, Client redis) -> Task<> {
        co_await redis.command<void>("ACL", "SETUSER", "weak", "on", ">w", "~*", "+@all", "-exec");
        Options options;
        options.connections_max = 1;
        const Client weak = open(real.url() + "?user=weak&password=w", options);
        {
            auto tx = co_await weak.transaction();
            tx.queue("SET", "a", "1");
            EXPECT_TRUE((co_await complaint_of(tx.exec())).contains("NOPERM"));
        }
        auto next = co_await weak.transaction();
        EXPECT_EQ(co_await next.command<std::string>("ECHO", "mine"), "mine");
        EXPECT_EQ(co_await redis.get("a"), std::nullopt);
    }(*server, open(server->url())));
}

TEST(Transaction, OneWithoutAnAnswerToExecHasAnUnknownOutcome) {
    for (const std::string last : {"EXEC", "MULTI"}) {
        ScriptedServer cutting([&](const ScriptedServer::Words& words) -> ScriptedServer::Answer {
            if (words[0] == last) return {.bytes = "", .close = true};
            return {.bytes = words[0] == "MULTI" ? "+OK\r\n" : "+QUEUED\r\n"};
        });
        run([](Client redis, Fault expected) -> Task<> {
            auto tx = co_await redis.transaction();
            tx.queue("SET", "a", "1");
            EXPECT_EQ(co_await db::fault_of(tx.exec()), expected);
        }(open(cutting.url()), last == "EXEC" ? Fault::unknown_outcome : Fault::connection_lost));
    }
}

TEST_F(TransactionTest, OneThatIsLeftWatchesNothingAnyMore) {
    Options options;
    options.connections_max = 1;
    run([](Client redis) -> Task<> {
        for (int round = 0; round < 3; ++round) {
            {
                auto left = co_await redis.transaction();
                co_await left.watch("a");
                left.queue("SET", "b", "never");
            }
            co_await redis.increment("a");
            auto tx = co_await redis.transaction();
            tx.queue("SET", "c", "1");
            const auto done = co_await tx.exec();
            EXPECT_TRUE(done.has_value()) << "it has the same connection";
        }
        EXPECT_EQ(co_await redis.get("b"), std::nullopt);
    }(open(server->url(), options)));
}

TEST_F(TransactionTest, OneThatIsKeptBeyondItsLoopHasNoConnection) {
    std::optional<Transaction> kept;
    const Client redis = open(server->url());
    run([](Client client, std::optional<Transaction>& out) -> Task<> {
        out.emplace(co_await client.transaction());
        co_await out->watch("stock");
    }(redis, kept));
    run([](Transaction& ended) -> Task<> {
        EXPECT_EQ(co_await fault_of(ended.watch("stock")), Fault::other);
        EXPECT_EQ(co_await fault_of(ended.exec()), Fault::other);
    }(*kept));
}

TEST_F(TransactionTest, ConnectionsOfTheirOwnHaveALimit) {
    Options options;
    options.connections_max = 2;
    options.waiting_timeout = 50ms;
    run([](Client redis) -> Task<> {
        const auto one = co_await redis.transaction();
        const auto two = co_await redis.transaction();
        EXPECT_EQ(co_await db::fault_of(redis.transaction()), Fault::busy);
    }(open(server->url(), options)));
}

TEST_F(TransactionTest, OneOfACancelledBlockingCommandIsNotUsedAgain) {
    Options options;
    options.connections_max = 1;
    run([](Client redis) -> Task<> {
        for (int i = 0; i < 3; ++i) {
            const auto late = co_await within(
                20ms, redis.blocking<std::optional<Reply>>(Duration::max(), "BLPOP", "l", "0"));
            EXPECT_FALSE(late.has_value());
        }
        auto tx = co_await redis.transaction();
        tx.queue("ECHO", "mine");
        const auto replies = co_await tx.exec();
        EXPECT_EQ((*replies)[0].view().text(), "mine");
    }(open(server->url(), options)));
}

}  // namespace
}  // namespace tiderace::db::redis
