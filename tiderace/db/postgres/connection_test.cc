// What PostgreSQL alone does.
#include "tiderace/db/postgres/connection.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <cmath>
#include <string>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db::postgres {
namespace {

class PostgresTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string missing = Server::missing(Dialect::postgres);
        if (!missing.empty()) GTEST_SKIP() << missing;
        url = Server::shared(Dialect::postgres).fresh("postgres_test");
    }
    template <typename F>
    void with_database(F body, const Options& options = {}) {
        Database db = db::open(url, options);
        task::run(body(db));
    }

    std::string url;
};

TEST_F(PostgresTest, ItsOwnTypesAreRead) {
    with_database([](Database& db) -> Task<> {
        EXPECT_EQ(co_await db.one<bool>("select true"), true);
        EXPECT_EQ(co_await db.one<double>("select 'Infinity'::float8"), HUGE_VAL);
        EXPECT_EQ(co_await db.one<Time>("select '1970-01-01 01:00:01+01'::timestamptz"),
                  Time(std::chrono::seconds(1)));
        EXPECT_EQ(co_await db.one<std::string>("select '{\"a\": 1}'::jsonb ->> 'a'"), "1");
        EXPECT_EQ(co_await db.one<bool>("select '{\"a\": 1}'::jsonb ?? 'a'"), true);
        EXPECT_EQ(co_await fault_of(db.one<Time>("select 'infinity'::timestamptz")), Fault::row);
        EXPECT_EQ(co_await fault_of(db.exec("select ?::int", "seven")), Fault::parameters);
    });
}

TEST_F(PostgresTest, StatementsOfWhichThereAreTooManyAreForgottenThere) {
    Options options;
    options.statements_max = 3;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            for (int i = 0; i < 20; ++i) {
                EXPECT_EQ(co_await db.one<int>("select " + std::to_string(i % 7)), i % 7);
            }
            EXPECT_LE(*(co_await db.one<int>("select count(*)::int from pg_prepared_statements")),
                      3);
        },
        options);
}

TEST_F(PostgresTest, AStatementThatCannotBePreparedLeavesTheConnection) {
    Options options;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(co_await fault_of(db.exec("select nothing")), Fault::syntax);
            }
            EXPECT_EQ(co_await db.one<int>("select 7"), 7);
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(PostgresTest, TwoThatWaitForEachOtherAreADeadlock) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n int primary key, m int)");
        co_await db.exec("insert into t values (1, 0), (2, 0)");
        Scope scope;
        int failures = 0;
        auto change = [](Database& base, int first, int second, int& failed) -> Task<> {
            auto body = [&](Transaction& tx) -> Task<> {
                co_await tx.exec("update t set m = m + 1 where n = ?", first);
                co_await sleep(100ms);
                co_await tx.exec("update t set m = m + 1 where n = ?", second);
            };
            try {
                co_await base.transaction(body);
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), Fault::deadlock);
                ++failed;
            }
        };
        scope.spawn(change(db, 1, 2, failures));
        scope.spawn(change(db, 2, 1, failures));
        co_await scope.join();
        EXPECT_EQ(failures, 1);
    });
}

TEST_F(PostgresTest, SerializationFailuresAreDoneAgain) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n int)");
        co_await db.exec("insert into t values (0)");
        Scope scope;
        auto add = [](Database& base) -> Task<> {
            auto body = [](Transaction& tx) -> Task<> {
                const auto n = co_await tx.one<int>("select n from t");
                co_await tx.exec("update t set n = ?", *n + 1);
            };
            co_await base.transaction(body, {.attempts = 100, .serializable = true});
        };
        for (int i = 0; i < 10; ++i) scope.spawn(add(db));
        co_await scope.join();
        EXPECT_EQ(co_await db.one<int>("select n from t"), 10);
    });
}

// Stops a process for as long as it lives.
class Stopped {
  public:
    explicit Stopped(int pid) : pid_(pid) { ::kill(pid_, SIGSTOP); }
    ~Stopped() { go_on(); }
    Stopped(const Stopped&) = delete;
    Stopped& operator=(const Stopped&) = delete;
    void go_on() const { ::kill(pid_, SIGCONT); }

  private:
    int pid_;
};

TEST_F(PostgresTest, ACancelThatComesLateHitsNoLaterStatement) {
    Options options;
    options.connections_max = 1;
    options.statement_timeout = 2s;
    with_database(
        [](Database& db) -> Task<> {
            // The process that takes connections and cancels; those that run statements go on.
            const auto first = co_await db.one<int>(
                "select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int");
            const Stopped stopped(*first);
            EXPECT_EQ(co_await db.one<bool>("select pg_sleep(2.5) is null"), false);
            Scope scope;
            auto next = [](Database& base) -> Task<> {
                EXPECT_EQ(co_await base.one<bool>("select pg_sleep(0.5) is null"), false);
            };
            scope.spawn(next(db));
            stopped.go_on();  // the cancel of the statement before is done now
            co_await scope.join();
            EXPECT_EQ(db.counters().opened, 2U);
        },
        options);
}

TEST_F(PostgresTest, AStatementThatWasCancelledKeepsItsConnection) {
    Options options;
    options.connections_max = 1;
    options.statement_timeout = 100ms;
    with_database(
        [](Database& db) -> Task<> {
            for (int i = 0; i < 5; ++i) {
                EXPECT_EQ(co_await fault_of(db.one<bool>("select pg_sleep(30) is null")),
                          Fault::timeout);
                co_await db.ping();
            }
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(PostgresTest, ADatabaseThatIsNotThereIsAMistakeOfTheUrl) {
    url = Server::shared(Dialect::postgres).url("nowhere");
    with_database([](Database& db) -> Task<> {
        EXPECT_EQ(co_await fault_of(db.ping()), Fault::configuration);
    });
}

TEST_F(PostgresTest, AnAnsweredScriptLeavesAUsableConnection) {
    Options options;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            co_await db.script("create table a (n int); create table b (n int);");
            EXPECT_EQ(co_await db.one<int>("select count(*)::int from a, b"), 0);
            EXPECT_EQ(co_await fault_of(db.script("create table c (n int); nonsense")),
                      Fault::syntax);
            EXPECT_EQ(co_await db.one<int>("select 7"), 7);
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

}  // namespace
}  // namespace tiderace::db::postgres
