// Servers that die, restart, stop for a while, or are slow: no wrong answer, no acknowledged row
// lost, no stuck pool.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

class OutageTest : public ::testing::TestWithParam<Dialect> {
  public:
    void SetUp() override {
        const std::string missing = Server::missing(GetParam());
        if (!missing.empty()) GTEST_SKIP() << missing;
        server = &Server::shared(GetParam());
        url = server->fresh("outage");
        Database db = open(url);
        task::run([](Database& base) -> Task<> {
            co_await base.exec("create table t (n bigint primary key)");
        }(db));
    }

    std::string sleeping(int seconds) const {
        return (GetParam() == Dialect::postgres ? "pg_sleep(" : "sleep(") +
               std::to_string(seconds) + ")";
    }
    std::string slow_insert() const {
        return GetParam() == Dialect::postgres
                   ? "insert into t select 1 from (select pg_sleep(20)) s"
                   : "insert into t select 1 from (select sleep(20)) s";
    }

    Server* server = nullptr;
    std::string url;
};

Task<std::int64_t> rows_of(Statements& db) {
    const auto count = co_await db.one<std::int64_t>("select count(*) from t");
    co_return *count;
}

TEST_P(OutageTest, AServerThatWasRestartedIsUsedAsBefore) {
    task::run([](OutageTest& test) -> Task<> {
        Database db = open(test.url);
        co_await db.exec("insert into t values (1)");
        test.server->kill();
        test.server->start();
        co_await sleep(1ms);  // the loop looks at its sockets
        co_await db.exec("insert into t values (2)");
        EXPECT_EQ(co_await rows_of(db), 2);
        EXPECT_EQ(db.counters().lent, 0U);
    }(*this));
}

TEST_P(OutageTest, ATransactionThatIsCutOffLeavesNothing) {
    task::run([](OutageTest& test) -> Task<> {
        Database db = open(test.url);
        EXPECT_EQ(co_await fault_of(db.transaction([&](Transaction& tx) -> Task<> {
                      co_await tx.exec("insert into t values (1)");
                      test.server->kill();
                      co_await tx.exec("insert into t values (2)");
                  })),
                  Fault::connection_lost);
        test.server->start();
        EXPECT_EQ(co_await rows_of(db), 0);
        EXPECT_EQ(db.counters().lent, 0U);
    }(*this));
}

TEST_P(OutageTest, ATransactionIsDoneAgainWhereThatIsAskedFor) {
    task::run([](OutageTest& test) -> Task<> {
        Database db = open(test.url);
        int times = 0;
        auto body = [&](Transaction& tx) -> Task<> {
            co_await tx.exec("insert into t values (1)");
            if (++times > 1) co_return;
            test.server->kill();
            test.server->start();
            co_await tx.exec("insert into t values (2)");
        };
        co_await db.transaction(body, {.attempts = 3});
        EXPECT_EQ(times, 2);
        EXPECT_EQ(co_await rows_of(db), 1);
    }(*this));
}

// The pool's connection was lost, which shows at its first use. Nothing was begun there.
TEST_P(OutageTest, ATransactionBeginsWhereItsConnectionWasLost) {
    for (const bool serializable : {false, true}) {
        task::run([](OutageTest& test, bool is_serializable) -> Task<> {
            Database db = open(test.url);
            for (int i = 0; i < 2; ++i) {
                auto add = [&](Transaction& tx) -> Task<> {
                    co_await tx.exec("insert into t select count(*) from t");
                };
                co_await db.transaction(add, {.serializable = is_serializable});
                if (i > 0) continue;
                test.server->kill();
                test.server->start();
            }
            EXPECT_EQ(co_await rows_of(db), is_serializable ? 4 : 2);
        }(*this, serializable));
    }
}

TEST_P(OutageTest, AChangeThatIsCutOffHasAnUnknownOutcome) {
    task::run([](OutageTest& test) -> Task<> {
        Database db = open(test.url);
        co_await db.ping();
        Scope scope;
        Fault fault = Fault::other;
        auto change = [](Database& base, const std::string& sql, Fault& out) -> Task<> {
            out = co_await fault_of(base.exec(sql));
        };
        scope.spawn(change(db, test.slow_insert(), fault));
        co_await sleep(300ms);
        test.server->kill();
        co_await scope.join();
        EXPECT_EQ(fault, Fault::unknown_outcome);
        test.server->start();
        EXPECT_EQ(co_await rows_of(db), 0);
    }(*this));
}

TEST_P(OutageTest, AScriptThatIsCutOffHasAnUnknownOutcome) {
    task::run([](OutageTest& test) -> Task<> {
        Database db = open(test.url);
        co_await db.ping();
        Scope scope;
        Fault fault = Fault::other;
        auto change = [](Database& base, std::string sql, Fault& out) -> Task<> {
            out = co_await fault_of(base.script(sql));
        };
        scope.spawn(change(db, "insert into t values (0); commit; " + test.slow_insert(), fault));
        Database other = open(test.url);
        while (co_await rows_of(other) == 0) co_await sleep(10ms);
        test.server->kill();
        co_await scope.join();
        EXPECT_EQ(fault, Fault::unknown_outcome);
        test.server->start();
    }(*this));
}

// However long the read had taken: the time to wait for a connection begins anew.
TEST_P(OutageTest, ALongReadThatIsCutOffIsDoneAgain) {
    Options options;
    options.waiting_timeout = 1s;
    task::run([](OutageTest& test, Options opts) -> Task<> {
        Database db = open(test.url, opts);
        co_await db.ping();
        Scope scope;
        std::optional<int> got;
        auto read = [](Database& base, std::string sql, std::optional<int>& out) -> Task<> {
            out = co_await base.one<int>(sql);
        };
        scope.spawn(read(db, "select 7 from (select " + test.sleeping(2) + ") s", got));
        co_await sleep(1500ms);
        test.server->kill();
        test.server->start();
        co_await scope.join();
        EXPECT_EQ(got, 7);
    }(*this, options));
}

TEST_P(OutageTest, ACommitWithoutAnswerHasAnUnknownOutcome) {
    Options options;
    options.statement_timeout = 200ms;
    task::run([](OutageTest& test, Options opts) -> Task<> {
        Database db = open(test.url, opts);
        EXPECT_EQ(co_await fault_of(db.transaction([&](Transaction& tx) -> Task<> {
                      co_await tx.exec("insert into t values (1)");
                      test.server->pause();
                  })),
                  Fault::unknown_outcome);
        test.server->resume();
        EXPECT_LE(co_await rows_of(db), 1);
        EXPECT_EQ(db.counters().lent, 0U);
    }(*this, options));
}

TEST_P(OutageTest, AServerThatStoppedForAWhileHoldsNoLoopAndNoThread) {
    Options options;
    options.statement_timeout = 100ms;
    options.waiting_timeout = 300ms;
    options.connect_timeout = 200ms;
    options.connections_max = 4;
    task::run([](OutageTest& test, Options opts) -> Task<> {
        Database db = open(test.url, opts);
        co_await db.ping();
        test.server->pause();
        Scope scope;
        auto ask = [](Database& base) -> Task<> {
            EXPECT_NE(co_await fault_of(base.one<int>("select 1")), Fault::unknown_outcome);
        };
        for (int i = 0; i < 8; ++i) scope.spawn(ask(db));
        co_await sleep(1s);
        // The pool of threads still serves others.
        const auto served = co_await within(5s, task::offload([] { return 7; }));
        EXPECT_TRUE(served.has_value());
        co_await scope.join();
        test.server->resume();
        // On a busy machine a server takes longer to wake up than one connection may.
        for (bool is_back = false; !is_back; co_await sleep(10ms)) {
            try {
                co_await db.ping();
                is_back = true;
            } catch (const Error&) {  // the next round asks again
            }
        }
        co_await db.exec("insert into t values (1)");
        EXPECT_EQ(co_await rows_of(db), 1);
    }(*this, options));
}

// A cancel, or a kill, that the server does not answer holds no thread of the pool, and not the
// program's end.
TEST_P(OutageTest, AServerThatStaysAwayHoldsNothing) {
    Options options;
    options.statement_timeout = 100ms;
    options.waiting_timeout = 300ms;
    options.connect_timeout = 200ms;
    std::mutex lock;
    std::condition_variable ended;
    bool is_over = false;
    bool was_stuck = false;
    // Where the run does not return by itself, the server goes on, so that the test ends.
    std::thread rescue([&] {
        std::unique_lock held(lock);
        was_stuck = !ended.wait_for(held, 60s, [&] { return is_over; });
        if (was_stuck) server->resume();
    });
    run_on("auto", [](OutageTest& test, Options opts) -> Task<> {
        Database db = open(test.url, opts);
        co_await db.ping();
        Scope scope;
        auto ask = [](Database& base) -> Task<> { co_await fault_of(base.one<int>("select 1")); };
        test.server->pause();
        for (int i = 0; i < 4; ++i) scope.spawn(ask(db));
        co_await scope.join();
    }(*this, options));
    {
        const std::lock_guard held(lock);
        is_over = true;
    }
    ended.notify_one();
    rescue.join();
    server->resume();
    EXPECT_FALSE(was_stuck);
}

TEST_P(OutageTest, NoAcknowledgedRowIsLostWhenTheServerIsKilled) {
    task::run([](OutageTest& test) -> Task<> {
        Database db = open(test.url);
        std::vector<std::int64_t> acknowledged;
        bool stop = false;
        auto writing = [](Database& base, std::vector<std::int64_t>& done, bool& ended,
                          std::int64_t first) -> Task<> {
            for (std::int64_t n = first; !ended; n += 4) {
                bool added = false;
                try {
                    co_await base.exec("insert into t values (?)", n);
                    added = true;
                } catch (const Error& error) {
                    EXPECT_TRUE(error.kind() == Fault::unknown_outcome || error.worth_another())
                        << error.what();
                }
                if (added) done.push_back(n);
            }
        };
        Scope scope;
        for (int i = 0; i < 4; ++i) scope.spawn(writing(db, acknowledged, stop, i));
        for (int round = 0; round < 2; ++round) {
            co_await sleep(200ms);
            test.server->kill();
            test.server->start();
        }
        co_await sleep(200ms);
        stop = true;
        co_await scope.join();
        const auto kept = co_await db.all<std::int64_t>("select n from t");
        const std::set<std::int64_t> there(kept.begin(), kept.end());
        EXPECT_GT(acknowledged.size(), 10U);
        for (const std::int64_t n : acknowledged) EXPECT_TRUE(there.contains(n)) << n;
    }(*this));
}

TEST_P(OutageTest, ATwoSecondQueryHoldsNoLoopOnAnyEngine) {
    for (const std::string engine : {"epoll", "io_uring"}) {
        if (!core::EventLoop::create({.engine = engine})) continue;
        run_on(engine, [](OutageTest& test) -> Task<> {
            Database db = open(test.url);
            bool ended = false;
            Scope scope;
            auto query = [](Database& base, std::string sql, bool& over) -> Task<> {
                co_await base.exec(sql);
                over = true;
            };
            scope.spawn(query(db, "select " + test.sleeping(2), ended));
            int pings = 0;
            while (!ended) {
                co_await db.one<int>("select 1");
                co_await sleep(5ms);
                ++pings;
            }
            co_await scope.join();
            EXPECT_GT(pings, 5) << "a blocked loop would have asked once";
        }(*this));
    }
}

INSTANTIATE_TEST_SUITE_P(Servers, OutageTest,
                         ::testing::Values(Dialect::postgres, Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::db
