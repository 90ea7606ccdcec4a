#include "tiderace/testing/database_server.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tiderace/task.h"

namespace tiderace::testing {
namespace {

class DatabaseServerTest : public ::testing::TestWithParam<db::Dialect> {
  protected:
    void SetUp() override {
        const std::string missing = DatabaseServer::missing(GetParam());
        if (!missing.empty()) GTEST_SKIP() << missing;
    }
};

TEST_P(DatabaseServerTest, EachFreshDatabaseIsEmpty) {
    DatabaseServer& server = DatabaseServer::shared(GetParam());
    EXPECT_EQ(&server, &DatabaseServer::shared(GetParam()));
    for (int i = 0; i < 2; ++i) {
        db::Database database = db::open(server.fresh("fresh"));
        task::run(database.exec("create table one (n bigint)"));
        task::run(database.exec("insert into one values (1)"));
        EXPECT_EQ(task::run(database.one<std::int64_t>("select count(*) from one")), 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Servers, DatabaseServerTest,
                         ::testing::Values(db::Dialect::postgres, db::Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::testing
