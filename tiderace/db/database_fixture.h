// Databases for the tests of this room: files in folders of their own, and real servers on private
// Unix sockets.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "tiderace/db.h"
#include "tiderace/task.h"
#include "tiderace/testing/database_server.h"

namespace tiderace::db {

// A folder of this test's own.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const std::string& name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

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

// Runs `task` to its end on a loop with this engine.
void run_on(const std::string& engine, Task<> task);

// The kind of the fault that `failing` ends with; fails the test where it does not.
template <typename T>
Task<Fault> fault_of(Task<T> failing) {
    try {
        co_await std::move(failing);
    } catch (const Error& error) {
        co_return error.kind();
    }
    ADD_FAILURE() << "it did not fail";
    co_return Fault::other;
}

template <typename T>
Task<std::string> complaint_of(Task<T> failing) {
    try {
        co_await std::move(failing);
    } catch (const Error& error) {
        co_return error.message();
    }
    ADD_FAILURE() << "it did not fail";
    co_return "";
}

}  // namespace tiderace::db
