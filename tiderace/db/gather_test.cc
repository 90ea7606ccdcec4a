// Reads that go together when all connections are busy, and faults in the middle of such a group:
// no read may get another's rows, error or cancellation.
#include "tiderace/db/gather.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

std::string sleep_of(Dialect dialect, const char* seconds) {
    if (dialect == Dialect::postgres) {
        return std::string("select pg_sleep(") + seconds + ") is null";
    }
    return "with recursive c(x) as (select 1 union all select x + 1 from c)"
           " select x < 0 from c where x < 0";  // until it is stopped
}

class GatherTest : public OnEachDatabase {
  protected:
    // One connection: all but the first read go together.
    template <typename F>
    void with_one_connection(F body, Options options = {}) {
        options.connections_max = 1;
        Database db = open(url, options);
        auto prepare = [](Database& base) -> Task<> {
            co_await base.exec("create table number (n int primary key)");
            for (int n = 0; n < 50; ++n) co_await base.exec("insert into number values (?)", n);
        };
        task::run(prepare(db));
        task::run(body(db));
    }
};

// Asks for each of the numbers, over and over.
Task<> ask(Database db, int n, int times, int& right) {
    for (int i = 0; i < times; ++i) {
        const auto found = co_await db.one<int>("select n from number where n = ?", n);
        if (found == n) ++right;
    }
}

TEST_P(GatherTest, EachGetsItsOwnRowsOnOneConnection) {
    with_one_connection([](Database& db) -> Task<> {
        int right = 0;
        Scope scope;
        for (int n = 0; n < 50; ++n) scope.spawn(ask(db, n, 20, right));
        co_await scope.join();
        EXPECT_EQ(right, 1'000);
        EXPECT_EQ(db.counters().opened, 1U);
        EXPECT_EQ(db.counters().waiting, 0U);
        EXPECT_EQ(db.counters().lent, 0U);
    });
}

Task<> fail(Database db, int& failed) {
    // A name for what is awaited: g++ 12 loses a co_await within a condition.
    const Fault kind = co_await fault_of(db.one<int>("select nothing from number"));
    if (kind == Fault::syntax) ++failed;
}
Task<> divide(Database db, int& failed) {
    const std::string_view sql = db.dialect() == Dialect::postgres
                                     ? "select n / (n - n) from number where n = 7"
                                     : "select json('{') from number where n = 7";
    try {
        co_await db.one<int>(sql);
    } catch (const Error& error) {
        if (error.statement() == sql) ++failed;
    }
}

TEST_P(GatherTest, AFailureIsTheOneReadsAlone) {
    with_one_connection([](Database& db) -> Task<> {
        int right = 0;
        int failed = 0;
        Scope scope;
        for (int n = 0; n < 40; ++n) {
            scope.spawn(ask(db, n, 10, right));
            if (n % 5 == 0) scope.spawn(fail(db, failed));
            if (n % 7 == 0) scope.spawn(divide(db, failed));
        }
        co_await scope.join();
        EXPECT_EQ(right, 400);
        EXPECT_EQ(failed, 8 + 6);
        EXPECT_EQ(db.counters().lent, 0U);
    });
}

// One among a dozen readers, each of which is answered.
Task<> among_readers(Database db, Task<> one) {
    int right = 0;
    Scope scope;
    for (int n = 0; n < 6; ++n) scope.spawn(ask(db, n, 3, right));
    scope.spawn(std::move(one));
    for (int n = 6; n < 12; ++n) scope.spawn(ask(db, n, 3, right));
    co_await scope.join();
    EXPECT_EQ(right, 36);
}

Task<> give_up(Database db, std::string slow, int& gone) {
    const auto late = co_await within(100ms, db.one<bool>(slow));
    if (!late) ++gone;
}

TEST_P(GatherTest, OneThatIsCancelledStopsAndTheOthersAreAnswered) {
    with_one_connection([](Database& db) -> Task<> {
        const std::string slow = sleep_of(db.dialect(), "60");
        int gone = 0;
        co_await among_readers(db, give_up(db, slow, gone));
        EXPECT_EQ(gone, 1);
    });
}

Task<> time_out(Database db, std::string slow, int& timed_out) {
    const Fault kind = co_await fault_of(db.one<bool>(slow));
    if (kind == Fault::timeout) ++timed_out;
}

TEST_P(GatherTest, OneThatTakesTooLongIsToldAndTheOthersAreAnswered) {
    Options options;
    options.statement_timeout = 1s;
    with_one_connection(
        [](Database& db) -> Task<> {
            const std::string slow = sleep_of(db.dialect(), "60");
            int timed_out = 0;
            co_await among_readers(db, time_out(db, slow, timed_out));
            EXPECT_EQ(timed_out, 1);
        },
        options);
}

Task<> ask_for_too_many(Database db, int& refused) {
    const Fault of_all = co_await fault_of(db.all<int>("select n from number"));
    const Fault of_one = co_await fault_of(db.one<int>("select n from number"));
    refused += (of_all == Fault::row ? 1 : 0) + (of_one == Fault::row ? 1 : 0);
}

TEST_P(GatherTest, MoreRowsThanAllowedAreRefusedAndTheOthersAnswered) {
    Options options;
    options.rows_max = 10;
    with_one_connection(
        [](Database& db) -> Task<> {
            int right = 0;
            int refused = 0;
            Scope scope;
            for (int n = 0; n < 20; ++n) {
                scope.spawn(ask(db, n, 3, right));
                if (n % 4 == 0) scope.spawn(ask_for_too_many(db, refused));
            }
            co_await scope.join();
            EXPECT_EQ(right, 60);
            EXPECT_EQ(refused, 10);
            EXPECT_EQ(co_await db.one<int>("select 7"), 7);
        },
        options);
}

TEST_P(GatherTest, AChangeWaitsItsTurnAmongReads) {
    with_one_connection([](Database& db) -> Task<> {
        int right = 0;
        Scope scope;
        for (int n = 0; n < 20; ++n) scope.spawn(ask(db, n, 50, right));
        auto change = [](Database base) -> Task<> {
            for (int i = 0; i < 10; ++i) {
                co_await base.exec("insert into number values (?)", 100 + i);
                auto added = [&](Transaction& tx) -> Task<> {
                    co_await tx.exec("update number set n = n + 1000 where n = ?", 100 + i);
                };
                co_await base.transaction(added);
                // What is acknowledged is seen by every read that begins afterwards.
                const auto seen =
                    co_await base.one<int>("select n from number where n = ?", 1'100 + i);
                EXPECT_EQ(seen, 1'100 + i);
            }
        };
        scope.spawn(change(db));
        co_await scope.join();
        EXPECT_EQ(right, 1'000);
    });
}

TEST_P(GatherTest, TooManyThatWaitAreRefused) {
    Options options;
    options.waiting_max = 5;
    with_one_connection(
        [](Database& db) -> Task<> {
            int busy = 0;
            int answered = 0;
            auto count = [](Database base, int& refused, int& served) -> Task<> {
                try {
                    co_await base.one<int>("select n from number where n = 1");
                    ++served;
                } catch (const Error& error) {
                    if (error.kind() == Fault::busy) ++refused;
                }
            };
            Scope scope;
            for (int i = 0; i < 10; ++i) scope.spawn(count(db, busy, answered));
            co_await scope.join();
            EXPECT_EQ(answered, 6);
            EXPECT_EQ(busy, 4);
        },
        options);
}

INSTANTIATE_TEST_SUITE_P(Databases, GatherTest,
                         ::testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::db
