#include "tiderace/db/database_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tiderace/db/database_fixture.h"
#include "tiderace/db/execution.h"
#include "tiderace/metrics/metrics.h"

namespace tiderace::db {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DatabaseMetricsTest : public ::testing::Test {
  public:  // for lambdas
    std::string page() const { return registry.page(metrics::PageFormat::prometheus); }
    static std::string open_ones(const std::string& state, int value) {
        return "_connections_open{database=\"main\",state=\"" + state + "\"} " +
               std::to_string(value) + "\n";
    }
    static std::string line(const std::string& name, int value) {
        return "tiderace_database_" + name + "{database=\"main\"} " + std::to_string(value) + "\n";
    }

    const Folder folder;
    metrics::Registry registry;
    const DatabaseMetrics databases{registry};
};

TEST_F(DatabaseMetricsTest, ShowTheConnectionsOfAllLoops) {
    EXPECT_THAT(page(), Not(HasSubstr("tiderace_database"))) << "none was added";
    std::optional<Database> db = open("sqlite:" + folder.file("test.db"));
    databases.add("main", *db);
    EXPECT_THAT(page(), HasSubstr(open_ones("active", 0)));
    const auto take_one = [](DatabaseMetricsTest& test, Database base, int before) -> Task<> {
        Lease lease = co_await pool_of(base.settings()).take(Lane::writes, Instant::max());
        EXPECT_THAT(test.page(), HasSubstr(open_ones("active", 1)));
        EXPECT_THAT(test.page(), HasSubstr(line("connections_opened_total", before + 1)));
        lease.give_back();
        EXPECT_THAT(test.page(), HasSubstr(open_ones("active", 0)));
        EXPECT_THAT(test.page(), HasSubstr(open_ones("idle", 1)));
    };
    task::run(take_one(*this, *db, 0));
    EXPECT_THAT(page(), HasSubstr(open_ones("idle", 0))) << "the loop has ended";
    task::run(take_one(*this, *db, 1));  // another loop
    db.reset();
    EXPECT_THAT(page(), HasSubstr(line("connections_opened_total", 2))) << "it stays";
}

TEST_F(DatabaseMetricsTest, ShowTheTasksThatWait) {
    const Database db = open("sqlite:" + folder.file("test.db"), {.waiting_timeout = 1ms});
    databases.add("main", db);
    task::run([](DatabaseMetricsTest& test, Database base) -> Task<> {
        Pool& pool = pool_of(base.settings());
        Lease lease = co_await pool.take(Lane::writes, Instant::max());  // SQLite's only writer
        task::Scope scope;
        scope.spawn([](Pool& from) -> Task<> {
            const Lease second = co_await from.take(Lane::writes, Instant::max());
        }(pool));
        co_await task::yield();
        EXPECT_THAT(test.page(), HasSubstr(line("queue_length", 1)));
        EXPECT_THAT(test.page(), HasSubstr(open_ones("active", 1)));
        lease.give_back();
        co_await scope.join();
        EXPECT_THAT(test.page(), HasSubstr(line("queue_length", 0)));
    }(*this, db));
}

TEST_F(DatabaseMetricsTest, CountWhatCouldNotBeOpened) {
    const Database db = open("sqlite:" + folder.file("no/such/folder/test.db"));
    databases.add("main", db);
    task::run([](Database base) -> Task<> {
        try {
            co_await base.ping();
            ADD_FAILURE() << "it was opened";
        } catch (const Error&) {
        }
    }(db));
    EXPECT_THAT(page(), HasSubstr(line("connection_failures_total", 1)));
    EXPECT_THAT(page(), HasSubstr(open_ones("active", 0)));
}

}  // namespace
}  // namespace tiderace::db
