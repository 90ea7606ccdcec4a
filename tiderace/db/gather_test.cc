// Reads that go together when all connections are busy, and faults in the middle of such a group:
// no read may get another's rows, error or cancellation.
#include "tiderace/db/gather.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <tuple>
#include <utility>

#include "tiderace/db/database_fixture.h"
#include "tiderace/db/execution.h"
#include "tiderace/db/pool.h"
#include "tiderace/testing/scarce_memory.h"

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
                // Every read that begins afterwards sees an acknowledged write.
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

Task<> stream_all(Database db, int& rows) {
    auto all = db.stream<int>("select n from number");
    while (auto row = co_await all.next()) ++rows;
}

// It needs a place in the queue of the pool, which streams fill here.
TEST_P(GatherTest, AReadIsRefusedWhereOtherTasksFillTheQueue) {
    Options options;
    options.waiting_max = 2;
    with_one_connection(
        [](Database& db) -> Task<> {
            int rows = 0;
            Scope scope;
            {
                auto held = db.stream<int>("select n from number");
                co_await held.next();  // holds the connection
                for (int i = 0; i < 2; ++i) scope.spawn(stream_all(db, rows));
                co_await yield();
                EXPECT_EQ(db.counters().waiting, 2U);
                const Fault kind =
                    co_await fault_of(db.one<int>("select n from number where n = 7"));
                EXPECT_EQ(kind, Fault::busy);
            }
            co_await scope.join();
            EXPECT_EQ(rows, 100);
            EXPECT_EQ(co_await db.one<int>("select n from number where n = 7"), 7);
        },
        options);
}

class GatherInSqliteTest : public ::testing::Test {
  protected:
    // The numbers from 0, with free connections.
    template <typename F>
    void with_numbers(F body, const Options& options = {}) {
        auto prepare = [](Database db) -> Task<> {
            co_await db.exec("create table number (n int primary key)");
            for (int n = 0; n < 50; ++n) co_await db.exec("insert into number values (?)", n);
        };
        task::run(prepare(open(url)));
        Database db = open(url, options);
        task::run(body(db));
    }

    Folder folder;
    std::string url = "sqlite:" + folder.file("test.db");
};

TEST_F(GatherInSqliteTest, ReadsOfOneTurnTakeOneConnection) {
    with_numbers([](Database& db) -> Task<> {
        int right = 0;
        Scope scope;
        for (int n = 0; n < 12; ++n) scope.spawn(ask(db, n, 10, right));
        co_await scope.join();
        EXPECT_EQ(right, 120);
        EXPECT_EQ(db.counters().opened, 1U);
    });
}

// Texts and blobs of any length, which are bound without a copy, and rows that take more memory
// than the last ones of their statement, and less.
TEST_F(GatherInSqliteTest, EachGetsItsOwnBytes) {
    with_numbers([](Database& db) -> Task<> {
        co_await db.exec("create table thing (name text primary key, filling blob)");
        const auto name_of = [](int n) { return "name " + std::string(7 * n % 300, 'n'); };
        const auto filling_of = [](int n) { return Blob(std::string(1 + 311 * n % 4'000, 'f')); };
        for (int n = 0; n < 40; ++n) {
            const std::string name = name_of(n);
            const Blob filling = filling_of(n);
            co_await db.exec("insert into thing values (?, ?)", name, filling);
        }
        int right = 0;
        auto ask_for = [&](Database base, int n) -> Task<> {
            for (int i = 0; i < 5; ++i) {
                using Found = std::tuple<std::string, Blob, Blob>;
                const std::string name = name_of(n);
                const Blob filling = filling_of(n);
                const auto found = co_await base.one<Found>(
                    "select name, filling, ? from thing where name = ?", filling, name);
                if (found == Found(name, filling, filling)) ++right;
            }
        };
        Scope scope;
        for (int n = 0; n < 40; ++n) scope.spawn(ask_for(db, n));
        co_await scope.join();
        EXPECT_EQ(right, 200);
    });
}

TEST_F(GatherInSqliteTest, MoreThanOneTakesAtOnceGoToSeveralConnections) {
    with_numbers([](Database& db) -> Task<> {
        int right = 0;
        Scope scope;
        const std::size_t most = db.settings()->options.reads_together;
        for (std::size_t i = 0; i <= 2 * most; ++i) scope.spawn(ask(db, 7, 1, right));
        co_await scope.join();
        EXPECT_EQ(right, 2 * static_cast<int>(most) + 1);
        // The first to be open may have answered all before the last one is.
        while (!pool_of(db.settings()).gather().unused()) co_await yield();
        EXPECT_EQ(db.counters().opened, 3U);
    });
}

// The third read asks for a second connection, for which the queue has no place: the task that has
// one takes all three.
TEST_F(GatherInSqliteTest, AReadThatIsRefusedAPlaceGoesWithThoseThatHaveOne) {
    Options options;
    options.connections_max = 2;
    options.reads_together = 2;
    options.waiting_max = 3;
    with_numbers(
        [](Database& db) -> Task<> {
            int rows = 0;
            int right = 0;
            Scope scope;
            {
                auto first = db.stream<int>("select n from number");
                co_await first.next();
                auto second = db.stream<int>("select n from number");
                co_await second.next();
                scope.spawn(ask(db, 7, 1, right));
                for (int i = 0; i < 2; ++i) co_await yield();
                for (int i = 0; i < 2; ++i) scope.spawn(stream_all(db, rows));
                co_await yield();
                for (int i = 0; i < 2; ++i) scope.spawn(ask(db, 7, 1, right));
                for (int i = 0; i < 2; ++i) co_await yield();
                EXPECT_EQ(db.counters().waiting, 5U);
            }
            co_await scope.join();
            EXPECT_EQ(right, 3);
            EXPECT_EQ(rows, 100);
        },
        options);
}

std::string count_to(const std::string& last) {
    return "select max(x) from (with recursive c(x) as"
           " (select 1 union all select x + 1 from c where x < " +
           last + ") select x from c)";
}

Task<> count_endlessly(Database db) {
    co_await db.one<double>(count_to("1e300"));
}

TEST_F(GatherInSqliteTest, OneThatTakesLongGivesWayToTheOthers) {
    with_numbers([](Database& db) -> Task<> {
        int right = 0;
        Scope endless;
        Scope scope;
        endless.spawn(count_endlessly(db));
        for (int n = 0; n < 12; ++n) scope.spawn(ask(db, n, 3, right));
        co_await scope.join();
        EXPECT_EQ(right, 36);
        EXPECT_EQ(endless.size(), 1U) << "it goes on alone";
        endless.cancel();
    });
}

TEST_F(GatherInSqliteTest, AStatementThatTookLongGoesAloneUntilItIsQuickAgain) {
    with_numbers([](Database& db) -> Task<> {
        const std::string counted = count_to("?");
        const auto goes_along = [&] {
            const QueryRef query = make_query(pool_of(db.settings()), counted, {Value(1)});
            return pool_of(db.settings()).gather().helps(*query);
        };
        EXPECT_TRUE(goes_along()) << "before it has run";
        for (const int most : {100'000, 10, 100'000}) {
            EXPECT_EQ(co_await db.one<int>(counted, most), most);
            EXPECT_EQ(goes_along(), most == 10);
        }
    });
}

// A database in memory has one connection, which reads and writes.
TEST(GatherInMemory, NoTransactionIsLeftBehind) {
    Database db = open("sqlite::memory:");
    task::run([](Database& base) -> Task<> {
        co_await base.exec("create table number (n int primary key)");
        co_await base.exec("insert into number values (7)");
        int right = 0;
        Scope scope;
        for (int i = 0; i < 5; ++i) scope.spawn(ask(base, 7, 2, right));
        co_await scope.join();
        EXPECT_EQ(right, 10);
        auto change = [](Transaction& tx) -> Task<> {
            co_await tx.exec("insert into number values (8)");
        };
        co_await base.transaction(change);
        EXPECT_EQ(co_await base.one<int>("select count(*) from number"), 2);
    }(db));
}

Task<> ask_once(Database db, int& ended) {
    try {
        co_await db.one<int>("select n from number where n = 7");
    } catch (const std::bad_alloc&) {
    }
    ++ended;
}

// Without memory the task that serves the waiting reads may end in the middle of it.
TEST_P(GatherTest, NoReadWaitsForEverWhereMemoryRunsOut) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    Options options;
    options.reads_together = 2;
    with_one_connection(
        [](Database& db) -> Task<> {
            bool failed = true;
            for (std::uint64_t nth = 1; failed && nth < 200; ++nth) {
                int ended = 0;
                Scope scope;
                {
                    auto rows = db.stream<int>("select n from number");
                    co_await rows.next();  // holds the connection
                    for (int i = 0; i < 6; ++i) scope.spawn(ask_once(db, ended));
                }
                {
                    const testing::ScarceMemory scarce(nth);
                    for (int i = 0; i < 4; ++i) co_await yield();
                    failed = scarce.failed();
                }
                const auto all = co_await within(5s, scope.join());
                EXPECT_TRUE(all.has_value()) << nth;
                EXPECT_EQ(ended, 6) << nth;
                if (!all) co_return;
            }
        },
        options);
}

INSTANTIATE_TEST_SUITE_P(Databases, GatherTest,
                         ::testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::db
