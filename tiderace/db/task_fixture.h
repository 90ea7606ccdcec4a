// The common part of the tests of every database: folders, loops, and the faults that a task ends
// with.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "tiderace/db/error.h"
#include "tiderace/task.h"

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
