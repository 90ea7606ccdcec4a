#include "tiderace/db/pool.h"

#include <gtest/gtest.h>

#include "tiderace/db/database_fixture.h"
#include "tiderace/db/execution.h"

namespace tiderace::db {
namespace {

TEST(Pool, ALeaseThatIsCleanIsFreeAtOnce) {
    const Folder folder;
    Database db = open("sqlite:" + folder.file("test.db"));
    task::run([](Database& base) -> Task<> {
        co_await base.exec("create table t (n)");
        Pool& pool = task::Context::here().runner->local<Pools>().of(base.settings());
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
        Pool& pool = task::Context::here().runner->local<Pools>().of(base.settings());
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

TEST(Pool, PausesAreALittleRandom) {
    const Folder folder;
    Database db = open("sqlite:" + folder.file("test.db"));
    task::run([](Database& base) -> Task<> {
        Pool& pool = task::Context::here().runner->local<Pools>().of(base.settings());
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
