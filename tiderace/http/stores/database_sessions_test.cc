#include "tiderace/http/stores/database_sessions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tiderace/http/stores/session_store_fixture.h"
#include "tiderace/testing/database_server.h"

namespace tiderace::http {
namespace {

using testing::DatabaseServer;

class DatabaseSessionsTest : public ::testing::TestWithParam<db::Dialect> {
  protected:
    void SetUp() override {
        std::string url = "sqlite:" + folder_.path() + "/test.db";
        if (GetParam() != db::Dialect::sqlite) {
            const std::string missing = DatabaseServer::missing(GetParam());
            if (!missing.empty()) GTEST_SKIP() << missing;
            url = DatabaseServer::shared(GetParam()).fresh("sessions");
        }
        db_.emplace(db::open(url));
        make(DatabaseSessions::schema(GetParam()));
    }
    void make(std::string sql) {
        run([](db::Database db, std::string text) -> Task<int> {
            co_await db.script(text);
            co_return 0;
        }(*db_, std::move(sql)));
    }
    std::int64_t count(std::string sql) {
        return run([](db::Database db, std::string text) -> Task<std::int64_t> {
            const auto rows = co_await db.one<std::int64_t>(text);
            co_return rows.value_or(-1);
        }(*db_, std::move(sql)));
    }

    testing::TemporaryFolder folder_;
    std::optional<db::Database> db_;
};

INSTANTIATE_TEST_SUITE_P(Databases, DatabaseSessionsTest,
                         ::testing::Values(db::Dialect::sqlite, db::Dialect::postgres,
                                           db::Dialect::mariadb),
                         [](const auto& of) { return std::string(db::name_of(of.param)); });

TEST_P(DatabaseSessionsTest, KeepsExpiresAndEnds) {
    DatabaseSessions store(*db_);
    EXPECT_EQ(run(use_store(store)), use_log);
    EXPECT_EQ(count("select count(*) from sessions"), 0);
}

TEST_P(DatabaseSessionsTest, NoWriteIsLost) {
    DatabaseSessions store(*db_);
    EXPECT_EQ(run(writes_kept(store)), 20U);
}

TEST_P(DatabaseSessionsTest, ServesAnApplication) {
    App app;
    add_session_routes(app, std::make_shared<DatabaseSessions>(*db_));
    expect_sessions(app);
    EXPECT_EQ(count("select count(*) from sessions"), 0);
}

TEST_P(DatabaseSessionsTest, AValueHasAColumnOfItsOwn) {
    make(DatabaseSessions::schema(GetParam(), "column_table_visits"));
    make("alter table column_table_visits add column login varchar(64)");
    DatabaseSessions store(*db_, {.table = "column_table_visits", .column = "login"});
    EXPECT_EQ(run(use_store(store)), use_log);
    const auto save = [&](std::string text) {
        run([](SessionStore& to, std::string data) -> Task<int> {
            co_await to.save("key", data, later);
            co_return 0;
        }(store, std::move(text)));
    };
    save("a=1");
    EXPECT_EQ(count("select count(*) from column_table_visits where login is null"), 1);
    save("a=1&login=seven");
    EXPECT_EQ(count("select count(*) from column_table_visits where login = 'seven'"), 1);
    EXPECT_EQ(run(store.replace("key", "a=1&login=seven", "login=%2B8", later)),
              SessionStore::Replaced::done);
    EXPECT_EQ(count("select count(*) from column_table_visits where login = '+8'"), 1);
    EXPECT_EQ(run(store.replace("key", "login=%2B8", "", later)), SessionStore::Replaced::done);
    EXPECT_EQ(count("select count(*) from column_table_visits where login is null"), 1);
}

TEST_P(DatabaseSessionsTest, NewSessionsSweepAFewOfTheExpired) {
    DatabaseSessions store(*db_);
    const auto fill = [](SessionStore& to, int from, int rows, UnixSeconds end) -> Task<int> {
        for (int i = from; i < from + rows; ++i) co_await to.save(std::to_string(i), "x", end);
        co_return 0;
    };
    run(fill(store, 0, 60, 1'000));
    run(fill(store, 60, 39, later));
    EXPECT_EQ(count("select count(*) from sessions"), 99);
    run(fill(store, 99, 1, later));
    EXPECT_EQ(count("select count(*) from sessions"), 40) << "the hundredth one sweeps";
    std::string rows = "insert into sessions (id, data, expires_at) values ('e0', '', 5)";
    for (unsigned i = 1; i <= DatabaseSessions::sweep_rows_max; ++i) {
        rows += ", ('e" + std::to_string(i) + "', '', 5)";
    }
    make(rows);
    EXPECT_EQ(run(store.sweep(4)), 0U);
    EXPECT_EQ(run(store.sweep(5)), DatabaseSessions::sweep_rows_max);
    EXPECT_EQ(run(store.sweep(5)), 1U);
    EXPECT_EQ(count("select count(*) from sessions"), 40);
}

TEST(DatabaseSessions, ADatabaseThatIsAwayIs503AndEndsNoSession) {
    const std::string missing = DatabaseServer::missing(db::Dialect::postgres);
    if (!missing.empty()) GTEST_SKIP() << missing;
    db::Options options;
    options.waiting_timeout = 100ms;
    const testing::TemporaryFolder folder;
    const auto db = db::open("postgres://u:p@127.0.0.1:1/none", options);
    App app;
    add_session_routes(app, std::make_shared<DatabaseSessions>(db));
    expect_unavailable(app);
}

TEST(DatabaseSessionsDeathTest, ANameIsNoOtherText) {
    const db::Database db = db::open("sqlite::memory:");
    EXPECT_DEATH(DatabaseSessions(db, {.table = "a; drop table b"}), "letters, digits");
    EXPECT_DEATH(DatabaseSessions(db, {.table = ""}), "sessions have a table");
    EXPECT_DEATH(DatabaseSessions::schema(db::Dialect::sqlite, "a b"), "letters, digits");
}

}  // namespace
}  // namespace tiderace::http
