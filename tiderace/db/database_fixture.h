// Databases for the tests of this room: real servers on private Unix sockets.
#pragma once

#include "tiderace/db.h"
#include "tiderace/db/task_fixture.h"
#include "tiderace/testing/database_server.h"

namespace tiderace::db {

using Server = testing::DatabaseServer;

// An empty database of each kind; skipped where its server is not installed.
class OnEachDatabase : public ::testing::TestWithParam<Dialect> {
  protected:
    void SetUp() override {
        url = "sqlite:" + data.file("test.db");
        if (GetParam() == Dialect::sqlite) return;
        if (const std::string missing = Server::missing(GetParam()); !missing.empty()) {
            GTEST_SKIP() << missing;
        }
        url = Server::shared(GetParam()).fresh("test");
    }

    Folder data;
    std::string url;
};

}  // namespace tiderace::db
