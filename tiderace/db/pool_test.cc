#include "tiderace/db/pool.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

#include "tiderace/db/database_fixture.h"
#include "tiderace/db/execution.h"

namespace tiderace::db {
namespace {

TEST(Pool, ALeaseThatIsCleanIsFreeAtOnce) {
    const Folder folder;
    Database db = open("sqlite:" + folder.file("test.db"));
    task::run([](Database& base) -> Task<> {
        co_await base.exec("create table t (n)");
        Pool& pool = pool_of(base.settings());
        Lease one = co_await pool.take(Lane::writes, Instant::max());
        EXPECT_EQ(base.counters().lent, 1U);
        one.give_back();
        EXPECT_EQ(base.counters().lent, 0U);
        EXPECT_EQ(base.counters().idle, 1U);
        EXPECT_EQ(base.counters().opened, 1U);
    }(db));
}

TEST(Pool, ALeaseInATransactionIsRecoveredBeforeItIsFree) {
    const Folder folder;
    Database db = open("sqlite:" + folder.file("test.db"));
    task::run([](Database& base) -> Task<> {
        co_await base.exec("create table t (n)");
        Pool& pool = pool_of(base.settings());
        {
            const Lease lease = co_await pool.take(Lane::writes, Instant::max());
            const Portion portion{.rows_max = 1, .bytes_max = 1};
            const auto begin = make_query(Dialect::sqlite, "begin immediate", {});
            co_await run_on(pool, *lease, begin, portion);
        }
        EXPECT_EQ(base.counters().idle, 0U);
        co_await base.exec("insert into t values (1)");  // waits for it
        EXPECT_EQ(base.counters().opened, 1U);
        EXPECT_EQ(base.counters().idle, 1U);
    }(db));
}

std::size_t descriptors() {
    const std::filesystem::directory_iterator all("/dev/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// As with a database for each customer.
TEST(Pool, OneWhoseLastHandleHasEndedKeepsNoConnection) {
    const Folder folder;
    task::run([](const Folder& files) -> Task<> {
        std::size_t at_first = 0;
        for (int i = 0; i < 50; ++i) {
            Database db = open("sqlite:" + files.file(std::to_string(i) + ".db"));
            co_await db.exec("create table t (n)");
            EXPECT_EQ(co_await db.one<int>("select count(*) from t"), 0);
            if (i == 0) at_first = descriptors();
        }
        // A file is closed by the thread that read it last, perhaps a moment later.
        EXPECT_LT(descriptors(), at_first + 50);
    }(folder));
}

TEST(Pool, OneThatATaskUsesStaysWithoutAHandle) {
    const Folder folder;
    task::run([](const Folder& files) -> Task<> {
        auto rows = open("sqlite:" + files.file("a.db"))
                        .stream<int>(
                            "with recursive c(n) as (select 0 union all"
                            " select n + 1 from c where n < 2000) select n from c");
        EXPECT_EQ(co_await rows.next(), 0);
        Database other = open("sqlite:" + files.file("b.db"));
        co_await other.ping();
        int sum = 0;
        while (const auto row = co_await rows.next()) sum += *row;
        EXPECT_EQ(sum, 2'001'000);
    }(folder));
}

TEST(Pool, KnowsWhatAStatementIsByItsText) {
    const Folder folder;
    Database db = open("sqlite:" + folder.file("test.db"));
    task::run([](Database& base) -> Task<> {
        Pool& pool = pool_of(base.settings());
        const std::string sql = "select ?, '?'";
        std::vector<Value> one{std::int64_t{1}};
        const QueryRef first = make_query(pool, sql, one);
        EXPECT_EQ(pool.statements().size(), 1U);
        std::vector<Value> two{std::int64_t{2}};
        const QueryRef second = make_query(pool, sql, two);
        EXPECT_EQ(pool.statements().size(), 1U);
        EXPECT_EQ(second->scanned().text, first->scanned().text);
        EXPECT_EQ(second->scanned().parameters, 1U);
        EXPECT_TRUE(second->scanned().reads);
        EXPECT_EQ(second->values[0].kind(), Kind::integer);
        EXPECT_THROW(make_query(pool, sql, {}), Error) << "values are counted each time";
        EXPECT_THROW(make_query(pool, "select 1; select 2", {}), Error);
        EXPECT_THROW(make_query(pool, "select '\xFF'", {}), Error);
        EXPECT_EQ(pool.statements().size(), 1U) << "a refused statement is not kept";
        co_return;
    }(db));
}

TEST(Pool, KeepsOfStatementsWhatItsBoundAllows) {
    const Folder folder;
    Database db = open("sqlite:" + folder.file("test.db"));
    task::run([](Database& base) -> Task<> {
        Pool& pool = pool_of(base.settings());
        for (int i = 0; i < 5'000; ++i) make_query(pool, "select " + std::to_string(i), {});
        EXPECT_LE(pool.statements().cost(), Pool::statements_bytes_max);
        EXPECT_GT(pool.statements().size(), 100U);
        const std::string large = "select '" + std::string(Pool::statements_bytes_max, 'x') + "'";
        EXPECT_EQ(make_query(pool, large, {})->sql(), large);
        EXPECT_FALSE(pool.statements().contains(large));
        co_return;
    }(db));
}

TEST(Pool, PausesAreALittleRandom) {
    const Folder folder;
    Database db = open("sqlite:" + folder.file("test.db"));
    task::run([](Database& base) -> Task<> {
        Pool& pool = pool_of(base.settings());
        for (int i = 0; i < 1'000; ++i) {
            const Duration pause = pool.about(1s);
            EXPECT_GE(pause, 750ms);
            EXPECT_LE(pause, 1'250ms);
        }
        co_return;
    }(db));
}

}  // namespace
}  // namespace tiderace::db
