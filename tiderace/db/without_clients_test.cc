// The room without a client library: this program compiles built.cc again without one, and links it
// before the room.
#include <gtest/gtest.h>

#include "tiderace/db/database.h"
#include "tiderace/db/error.h"

namespace tiderace::db {
namespace {

TEST(DbWithoutClients, AUrlOfADatabaseThatWasLeftOutIsAnErrorThatNamesItsOption) {
    struct Case {
        const char* url;
        const char* message;
    };
    for (const Case& one :
         {Case{
              "sqlite:a.db",
              "cannot open sqlite:a.db: this build has no SQLite; install libsqlite3-dev and build "
              "Tiderace again with -DTIDERACE_SQLITE=ON"},
          Case{"postgres://ann:secret@db.example/shop",
               "cannot open postgres://ann@db.example:5432/shop: this build has no PostgreSQL; "
               "install libpq-dev and build Tiderace again with -DTIDERACE_POSTGRES=ON"},
          Case{"mariadb://ann:secret@db.example/shop",
               "cannot open mariadb://ann@db.example:3306/shop: this build has no MariaDB; install "
               "libmariadb-dev and build Tiderace again with -DTIDERACE_MARIADB=ON"}}) {
        try {
            const Database db = open(one.url);
            ADD_FAILURE() << one.url;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Fault::configuration);
            EXPECT_EQ(error.message(), one.message);
        }
    }
}

}  // namespace
}  // namespace tiderace::db
