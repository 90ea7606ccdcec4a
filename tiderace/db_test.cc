#include "tiderace/db.h"

// The example of the header, which includes what it needs.
#include "db_example.h"

#include <gtest/gtest.h>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

TEST(Db, TheExampleOfTheHeaderRuns) {
    const Folder folder;
    task::run([](Database db) -> Task<> {
        co_await db.script(
            "create table member (id integer primary key, name text, motto text,"
            " followers integer not null default 0);"
            "create table follow (who integer, whom integer, primary key (who, whom));"
            "insert into member (name, motto) values ('Ada', 'onward'), ('Bob', null)");
        EXPECT_EQ(co_await motto_of(db, 1), "onward");
        EXPECT_EQ(co_await motto_of(db, 2), "none");
        EXPECT_EQ(co_await motto_of(db, 3), "none");
        co_await follow(db, 1, 2);
        EXPECT_EQ(co_await fault_of(follow(db, 1, 2)), Fault::unique);
        EXPECT_EQ(co_await db.one<int>("select followers from member where id = 2"), 1);
    }(open("sqlite:" + folder.file("test.db"))));
}

}  // namespace
}  // namespace tiderace::db
