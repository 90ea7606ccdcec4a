#include "tiderace/db/redis/client.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>

#include "tiderace/db/redis/server_fixture.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::db::redis {
namespace {

using ClientTest = RedisTest;

TEST_F(ClientTest, ValuesAreSetReadCountedAndRemoved) {
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await redis.get("a"), std::nullopt);
        EXPECT_TRUE(co_await redis.set("a", std::string_view("x\r\n\0y", 5)));
        EXPECT_EQ(co_await redis.get("a"), std::string("x\r\n\0y", 5));
        EXPECT_TRUE(co_await redis.exists("a"));
        EXPECT_TRUE(co_await redis.remove("a"));
        EXPECT_FALSE(co_await redis.remove("a"));
        EXPECT_EQ(co_await redis.increment("n"), 1);
        EXPECT_EQ(co_await redis.increment("n", -5), -4);
        co_await redis.ping();
        EXPECT_EQ(redis.counters().opened, 1U);
        EXPECT_EQ(redis.counters().commands, 0U);
    }(open(server->url())));
}

TEST_F(ClientTest, SettingHasAnExpiryAndConditions) {
    using If = SetOptions::If;
    run([](Client redis) -> Task<> {
        EXPECT_FALSE(co_await redis.set("a", "1", {.only_if = If::present}));
        EXPECT_TRUE(co_await redis.set("a", "1", {.expires = 60s, .only_if = If::absent}));
        EXPECT_FALSE(co_await redis.set("a", "2", {.only_if = If::absent}));
        const auto left = co_await redis.command<std::int64_t>("PTTL", "a");
        EXPECT_GT(left, 0);
        EXPECT_LE(left, 60'000);
        EXPECT_TRUE(co_await redis.expire("a", 1h));
        EXPECT_GT(co_await redis.command<std::int64_t>("PTTL", "a"), 60'000);
        EXPECT_FALSE(co_await redis.expire("b", 1h));
    }(open(server->url())));
}

TEST_F(ClientTest, ACommandGivesTheTypeThatIsAskedFor) {
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await redis.command<std::int64_t>("RPUSH", "l", "a", "b"), 2);
        const auto list = co_await redis.command<std::vector<std::string>>("LRANGE", "l", 0, -1);
        EXPECT_EQ(list, (std::vector<std::string>{"a", "b"}));
        co_await redis.command<void>("HSET", "h", "k", "v");
        const Reply all = co_await redis.command("HGETALL", "h");
        EXPECT_EQ(all.view().kind(), resp::Kind::map) << "RESP 3";
        EXPECT_EQ(all.view()["k"].text(), "v");
        EXPECT_EQ(co_await fault_of(redis.command<std::int64_t>("GET", "l")), Fault::row);
        EXPECT_EQ(co_await fault_of(redis.command("NOSUCH")), Fault::syntax);
        EXPECT_EQ(co_await fault_of(redis.command("GET")), Fault::syntax);
        co_await redis.ping();
        EXPECT_EQ(redis.counters().opened, 1U) << "an error costs no connection";
    }(open(server->url())));
}

std::ptrdiff_t descriptors() {
    const std::filesystem::directory_iterator all("/dev/fd");
    return std::distance(begin(all), end(all));
}

TEST_F(ClientTest, NoConnectionStaysLongAfterTheLastHandle) {
    run([](std::string url) -> Task<> {
        std::ptrdiff_t at_first = 0;
        for (int i = 0; i < 20; ++i) {
            const Client redis = open(url);
            co_await redis.ping();
            co_await redis.blocking(1s, "BLPOP", "none", "0.001");
            if (i == 0) at_first = descriptors();
        }
        EXPECT_LT(descriptors(), at_first + 20);
    }(server->url()));
}

TEST_F(ClientTest, CommandsOfManyTasksShareAConnection) {
    run([](Client redis) -> Task<> {
        Scope scope;
        int sum = 0;
        auto one = [](Client client, int number, int& total) -> Task<> {
            const std::string key = std::to_string(number);
            co_await client.set(key, key);
            const auto found = co_await client.get(key);
            EXPECT_EQ(found, key);
            total += 1;
        };
        for (int i = 0; i < 1'000; ++i) scope.spawn(one(redis, i, sum));
        co_await scope.join();
        EXPECT_EQ(sum, 1'000);
        EXPECT_EQ(redis.counters().opened, 1U);
    }(open(server->url())));
}

TEST_F(ClientTest, ACancelledCommandLeavesNoReplyToTheNextOne) {
    run([](Client redis) -> Task<> {
        for (int i = 0; i < 50; ++i) co_await redis.set(std::to_string(i), std::to_string(i));
        for (int round = 0; round < 20; ++round) {
            Scope scope;
            int wrong = 0;
            auto one = [](Client client, int number, int& bad) -> Task<> {
                const auto found = co_await client.get(std::to_string(number));
                if (found != std::to_string(number)) ++bad;
            };
            {
                Scope cancelled;
                for (int i = 0; i < 50; ++i) {
                    (i % 3 == round % 3 ? cancelled : scope).spawn(one(redis, i, wrong));
                }
            }
            co_await scope.join();
            EXPECT_EQ(wrong, 0);
        }
        EXPECT_EQ(redis.counters().opened, 1U);
        EXPECT_EQ(redis.counters().commands, 0U);
    }(open(server->url())));
}

TEST_F(ClientTest, ADeadlineEndsTheWaitAndNotTheConnection) {
    run([](Client redis) -> Task<> {
        co_await redis.ping();
        Scope scope;
        auto slow = [](Client client) -> Task<> {
            co_await client.command<void>("DEBUG", "SLEEP", "0.5");
        };
        scope.spawn(slow(redis));
        const auto late = co_await within(50ms, redis.get("a"));
        EXPECT_FALSE(late.has_value());
        EXPECT_EQ(co_await redis.increment("n"), 1) << "its own reply, and no other";
        co_await scope.join();
        EXPECT_EQ(redis.counters().opened, 1U);
    }(open(server->url())));
}

TEST_F(ClientTest, WhatWouldSpoilASharedConnectionIsRefused) {
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await fault_of(redis.command("BLPOP", "l", "0")), Fault::parameters);
        EXPECT_EQ(co_await fault_of(redis.command("MULTI")), Fault::parameters);
        EXPECT_EQ(co_await fault_of(redis.command("SUBSCRIBE", "a")), Fault::parameters);
        EXPECT_EQ(co_await fault_of(redis.blocking(1s, "SUBSCRIBE", "a")), Fault::parameters);
    }(open(server->url())));
}

TEST_F(ClientTest, ABlockingCommandHoldsUpNobody) {
    for (const std::string engine : {"epoll", "io_uring"}) {
        if (!core::EventLoop::create({.engine = engine})) continue;
        run_on(engine, [](Client redis) -> Task<> {
            Scope scope;
            bool ended = false;
            auto blocking = [](Client client, bool& over) -> Task<> {
                using Found = std::optional<std::vector<std::string>>;
                const auto none = co_await client.blocking<Found>(2s, "BLPOP", "l", "2");
                EXPECT_EQ(none, std::nullopt);
                over = true;
            };
            scope.spawn(blocking(redis, ended));
            int pings = 0;
            while (!ended) {
                co_await redis.ping();
                co_await sleep(5ms);
                ++pings;
            }
            co_await scope.join();
            EXPECT_GT(pings, 2) << "a blocked loop would have asked once";
        }(open(server->url())));
    }
}

TEST_F(ClientTest, ABlockingCommandGetsWhatAnotherTaskPushes) {
    run([](Client redis) -> Task<> {
        Scope scope;
        auto push = [](Client client) -> Task<> {
            co_await sleep(20ms);
            co_await client.command<void>("RPUSH", "l", "x");
        };
        scope.spawn(push(redis));
        const auto found =
            co_await redis.blocking<std::vector<std::string>>(Duration::max(), "BLPOP", "l", "0");
        EXPECT_EQ(found, (std::vector<std::string>{"l", "x"}));
        co_await scope.join();
    }(open(server->url())));
}

TEST_F(ClientTest, AReplyWithoutMemoryEndsItsCommand) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    testing::fail_each([&](std::uint64_t nth) {
        bool failed = false;
        run([](Client redis, std::uint64_t at, bool& out) -> Task<> {
            co_await redis.set("a", std::string(1'000, 'x'));
            bool ended = false;
            Scope scope;
            scope.spawn([](Client client, bool& over) -> Task<> {
                try {
                    (void)co_await client.get("a");
                } catch (const std::exception&) {
                }
                over = true;
            }(redis, ended));
            {
                const testing::ScarceMemory scarce(at);
                for (int i = 0; i < 1'000 && !ended && !scarce.failed(); ++i) co_await sleep(1ms);
                out = scarce.failed();
            }
            EXPECT_TRUE((co_await within(10s, scope.join())).has_value()) << at;
            EXPECT_EQ(redis.counters().commands, 0U) << at;
        }(open(server->url()), nth, failed));
        return failed;
    });
}

TEST_F(ClientTest, TheUrlSelectsTheDatabase) {
    run([](Client zero, Client seven) -> Task<> {
        co_await seven.set("a", "7");
        EXPECT_EQ(co_await zero.get("a"), std::nullopt);
        EXPECT_EQ(co_await seven.get("a"), "7");
    }(open(server->url()), open(server->url() + "?db=7")));
    run([](Client none) -> Task<> {
        EXPECT_EQ(co_await fault_of(none.ping()), Fault::configuration);
    }(open(server->url() + "?db=9999")));
}

TEST(Client, APasswordIsAskedForAndChecked) {
    if (!RedisServer::missing().empty()) GTEST_SKIP() << RedisServer::missing();
    const RedisServer server(
        {"--requirepass", "se@cret", "--user", "ada", "on", ">love", "~*", "+@all"});
    run([](std::string url) -> Task<> {
        co_await open(url + "?password=se%40cret").ping();
        co_await open(url + "?user=ada&password=love").ping();
        EXPECT_EQ(co_await fault_of(open(url).ping()), Fault::configuration);
        EXPECT_EQ(co_await fault_of(open(url + "?password=wrong").ping()), Fault::configuration);
    }(server.url()));
}

TEST(Client, AnOldServerIsSpokenToInRespTwo) {
    std::vector<std::string> seen;
    ScriptedServer old(
        [&](const ScriptedServer::Words& words) -> ScriptedServer::Answer {
            seen.push_back(words[0]);
            if (words[0] == "HELLO") return {.bytes = "-ERR unknown command `HELLO`\r\n"};
            if (words[0] == "AUTH") return {.bytes = "+OK\r\n"};
            return {.bytes = bulk("old")};
        },
        true);
    run([](std::string url) -> Task<> {
        EXPECT_EQ(co_await open(url).get("a"), "old");
    }("redis://:secret@" + old.address()));
    EXPECT_EQ(seen, (std::vector<std::string>{"HELLO", "AUTH", "GET"}));
}

TEST(Client, RepliesHaveALimit) {
    ScriptedServer server([](const ScriptedServer::Words& words) -> ScriptedServer::Answer {
        if (words[1] == "big") return {.bytes = "$100000\r\n" + std::string(100'000, 'x') + "\r\n"};
        if (words[1] == "deep") return {.bytes = "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"};
        if (words[1] == "bad") return {.bytes = "what is this\r\n"};
        return {.bytes = bulk("well")};
    });
    Options options;
    options.reply_bytes_max = 50'000;
    options.reply_depth_max = 4;
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await fault_of(redis.get("big")), Fault::row);
        EXPECT_EQ(co_await redis.get("a"), "well");
        EXPECT_EQ(co_await fault_of(redis.get("deep")), Fault::row);
        EXPECT_EQ(co_await redis.get("a"), "well");
        EXPECT_EQ(co_await fault_of(redis.get("bad")), Fault::connection_lost);
        EXPECT_EQ(co_await redis.get("a"), "well");
    }(open(server.url(), options)));
}

// Other tasks' commands, behind it, have lost their connection and no more.
TEST(Client, AReplyThatIsTooLargeFailsItsOwnCommandAlone) {
    ScriptedServer server([](const ScriptedServer::Words& words) -> ScriptedServer::Answer {
        if (words[0] == "SET") return {.bytes = "+OK\r\n"};
        if (words[1] == "big") return {.bytes = "$100000\r\n" + std::string(100'000, 'x') + "\r\n"};
        return {.bytes = bulk("well")};
    });
    Options options;
    options.reply_bytes_max = 50'000;
    run([](Client redis) -> Task<> {
        auto read = [](Client client) -> Task<std::string> {
            co_return (co_await client.get("b")).value_or("");
        };
        auto [big, changed, other] = co_await when_all(fault_of(redis.get("big")),
                                                       fault_of(redis.set("a", "1")), read(redis));
        EXPECT_EQ(big, Fault::row);
        EXPECT_EQ(changed, Fault::unknown_outcome);
        EXPECT_EQ(other, "well");
    }(open(server.url(), options)));
}

TEST_F(ClientTest, CommandsOnTheirWayHaveALimit) {
    Options options;
    options.commands_max = 10;
    options.unsent_bytes_max = 1'000;
    run([](Client redis) -> Task<> {
        Scope scope;
        int busy = 0;
        auto one = [](Client client, int& refused) -> Task<> {
            try {
                co_await client.ping();
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), Fault::busy);
                ++refused;
            }
        };
        for (int i = 0; i < 15; ++i) scope.spawn(one(redis, busy));
        co_await scope.join();
        EXPECT_EQ(busy, 5);
        EXPECT_EQ(co_await fault_of(redis.set("a", std::string(2'000, 'x'))), Fault::parameters);
        co_await redis.ping();
    }(open(server->url(), options)));
}

TEST_F(ClientTest, CommandsOnTheirWayMayHaveNoLimit) {
    Options options;
    options.unsent_bytes_max = SIZE_MAX;
    run([](Client redis) -> Task<> {
        const std::string big(4'000'000, 'x');
        co_await redis.set("big", big);
        EXPECT_EQ(co_await redis.get("big"), big);
    }(open(server->url(), options)));
}

}  // namespace
}  // namespace tiderace::db::redis
