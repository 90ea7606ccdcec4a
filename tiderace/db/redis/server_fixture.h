// Servers for the tests of this room: a real redis-server on a Unix socket, and one that answers as
// a test says.
#pragma once

#include <gtest/gtest.h>

#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tiderace/core/child_process.h"
#include "tiderace/db/task_fixture.h"
#include "tiderace/redis.h"
#include "tiderace/task.h"
#include "tiderace/task/awaitable.h"

namespace tiderace::db::redis {

// A redis-server with a folder of its own.
class RedisServer {
  public:
    // How it is reached besides its Unix socket, at 127.0.0.1.
    enum class Network : std::uint8_t { none, tls, cluster, tls_cluster };

    explicit RedisServer(std::vector<std::string> arguments = {}, Network network = Network::none);
    ~RedisServer();
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;
    // "": it is installed.
    static std::string missing();

    std::string url() const { return "unix:" + folder_.file("redis.sock"); }
    std::string file(const std::string& name) const { return folder_.file(name); }
    std::uint16_t port() const { return port_; }
    std::uint16_t bus_port() const { return bus_port_; }
    void start();
    // As when its machine fails.
    void kill();
    void pause() const;
    void resume() const { ::kill(process_->pid(), SIGCONT); }

  private:
    bool answers() const;
    std::vector<std::string> network_arguments() const;
    bool try_start();

    std::vector<std::string> arguments_;
    Network network_;
    std::uint16_t port_ = 0;
    std::uint16_t bus_port_ = 0;  // among the servers of a cluster
    Folder folder_;
    std::optional<core::ChildProcess> process_;
};

// Waits for a line of INFO of this section, or of CLUSTER INFO ("CLUSTER").
Task<> until_info_has(const RedisServer& server, std::string_view section, std::string_view text);

// The first `masters` own the slots in equal shares; the others have none yet. Returns when each
// server knows all.
Task<> join_cluster(std::span<const std::unique_ptr<RedisServer>> all, std::size_t masters);

// A server on a port of the kernel's choice, whose replies a function makes. Each connection has
// a thread.
class ScriptedServer {
  public:
    struct Answer {
        std::string bytes;
        bool close = false;  // the connection, behind these bytes
    };
    using Words = std::vector<std::string>;
    // Called with each command, one at a time; without HELLO, unless `greets` is set.
    explicit ScriptedServer(std::function<Answer(const Words&)> script, bool greets = false);
    ~ScriptedServer();
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    std::string url() const { return "redis://" + address(); }
    std::uint16_t port() const { return port_; }
    int connections() const { return connections_; }

  private:
    void accept_all();
    void serve(int fd);

    std::function<Answer(const Words&)> script_;
    bool greets_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::mutex lock_;
    std::vector<int> open_;
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

template <typename T>
Task<Fault> fault_of(Pending<T> failing) {
    return db::fault_of(task::as_task(std::move(failing)));
}

using db::fault_of;

inline std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

class RedisTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string missing = RedisServer::missing();
        if (!missing.empty()) GTEST_SKIP() << missing;
        server.emplace();
    }
    std::optional<RedisServer> server;
};

}  // namespace tiderace::db::redis
