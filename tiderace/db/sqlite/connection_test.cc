// The behaviour of SQLite alone.
#include "tiderace/db/sqlite/connection.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db::sqlite {
namespace {

class SqliteTest : public ::testing::Test {
  protected:
    template <typename F>
    void with_database(F body, const Options& options = {}) {
        Database db = db::open(url, options);
        task::run(body(db));
    }

    Folder folder;
    std::string url = "sqlite:" + folder.file("test.db");
};

TEST_F(SqliteTest, TheFileIsInWalModeWithForeignKeys) {
    with_database([](Database& db) -> Task<> {
        EXPECT_EQ(co_await db.one<std::string>("pragma journal_mode"), "wal");
        EXPECT_EQ(co_await db.one<bool>("pragma foreign_keys"), true);
    });
}

TEST_F(SqliteTest, TextOfADatabaseInUtf16IsReadAsUtf8) {
    url = "sqlite::memory:";
    with_database([](Database& db) -> Task<> {
        co_await db.script("pragma encoding = 'UTF-16'; create table t (text, number, filling)");
        const std::string text = "high tide, 涨潮, \xF0\x9F\x8C\x8A";
        co_await db.exec("insert into t values (?, ?, ?)", text, 2.5, std::nullopt);
        co_await db.exec("insert into t values (?, ?, ?)", "", 7, Blob());
        using Row = std::tuple<std::string, double, std::optional<Blob>>;
        const auto rows = co_await db.all<Row>("select text, number, filling from t");
        EXPECT_EQ(rows, (std::vector<Row>{{text, 2.5, std::nullopt}, {"", 7.0, Blob()}}));
    });
}

TEST_F(SqliteTest, ReadersGoOnWhileOneWrites) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n)");
        co_await db.transaction([&](Transaction& tx) -> Task<> {
            co_await tx.exec("insert into t values (1)");
            EXPECT_EQ(co_await db.one<int>("select count(*) from t"), 0);
        });
        EXPECT_EQ(co_await db.one<int>("select count(*) from t"), 1);
    });
}

TEST_F(SqliteTest, WhatLooksLikeReadingAndWritesGoesToTheWriter) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n)");
        EXPECT_EQ(co_await db.one<int>("insert into t values (7) returning n"), 7);
        EXPECT_EQ(co_await db.one<int>("with a as (select 8) insert into t select * from a"
                                       " returning n"),
                  8);
        EXPECT_EQ(co_await db.one<int>("with a as (select 9) select * from a"), 9);
    });
}

// SQLite also takes these for parameters, and would bind null to them.
TEST_F(SqliteTest, OnlyAQuestionMarkIsAParameter) {
    with_database([](Database& db) -> Task<> {
        for (const char* sql : {"select :a", "select @a", "select $a", "select ?2"}) {
            try {
                co_await db.one<std::optional<int>>(sql);
                ADD_FAILURE() << sql;
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), Fault::parameters) << sql << error.what();
            }
        }
        EXPECT_EQ(co_await db.one<std::string>("select ':a'"), ":a");
    });
}

TEST_F(SqliteTest, TheLockOfAnotherLoopIsWaitedFor) {
    with_database([this](Database& db) -> Task<> {
        co_await db.exec("create table t (n)");
        // Another pool on the same file, as another loop or process has it.
        Database other = db::open(url);
        co_await db.transaction([&](Transaction& tx) -> Task<> {
            co_await tx.exec("insert into t values (1)");
            Scope scope;
            auto write = [](Database& base) -> Task<> {
                co_await base.exec("insert into t values (2)");
            };
            scope.spawn(write(other));
            co_await sleep(50ms);
            EXPECT_EQ(scope.size(), 1U) << "it waits";
            scope.cancel();
        });
        co_await other.exec("insert into t values (3)");
        const auto all = co_await db.all<int>("select n from t");
        EXPECT_EQ(all, (std::vector<int>{1, 3}));
    });
}

TEST_F(SqliteTest, ALockThatStaysIsBusy) {
    Options options;
    options.waiting_timeout = 50ms;
    with_database(
        [this, options](Database& db) -> Task<> {
            co_await db.exec("create table t (n)");
            Database other = db::open(url, options);
            co_await db.transaction([&](Transaction& tx) -> Task<> {
                co_await tx.exec("insert into t values (1)");
                EXPECT_EQ(co_await fault_of(other.exec("insert into t values (2)")), Fault::busy);
            });
        },
        options);
}

TEST_F(SqliteTest, AFullDiskLosesNothingThatWasAcknowledged) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n integer primary key, filling blob)");
        EXPECT_EQ(co_await db.one<int>("pragma max_page_count = 40"), 40);
        int added = 0;
        std::optional<Fault> fault;
        const Blob filling(std::string(4'000, 'x'));
        while (!fault && added < 100) {
            try {
                co_await db.exec("insert into t values (?, ?)", added, filling);
                ++added;
            } catch (const Error& error) {
                fault = error.kind();
            }
        }
        EXPECT_EQ(fault, Fault::full);
        EXPECT_GT(added, 5);
        EXPECT_EQ(co_await db.one<int>("select count(*) from t"), added);
        EXPECT_EQ(co_await fault_of(db.transaction([&](Transaction& tx) -> Task<> {
                      co_await tx.exec("delete from t where n = 0");
                      for (int i = 100; i < 110; ++i) {
                          co_await tx.exec("insert into t values (?, ?)", i, filling);
                      }
                  })),
                  Fault::full);
        EXPECT_EQ(co_await db.one<int>("select count(*) from t"), added) << "as a whole";
        co_await db.exec("delete from t");
        co_await db.exec("insert into t values (1, ?)", filling);
        EXPECT_EQ(co_await db.one<int>("select count(*) from t"), 1);
    });
}

TEST_F(SqliteTest, FullTextSearchIsThere) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create virtual table post using fts5(text)");
        co_await db.exec("insert into post values (?), (?)", "the tide is high", "low water");
        const auto found =
            co_await db.all<std::string>("select text from post where post match ?", "tide");
        EXPECT_EQ(found, std::vector<std::string>{"the tide is high"});
    });
}

TEST_F(SqliteTest, TriggersKeepTheTextOfATableIndexed) {
    with_database([](Database& db) -> Task<> {
        co_await db.script(
            "create table post (id integer primary key, body text not null);"
            "create virtual table words using fts5(body, content = 'post', content_rowid = 'id');"
            "create trigger posted after insert on post begin"
            " insert into words (rowid, body) values (new.id, new.body); end;");
        co_await db.exec("insert into post (body) values (?)", "high water at noon");
        const auto found =
            co_await db.one<std::int64_t>("select rowid from words where words match ?", "noon");
        EXPECT_EQ(found, 1);
    });
}

TEST_F(SqliteTest, ADatabaseInMemoryIsOne) {
    url = "sqlite::memory:";
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n)");
        co_await db.exec("insert into t values (1)");
        const auto all = co_await db.all<int>("select n from t");
        EXPECT_EQ(all, std::vector<int>{1});
        EXPECT_EQ(db.counters().opened, 1U);
    });
}

TEST_F(SqliteTest, AFileThatCannotBeOpenedIsNamed) {
    url = "sqlite:" + folder.file("missing/test.db");
    with_database([this](Database& db) -> Task<> {
        const std::string complaint = co_await complaint_of(db.ping());
        EXPECT_NE(complaint.find(folder.file("missing/test.db")), std::string::npos) << complaint;
        EXPECT_EQ(co_await fault_of(db.ping()), Fault::configuration);
    });
}

TEST_F(SqliteTest, AMisspeltNameIsNoString) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (name)");
        EXPECT_EQ(co_await fault_of(db.exec("delete from t where \"nmae\" = 'x'")), Fault::syntax);
    });
}

TEST_F(SqliteTest, PreparedStatementsAreKeptAndFewOfThem) {
    Options options;
    options.statements_max = 3;
    with_database(
        [](Database& db) -> Task<> {
            for (int round = 0; round < 3; ++round) {
                for (int i = 0; i < 10; ++i) {
                    const std::string sql = "select " + std::to_string(i);
                    EXPECT_EQ(co_await db.one<int>(sql), i);
                }
            }
        },
        options);
}

TEST_F(SqliteTest, ALimitOfNoStatementsKeepsOne) {
    Options options;
    options.statements_max = 0;
    with_database(
        [](Database& db) -> Task<> {
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(co_await db.one<int>("select " + std::to_string(i)), i);
            }
        },
        options);
}

// The end of a stream.
template <typename S>
Task<Error> end_of_stream(S& from, std::string sql) {
    auto rows = from.template stream<int>(sql);
    try {
        while (auto row = co_await rows.next()) continue;
    } catch (const Error& error) {
        co_return error;
    }
    co_return Error(Fault::other, "it did not fail");
}

TEST_F(SqliteTest, AStreamThatFailsBehindItsFirstRowsNamesItsStatement) {
    Options options;
    options.stream_rows = 1;
    with_database(
        [](Database& db) -> Task<> {
            co_await db.exec("create table t (n)");
            for (int n = 0; n < 5; ++n) co_await db.exec("insert into t values (?)", n);
            const std::string sql = "select case when n < 3 then n else json('{') end from t";
            const Error outside = co_await end_of_stream(db, sql);
            EXPECT_EQ(outside.statement(), sql) << outside.what();
            auto body = [&](Transaction& tx) -> Task<> {
                const Error inside = co_await end_of_stream(tx, sql);
                EXPECT_EQ(inside.statement(), sql) << inside.what();
            };
            EXPECT_EQ(co_await fault_of(db.transaction(body)), Fault::other);
        },
        options);
}

TEST_F(SqliteTest, TheColumnsOfAKeptStatementAreThoseOfItsTable) {
    with_database([](Database& db) -> Task<> {
        struct Short {
            int a;
        };
        struct Long {
            int a;
            int b;
        };
        co_await db.exec("create table t (a)");
        co_await db.exec("insert into t values (1)");
        for (int round = 0; round < 2; ++round) {
            const auto found = co_await db.one<Short>("select * from t");
            EXPECT_EQ(found->a, 1) << round;
        }
        co_await db.exec("alter table t add column b default 2");
        for (int round = 0; round < 2; ++round) {
            const auto found = co_await db.one<Long>("select * from t");
            EXPECT_EQ(found->b, 2) << round;
        }
        co_await db.exec("alter table t rename column b to c");
        EXPECT_EQ(co_await fault_of(db.one<Long>("select * from t")), Fault::row);
    });
}

TEST_F(SqliteTest, AnEndedProgramLeavesNoStatementBehind) {
    // The task ends while its query runs; run() comes back all the same.
    with_database([](Database& db) -> Task<> {
        Scope scope;
        auto endless = [](Database& base) -> Task<> {
            co_await base.one<int>(
                "with recursive c(x) as (select 1 union all select x + 1 from c)"
                " select x from c where x < 0");
        };
        scope.spawn(endless(db));
        co_await sleep(20ms);
    });
}

}  // namespace
}  // namespace tiderace::db::sqlite
