// Databases for the tests of this room: files in folders of their own, and real servers on private
// Unix sockets.
#pragma once

#include <gtest/gtest.h>

#include <signal.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/core/child_process.h"
#include "tiderace/db.h"
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

// A server of PostgreSQL or MariaDB, under an account without rights where we are root.
class Server {
  public:
    // Makes the folder of its data and starts it.
    explicit Server(Dialect dialect);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    // The one that all tests of this program share; started for the first of them.
    static Server& shared(Dialect dialect);
    // Why there is none here; "" where there is.
    static std::string missing(Dialect dialect);

    // Of an empty database whose name begins so, which it makes.
    std::string fresh(const std::string& prefix);
    std::string url(const std::string& name) const;
    void start();
    // As when its machine fails.
    void kill();
    // Its processes stop where they are, and go on.
    void pause() const;
    void resume() const { signal_all(SIGCONT); }

  private:
    std::vector<std::string> as_account(std::vector<std::string> command) const;
    bool answers();
    void signal_all(int number) const;

    Dialect dialect_;
    Folder folder_;
    std::optional<core::ChildProcess> process_;
    int made_ = 0;
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
