// Objects that a program keeps beyond their loop: each ends with the loop, and does no harm
// afterwards.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

class LifetimeTest : public OnEachDatabase {
  protected:
    void SetUp() override {
        OnEachDatabase::SetUp();
        if (IsSkipped()) return;
        task::run([](std::string at) -> Task<> {
            Database db = open(at);
            co_await db.exec("create table t (n bigint primary key)");
            co_await db.transaction([](Transaction& tx) -> Task<> {
                for (int i = 0; i < 30; ++i) co_await tx.exec("insert into t values (?)", i);
            });
        }(url));
        options.stream_rows = 10;
    }

    // The second portion keeps the server, or the thread, busy for as long as a test takes.
    std::string slow_after_the_first() const {
        const std::string wait = GetParam() == Dialect::postgres  ? "pg_sleep(60) is null"
                                 : GetParam() == Dialect::mariadb ? "sleep(60) = 7"
                                                                  : sqlite_wait;
        return "select n from t where n < 15 or " + wait + " order by n";
    }

    const std::string sqlite_wait =
        "(with recursive c(x) as (select 1 union all select x + 1 from c)"
        " select count(*) from c) < 0";
    Options options;
};

TEST_P(LifetimeTest, AStreamThatIsKeptBeyondItsLoopHasEnded) {
    task::Generator<std::int64_t> kept;
    const Database db = open(url, options);
    task::run([](const Database& base, task::Generator<std::int64_t>& out) -> Task<> {
        out = base.stream<std::int64_t>("select n from t order by n");
        EXPECT_EQ(co_await out.next(), 0);
    }(db, kept));
    task::run([](const Database& base, task::Generator<std::int64_t>& ended) -> Task<> {
        EXPECT_EQ(co_await ended.next(), std::nullopt);
        EXPECT_EQ(co_await base.one<std::int64_t>("select count(*) from t"), 30);
    }(db, kept));
}

// Its task was cancelled while the stream read on, so that the stream waits for no task.
TEST_P(LifetimeTest, AStreamThatReadsOnWhenItsLoopEndsHasEnded) {
    task::Generator<std::int64_t> kept;
    const Database db = open(url, options);
    task::run(
        [](const Database& base, task::Generator<std::int64_t>& out, std::string sql) -> Task<> {
            out = base.stream<std::int64_t>(sql);
            const auto read = [](task::Generator<std::int64_t>& rows) -> Task<> {
                while (co_await rows.next()) continue;
            };
            EXPECT_FALSE(co_await within(200ms, read(out)));
        }(db, kept, slow_after_the_first()));
    task::run([](const Database& base, task::Generator<std::int64_t>& ended) -> Task<> {
        EXPECT_EQ(co_await ended.next(), std::nullopt);
        EXPECT_EQ(co_await base.one<std::int64_t>("select count(*) from t"), 30);
    }(db, kept));
}

INSTANTIATE_TEST_SUITE_P(Dialects, LifetimeTest,
                         ::testing::Values(Dialect::sqlite, Dialect::postgres, Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::db
