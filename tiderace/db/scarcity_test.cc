// A statement that lacks memory somewhere fails alone: its connection is left as new, or closed.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/db/database_fixture.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::db {
namespace {

constexpr std::uint64_t nth_max = 400;

class ScarcityTest : public OnEachDatabase {
  protected:
    void SetUp() override {
        if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
        OnEachDatabase::SetUp();
    }
};

// A statement of each kind, not prepared before.
Task<> use(Database& db, std::uint64_t nth) {
    const std::string number = std::to_string(nth);
    co_await db.all<std::int64_t>("select n from t where n < " + number + " or n < ?", 3);
    co_await db.exec("delete from t where n = " + number);
    auto rows = db.stream<std::int64_t>("select n from t where n >= ?", 0);
    while (co_await rows.next()) continue;
    co_await db.script("delete from t where n = 98; delete from t where n = 99");
}

Task<> use_all(Database& db, std::uint64_t nth, bool& ended) {
    try {
        co_await use(db, nth);
    } catch (const std::exception&) {  // any fault: it lacked memory
    }
    ended = true;
}

TEST_P(ScarcityTest, AStatementWithoutMemoryLeavesNothingToTheNext) {
    Options options;
    options.connections_max = 1;
    options.stream_rows = 2;
    task::run([](std::string url, Options opts) -> Task<> {
        Database db = open(url, opts);
        co_await db.exec("create table t (n bigint primary key)");
        for (int i = 0; i < 5; ++i) co_await db.exec("insert into t values (?)", i);
        bool failed = true;
        for (std::uint64_t nth = 1; failed && nth < nth_max; ++nth) {
            bool ended = false;
            Scope scope;
            scope.spawn(use_all(db, 1'000 + nth, ended));
            {
                const testing::ScarceMemory scarce(nth);
                while (!ended && !scarce.failed()) co_await yield();
                failed = scarce.failed();
            }
            co_await scope.join();
            co_await use(db, 1'000 + nth);
            const auto all = co_await db.all<std::int64_t>("select n from t order by n");
            EXPECT_EQ(all, (std::vector<std::int64_t>{0, 1, 2, 3, 4})) << nth;
            // What a failure left is undone beside that.
            for (int i = 0; db.counters().lent > 0 && i < 10'000; ++i) co_await sleep(1ms);
            EXPECT_EQ(db.counters().lent, 0U) << nth;
        }
        EXPECT_FALSE(failed) << "nth_max is too small";
    }(url, options));
}

INSTANTIATE_TEST_SUITE_P(Dialects, ScarcityTest,
                         ::testing::Values(Dialect::sqlite, Dialect::postgres, Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::db
