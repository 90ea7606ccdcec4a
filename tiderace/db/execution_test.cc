// The checks before a statement is sent, and its line in the log afterwards.
#include "tiderace/db/execution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/db/database_fixture.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"

namespace tiderace::db {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Execution, AStatementIsNoLargerThanItsDatabaseTakes) {
    const auto complaint = [](Dialect dialect, std::size_t values, std::uint64_t bytes) {
        try {
            check_room(dialect, values, bytes, "select 1");
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Fault::parameters);
            return error.message();
        }
        return std::string("none");
    };
    for (const Dialect dialect : {Dialect::postgres, Dialect::mariadb}) {
        EXPECT_EQ(complaint(dialect, 65'535, 1'020_MiB), "none");
        EXPECT_EQ(complaint(dialect, 65'536, 0), "65536 values, and a statement takes 65535");
        EXPECT_EQ(complaint(dialect, 1, 2'048_MiB),
                  "2147483648 bytes, and a statement takes 1069547520 of text or of values");
    }
    EXPECT_EQ(complaint(Dialect::sqlite, 65'536, 2'048_MiB), "none") << "it says so itself";
}

TEST(Execution, TheBytesOfAStatementAreThoseOfItsTextOrOfItsValues) {
    Query query(Statement{.sql = "", .scanned = {.text = std::string(1'000, 'x')}});
    EXPECT_EQ(bytes_of(query), 1'000U);
    query.values = {Blob(std::string(2'000, 'x')), 7, "text"};
    EXPECT_GE(bytes_of(query), 2'000U + 8 + 4);
    EXPECT_LE(bytes_of(query), 2'000U + 3 * 64);
}

TEST(Execution, AsManyRowsAsThereAreMayBeTaken) {
    Options options;
    options.rows_max = SIZE_MAX;
    for (const Wanted wanted : {Wanted::all_rows, Wanted::no_rows}) {
        EXPECT_EQ(portion_for(wanted, options).rows_max, SIZE_MAX);
    }
    options.rows_max = 7;
    EXPECT_EQ(portion_for(Wanted::all_rows, options).rows_max, 8U);  // to notice one too many
}

class SlowStatements : public OnEachDatabase {
  protected:
    // Runs `body(db)` where every statement counts as slow; returns what was logged.
    template <typename F>
    std::string log_of(F body) {
        Options options;
        options.slow = 0ms;
        options.connections_max = 1;
        Database db = open(url, options);
        const auto logging = [](Database base, log::Logger& logger, F& run_it) -> Task<> {
            core::EventLoop& loop = task::Context::here().runner->loop();
            loop.set_log(&logger);
            co_await run_it(base);
            loop.set_log(nullptr);
        };
        task::run(logging(db, logger_, body));
        ring_.publish();
        return log::take_all(ring_);
    }

    log::Doorbell bell_;
    log::Ring ring_{64_KiB, bell_};
    log::SystemTime time_;
    log::Logger logger_{ring_, time_};
};

TEST_P(SlowStatements, AreLoggedWithoutTheirValues) {
    const std::string lines = log_of([](Database& db) -> Task<> {
        co_await db.exec("create table account (name varchar(100) primary key, secret text)");
        const std::string add = "insert into account (name, secret) values (?, ?)";
        co_await db.exec(add, "hidden-1", "hidden-2");
        EXPECT_EQ(co_await fault_of(db.exec(add, "hidden-1", "hidden-3")), Fault::unique);
        const std::string find = "select secret from account where name = ?";
        EXPECT_EQ(co_await db.one<std::string>(find, "hidden-1"), "hidden-2");
        EXPECT_EQ(co_await fault_of(
                      db.one<std::string>("select secrets from account where ? = ''", "hidden-4")),
                  Fault::syntax);
        EXPECT_EQ(co_await fault_of(db.exec(add, "hidden-5")), Fault::parameters);
        auto rows = db.stream<std::string>(find, "hidden-1");
        while (co_await rows.next()) {
        }
        co_await db.transaction([](Transaction& tx) -> Task<> {
            co_await tx.exec("update account set secret = ?", "hidden-6");
        });
        // In one round trip.
        Scope scope;
        auto read = [](Database& base, const std::string& sql) -> Task<> {
            co_await base.one<std::string>(sql, "hidden-1");
        };
        for (int i = 0; i < 5; ++i) scope.spawn(read(db, find));
        co_await scope.join();
    });
    EXPECT_THAT(lines, HasSubstr("a slow statement"));
    EXPECT_THAT(lines, HasSubstr("values (?, ?)"));
    EXPECT_THAT(lines, HasSubstr("where name = ?"));
    EXPECT_THAT(lines, HasSubstr("secrets from account"));
    EXPECT_THAT(lines, HasSubstr("update account set secret = ?"));
    EXPECT_THAT(lines, Not(HasSubstr("hidden")));
    EXPECT_GE(std::ranges::count(lines, '\n'), 12) << lines;
}

INSTANTIATE_TEST_SUITE_P(Dialects, SlowStatements,
                         ::testing::Values(Dialect::sqlite, Dialect::postgres, Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::db
