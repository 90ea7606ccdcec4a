#include "tiderace/db/migrations.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

class MigrationsTest : public OnEachDatabase {
  protected:
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder.file(name)) << text;
    }
    void remove(const std::string& name) const { std::filesystem::remove(folder.file(name)); }

    std::string complaint() {
        try {
            migrate_all();
        } catch (const Error& error) {
            return error.message();
        }
        return "none";
    }
    std::vector<Migration> migrate_all() { return task::run(migrate(open(url), folder.path())); }
    template <typename T>
    std::vector<T> all(const std::string& sql) {
        Database db = open(url);
        return task::run(db.all<T>(sql));
    }

    Folder folder;
};

TEST_P(MigrationsTest, EachFileIsDoneOnceInTheOrderOfItsNumber) {
    write("0001_a.sql", "create table a (n int); insert into a values (1);");
    write("0010_c.sql", "insert into a values (3);");
    write("0002_b.sql", "insert into a values (2);");
    write("readme.txt", "not a migration");
    EXPECT_EQ(migrate_all().size(), 3U);
    write("0011_d.sql", "-- with a comment; and 'quotes'\ninsert into a values (4);\n");
    const auto states = task::run(migration_states(open(url), folder.path()));
    EXPECT_EQ(states.size(), 4U);
    EXPECT_EQ(states[2].state, MigrationState::done);
    EXPECT_EQ(states[3].state, MigrationState::pending);
    EXPECT_EQ(states[3].name, "d");
    EXPECT_EQ(migrate_all().size(), 4U);
    EXPECT_EQ(all<int>("select n from a order by n"), (std::vector<int>{1, 2, 3, 4}));
}

TEST_P(MigrationsTest, AFileForOneDialectTakesThePlaceOfTheOther) {
    write("0001_a.sql", "create table a (n int); insert into a values (0)");
    for (const auto* dialect : {"sqlite", "postgres", "mariadb"}) {
        write(std::string("0001_a.") + dialect + ".sql",
              std::string("create table a (d varchar(20)); insert into a values ('") + dialect +
                  "')");
    }
    migrate_all();
    EXPECT_EQ(all<std::string>("select d from a"),
              std::vector<std::string>{std::string(name_of(GetParam()))});
}

TEST_P(MigrationsTest, WhatWasDoneMayNotChange) {
    write("0002_a.sql", "create table a (n int)");
    migrate_all();
    write("0002_a.sql", "create table a (n bigint)");
    EXPECT_EQ(complaint(), "migrations: 2_a was changed after it was done; write another one");
    write("0002_a.sql", "create table a (n int)");
    write("0001_b.sql", "create table b (n int)");
    EXPECT_EQ(complaint(), "migrations: 1_b comes before 2_a, which was done");
    remove("0001_b.sql");
    remove("0002_a.sql");
    EXPECT_EQ(complaint(), "migrations: 2_a was done, and its file is not there");
}

TEST_P(MigrationsTest, ANewerProgramsMayStayWhereTheOptionsAllowIt) {
    write("0001_a.sql", "create table a (n int);");
    write("0002_b.sql", "create table b (n int);");
    write("0003_c.sql", "create table c (n int);");
    migrate_all();
    const MigrateOptions rolling{.newer_allowed = true};
    const auto older = [&] { return task::run(migrate(open(url), folder.path(), rolling)); };
    remove("0003_c.sql");
    EXPECT_NE(complaint().find("3_c was done, and its file is not there"), std::string::npos);
    const auto states = older();
    ASSERT_EQ(states.size(), 3U);
    EXPECT_EQ(states[2].state, MigrationState::removed);
    EXPECT_FALSE(states[2].done_now);
    remove("0001_a.sql");
    EXPECT_THROW(older(), Error) << "a gap is no newer program";
}

TEST_P(MigrationsTest, AFileThatFailsIsNamedAndNotDone) {
    write("0001_a.sql", "create table a (n int)");
    write("0002_b.sql", "insert into a values (1);\n-- ä;\n\n  insert into nowhere values (1);\n");
    EXPECT_TRUE(complaint().starts_with("migration 0002_b.sql: line 4: ")) << complaint();
    if (GetParam() == Dialect::mariadb) {
        EXPECT_TRUE(complaint().starts_with("migrations: 2_b is half done"));
        return;
    }
    write("0002_b.sql", "insert into a values (2)");
    migrate_all();
    EXPECT_EQ(all<int>("select n from a"), std::vector<int>{2});
}

TEST_P(MigrationsTest, LookingAtThemChangesNothing) {
    write("0001_a.sql", "create table a (n int)");
    for (int i = 0; i < 2; ++i) {
        const auto states = task::run(migration_states(open(url), folder.path()));
        ASSERT_EQ(states.size(), 1U);
        EXPECT_EQ(states[0].state, MigrationState::pending);
    }
    EXPECT_FALSE(std::filesystem::exists(data.file("test.db")));
    EXPECT_TRUE(migrate_all()[0].done_now);
    EXPECT_FALSE(migrate_all()[0].done_now);
}

TEST_P(MigrationsTest, AFolderWithoutThemIsAnError) {
    EXPECT_EQ(complaint(),
              "migrations: no file in " + folder.path().string() + " is called NUMBER_NAME.sql");
}

TEST_P(MigrationsTest, NamesAreChecked) {
    write("first.sql", "");
    EXPECT_EQ(complaint(), "migrations: first.sql is not called NUMBER_NAME.sql");
    remove("first.sql");
    write("0001_a.sql", "");
    write("1_b.sql", "");
    EXPECT_EQ(complaint(), "migrations: two files have the number 1");
    remove("1_b.sql");
    write("0001_a.oracle.sql", "");
    EXPECT_EQ(complaint(),
              "migrations: 0001_a.oracle.sql: behind the point is sqlite, postgres or mariadb");
}

TEST_P(MigrationsTest, AFolderThatIsCalledLikeOneIsRefused) {
    write("0001_a.sql", "create table a (n int)");
    std::filesystem::create_directory(folder.file("0002_b.sql"));
    EXPECT_EQ(complaint(), "migrations: cannot read " + folder.file("0002_b.sql") +
                               ": expected a file, found something else of that name");
}

TEST_P(MigrationsTest, ManyProcessesAtOnceDoThemOnce) {
    write("0001_a.sql", "create table a (n int)");
    write("0002_b.sql", "insert into a values (1)");
    task::run([](std::string where, std::string files) -> Task<> {
        Scope scope;
        auto one = [](std::string u, std::string f) -> Task<> { co_await migrate(open(u), f); };
        for (int i = 0; i < 6; ++i) scope.spawn(one(where, files));
        co_await scope.join();
    }(url, folder.path()));
    EXPECT_EQ(all<int>("select n from a"), std::vector<int>{1});
}

INSTANTIATE_TEST_SUITE_P(Dialects, MigrationsTest,
                         ::testing::Values(Dialect::sqlite, Dialect::postgres, Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::db
