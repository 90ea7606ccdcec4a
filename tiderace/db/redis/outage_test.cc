// Servers that die, restart, stop for a while or stop in the middle of a reply: no wrong answer, no
// stuck pool.
#include <gtest/gtest.h>

#include <new>

#include "tiderace/db/redis/server_fixture.h"

namespace tiderace::db::redis {
namespace {

using RedisOutage = RedisTest;

TEST_F(RedisOutage, AServerThatWasRestartedIsUsedAsBefore) {
    run([](RedisServer& real, Client redis) -> Task<> {
        for (int round = 0; round < 3; ++round) {
            co_await redis.set("a", "1");
            auto tx = co_await redis.transaction();
            tx.queue("GET", "a");
            EXPECT_TRUE((co_await tx.exec()).has_value());
            real.kill();
            real.start();
            co_await sleep(1ms);  // the loop looks at its sockets
        }
        EXPECT_EQ(redis.counters().commands, 0U);
    }(*server, open(server->url())));
}

TEST_F(RedisOutage, AServerThatIsAwayIsWaitedForAndThenTheCommandsFail) {
    Options options;
    options.waiting_timeout = 200ms;
    run([](RedisServer& real, Client redis) -> Task<> {
        real.kill();
        EXPECT_EQ(co_await fault_of(redis.ping()), Fault::connection_lost);
        EXPECT_EQ(co_await db::fault_of(redis.transaction()), Fault::connection_lost);
        EXPECT_EQ(redis.counters().commands, 0U);
        real.start();
        bool back = false;
        while (!back) {
            try {
                co_await redis.ping();
                back = true;
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), Fault::connection_lost);
            }
        }
    }(*server, open(server->url(), options)));
}

TEST_F(RedisOutage, AServerThatStopsIsGivenUpAndWritesHaveAnUnknownOutcome) {
    Options options;
    options.command_timeout = 200ms;
    run([](RedisServer& real, Client redis) -> Task<> {
        co_await redis.ping();
        auto tx = co_await redis.transaction();
        tx.queue("INCR", "n");
        real.pause();
        Scope scope;
        auto reading = [](Client client) -> Task<> {
            EXPECT_EQ(co_await fault_of(client.get("a")), Fault::timeout);
        };
        auto writing = [](Client client) -> Task<> {
            EXPECT_EQ(co_await fault_of(client.increment("n")), Fault::unknown_outcome);
        };
        auto whole = [](Transaction& transaction) -> Task<> {
            EXPECT_EQ(co_await db::fault_of(transaction.exec()), Fault::connection_lost)
                << "only MULTI was sent";
        };
        scope.spawn(reading(redis));
        scope.spawn(writing(redis));
        scope.spawn(whole(tx));
        co_await scope.join();
        real.resume();
        bool back = false;
        while (!back) {
            try {
                co_await redis.ping();
                back = true;
            } catch (const Error&) {  // not yet
            }
        }
        EXPECT_EQ(redis.counters().commands, 0U);
    }(*server, open(server->url(), options)));
}

TEST_F(RedisOutage, AReplyThatIsCutOffIsReadAgainAndNeverShown) {
    int asked = 0;
    ScriptedServer cutting([&](const ScriptedServer::Words& words) -> ScriptedServer::Answer {
        ++asked;
        if (words[0] == "GET" && asked == 1) return {.bytes = "$10\r\nhalf", .close = true};
        if (words[0] == "INCRBY") return {.bytes = ":1", .close = true};
        return {.bytes = bulk("whole")};
    });
    run([](Client redis, int& times) -> Task<> {
        EXPECT_EQ(co_await redis.get("a"), "whole");
        EXPECT_EQ(times, 2);
        EXPECT_EQ(redis.counters().resent, 1U);
        EXPECT_EQ(co_await fault_of(redis.increment("n")), Fault::unknown_outcome);
        EXPECT_EQ(times, 3) << "a change is never sent twice";
    }(open(cutting.url()), asked));
}

TEST_F(RedisOutage, AServerThatHangsUpOnTheGreetingHasDoneNothing) {
    ScriptedServer rude(
        [](const ScriptedServer::Words&) -> ScriptedServer::Answer {
            return {.bytes = "", .close = true};
        },
        true);
    Options options;
    options.waiting_timeout = 100ms;
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await fault_of(redis.increment("n")), Fault::connection_lost);
        EXPECT_EQ(co_await fault_of(redis.transaction()), Fault::connection_lost);
    }(open(rude.url(), options)));
}

// It takes connections and does not say a word.
TEST(Outage, ACommandWaitsNoLongerThanItMayWhileAConnectionIsMade) {
    ScriptedServer silent([](const ScriptedServer::Words&) { return ScriptedServer::Answer(); },
                          true);
    Options options;
    options.waiting_timeout = 50ms;
    options.connect_timeout = 1h;
    run([](Client redis) -> Task<> {
        for (int i = 0; i < 3; ++i) {
            const auto fault = co_await within(30s, fault_of(redis.ping()));
            EXPECT_TRUE(fault.has_value()) << "it waits for ever";
            EXPECT_EQ(fault.value_or(Fault::other), Fault::connection_lost);
        }
        EXPECT_EQ(redis.counters().commands, 0U);
    }(open(silent.url(), options)));
    EXPECT_EQ(silent.connections(), 1) << "the attempt goes on";
}

Task<> set_400_bytes(Client redis, int& busy, int& done) {
    const std::string value(400, 'x');
    try {
        co_await redis.set("a", value);
        ++done;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Fault::busy) << error.what();
        ++busy;
    }
}

TEST(Outage, WhatWaitsForTheConnectionCountsAsUnsent) {
    ScriptedServer silent([](const ScriptedServer::Words&) { return ScriptedServer::Answer(); },
                          true);
    Options options;
    options.unsent_bytes_max = 1'000;
    options.waiting_timeout = 1h;
    options.connect_timeout = 1h;
    run([](Client redis) -> Task<> {
        int busy = 0;
        int done = 0;
        Scope first;
        Scope others;
        first.spawn(set_400_bytes(redis, busy, done));
        for (int i = 0; i < 3; ++i) others.spawn(set_400_bytes(redis, busy, done));
        co_await yield();
        co_await yield();
        EXPECT_EQ(busy, 2);
        EXPECT_EQ(redis.counters().commands, 2U);
        first.cancel();
        others.spawn(set_400_bytes(redis, busy, done));
        co_await yield();
        co_await yield();
        EXPECT_EQ(busy, 2) << "a task that has gone leaves its room to another";
        EXPECT_EQ(redis.counters().commands, 2U);
        others.cancel();
    }(open(silent.url(), options)));
}

TEST_F(RedisOutage, WhatWaitedForTheConnectionLeavesItsRoomOnceItIsSent) {
    Options options;
    options.unsent_bytes_max = 1'000;
    options.waiting_timeout = 1min;
    run([](RedisServer& real, Client redis) -> Task<> {
        int busy = 0;
        int done = 0;
        for (int round = 1; round <= 3; ++round) {
            real.kill();
            co_await sleep(1ms);  // the loop looks at its sockets
            Scope scope;
            for (int i = 0; i < 2; ++i) scope.spawn(set_400_bytes(redis, busy, done));
            co_await yield();
            co_await yield();
            EXPECT_EQ(redis.counters().commands, 2U);
            real.start();
            co_await scope.join();
            EXPECT_EQ(done, 2 * round);
            EXPECT_EQ(busy, 0);
        }
    }(*server, open(server->url(), options)));
}

TEST(Outage, LimitsOfTimeMayBeNever) {
    ScriptedServer server([](const ScriptedServer::Words&) -> ScriptedServer::Answer {
        return {.bytes = bulk("well")};
    });
    Options options;
    options.waiting_timeout = Duration::max();
    options.connect_timeout = Duration::max();
    options.command_timeout = Duration::max();
    options.check_after = Duration::max();
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await redis.get("a"), "well");
    }(open(server.url(), options)));
}

// TLS that lacks memory at first, and cannot be had later.
class ScarceSecurity final : public tcp::ClientSecurity {
  public:
    Result<std::shared_ptr<tcp::ClientLayer>> layer(task::Runner&) const override {
        if (asked_++ == 0) throw std::bad_alloc();
        return fail(tiderace::Error(0, "read", "ca.pem", "it is no certificate"));
    }
    int asked() const { return asked_; }

  private:
    mutable int asked_ = 0;
};

TEST(Outage, AnAttemptWithoutMemoryIsNotTheLast) {
    ScriptedServer server([](const ScriptedServer::Words&) { return ScriptedServer::Answer(); });
    const ScarceSecurity security;
    Options options;
    options.security = &security;
    options.waiting_timeout = 500ms;
    options.reconnect_pause = 1ms;
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await fault_of(redis.ping()), Fault::connection_lost);
        EXPECT_EQ(redis.counters().commands, 0U);
    }(open("rediss://" + server.address(), options)));
    EXPECT_GT(security.asked(), 1);
}

TEST_F(RedisOutage, AServerThatCutsEveryReplyEndsTheReadsToo) {
    ScriptedServer cutting([](const ScriptedServer::Words&) -> ScriptedServer::Answer {
        return {.bytes = "$10\r\nhalf", .close = true};
    });
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await fault_of(redis.get("a")), Fault::connection_lost);
        EXPECT_EQ(redis.counters().commands, 0U);
    }(open(cutting.url())));
}

TEST_F(RedisOutage, NoAcknowledgedCountIsWrongWhenTheServerIsKilled) {
    RedisServer lasting({"--appendonly", "yes", "--appendfsync", "always"});
    run([](RedisServer& real, Client redis) -> Task<> {
        std::int64_t acknowledged = 0;
        std::int64_t unknown = 0;
        bool stop = false;
        auto counting = [](Client client, std::int64_t& done, std::int64_t& lost,
                           bool& ended) -> Task<> {
            while (!ended) {
                try {
                    co_await client.increment("n");
                    ++done;
                } catch (const Error& error) {
                    if (error.kind() == Fault::unknown_outcome) ++lost;
                }
                co_await sleep(0ms);
            }
        };
        Scope scope;
        for (int i = 0; i < 4; ++i) scope.spawn(counting(redis, acknowledged, unknown, stop));
        for (int round = 1; round <= 3; ++round) {
            const std::int64_t enough = acknowledged + 10;
            while (acknowledged < enough) co_await sleep(1ms);
            real.kill();
            real.start();
        }
        stop = true;
        co_await scope.join();
        bool read = false;
        std::int64_t counted = 0;
        while (!read) {
            try {
                counted = co_await redis.command<std::int64_t>("GET", "n");
                read = true;
            } catch (const Error& error) {
                EXPECT_TRUE(error.worth_another()) << error.what();
            }
        }
        EXPECT_GE(counted, acknowledged);
        EXPECT_LE(counted, acknowledged + unknown);
        EXPECT_GE(acknowledged, 30);
    }(lasting, open(lasting.url())));
}

}  // namespace
}  // namespace tiderace::db::redis
