#include "tiderace/db/redis/server_fixture.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tiderace/testing/socket_world.h"

namespace tiderace::db::redis {
namespace {

std::string find_server() {
    for (const char* folder : {"/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"}) {
        for (const char* name : {"redis-server", "valkey-server"}) {
            const auto path = std::filesystem::path(folder) / name;
            std::error_code ignored;
            if (std::filesystem::exists(path, ignored)) return path;
        }
    }
    return "";
}

// It rejects port 0. Another program may take this one before it does: then it ends at
// once, and is started with another.
std::uint16_t free_port() {
    testing::SocketWorld world("auto");
    const core::Descriptor listener = world.listen();
    return world.listening_at().port();
}

void send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

// The form of a client's commands: arrays of bulk strings.
class CommandInput {
  public:
    explicit CommandInput(int fd) : fd_(fd) {}

    // Empty: the connection has ended.
    std::vector<std::string> next() {
        std::vector<std::string> words;
        std::string head = line();
        if (head.empty()) return words;
        for (int left = std::stoi(head.substr(1)); left > 0; --left) {
            const std::size_t size = std::stoul(line().substr(1));
            while (text_.size() < size + 2 && fill()) {
            }
            words.push_back(text_.substr(0, size));
            text_.erase(0, size + 2);
        }
        return words;
    }

  private:
    bool fill() {
        char room[4'096];
        const ssize_t got = ::recv(fd_, room, sizeof room, 0);
        if (got <= 0) return false;
        text_.append(room, static_cast<std::size_t>(got));
        return true;
    }
    std::string line() {
        std::size_t end = 0;
        while ((end = text_.find("\r\n")) == text_.npos) {
            if (!fill()) return "";
        }
        std::string found = text_.substr(0, end);
        text_.erase(0, end + 2);
        return found;
    }

    int fd_;
    std::string text_;
};

}  // namespace

std::string RedisServer::missing() {
    return find_server().empty() ? "redis-server is not installed: it is not tested" : "";
}

RedisServer::RedisServer(std::vector<std::string> arguments, Network network)
    : arguments_(std::move(arguments)), network_(network) {
    if (network == Network::none) {
        start();
        return;
    }
    // Another program may take the ports first.
    for (int attempt = 0; attempt < 20; ++attempt) {
        port_ = free_port();
        const bool joins = network == Network::cluster || network == Network::tls_cluster;
        bus_port_ = joins ? free_port() : 0;
        if (try_start()) return;
    }
    throw std::runtime_error("redis-server does not start");
}

RedisServer::~RedisServer() {
    if (!process_) return;
    process_->signal(SIGKILL);
    process_->wait(10s);
}

std::vector<std::string> RedisServer::network_arguments() const {
    if (network_ == Network::none) return {"--port", "0"};
    const bool secure = network_ == Network::tls || network_ == Network::tls_cluster;
    std::vector<std::string> words = {"--bind", "127.0.0.1", "--port",
                                      secure ? "0" : std::to_string(port_)};
    if (secure) words.insert(words.end(), {"--tls-port", std::to_string(port_)});
    if (network_ == Network::tls) return words;
    words.insert(words.end(), {"--cluster-port", std::to_string(bus_port_), "--cluster-enabled",
                               "yes", "--cluster-config-file", file("nodes.conf")});
    // Among themselves, too.
    if (secure) words.insert(words.end(), {"--tls-cluster", "yes"});
    return words;
}

void RedisServer::start() {
    if (!try_start()) throw std::runtime_error("redis-server does not start");
}

bool RedisServer::try_start() {
    core::ChildOptions options;
    options.arguments = {find_server(),
                         "--unixsocket",
                         file("redis.sock"),
                         "--save",
                         "",
                         "--appendonly",
                         "no",
                         "--dir",
                         folder_.path(),
                         "--logfile",
                         file("log"),
                         "--enable-debug-command",
                         "yes"};
    for (const auto& more : {network_arguments(), arguments_}) {
        options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    }
    auto process = core::ChildProcess::start(options);
    if (!process) throw std::runtime_error(process.error().message());
    process_.emplace(std::move(*process));
    while (!answers()) {
        if (process_->exit()) {
            process_.reset();
            return false;
        }
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

bool RedisServer::answers() const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = file("redis.sock");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const bool there =
        ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return there;
}

void RedisServer::kill() {
    process_->signal(SIGKILL);
    process_->wait(10s);
    process_.reset();
    std::filesystem::remove(file("redis.sock"));
}

void RedisServer::pause() const {
    ::kill(process_->pid(), SIGSTOP);
    // It stops when the kernel gets to it.
    const std::string stat = "/proc/" + std::to_string(process_->pid()) + "/stat";
    for (int i = 0; i < 10'000; ++i) {
        std::ifstream file(stat);
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        if (text.find(") T ") != text.npos) return;
        std::this_thread::sleep_for(1ms);
    }
    throw std::runtime_error("the server did not stop");
}

Task<> until_info_has(const RedisServer& server, std::string_view section, std::string_view text) {
    // Its own commands, over its Unix socket: nothing is redirected there, for they have no key.
    const Client shell = open(server.url());
    while (true) {
        const std::string_view command = section == "CLUSTER" ? "CLUSTER" : "INFO";
        const std::string_view about = section == "CLUSTER" ? "INFO" : section;
        const auto info = co_await shell.command<std::string>(command, about);
        if (info.find(text) != info.npos) co_return;
        co_await sleep(20ms);
    }
}

Task<> join_cluster(std::span<const std::unique_ptr<RedisServer>> all, std::size_t masters) {
    const Client first = open(all[0]->url());
    const std::size_t share = slots / masters + 1;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Client shell = open(all[i]->url());
        co_await shell.command<void>("CLUSTER", "SET-CONFIG-EPOCH", i + 1);
        const std::size_t end = std::min<std::size_t>((i + 1) * share, slots);
        if (i < masters) {
            co_await shell.command<void>("CLUSTER", "ADDSLOTSRANGE", i * share, end - 1);
        }
        if (i == 0) continue;
        co_await first.command<void>("CLUSTER", "MEET", "127.0.0.1", all[i]->port(),
                                     all[i]->bus_port());
    }
    const std::string known = "cluster_known_nodes:" + std::to_string(all.size());
    for (const auto& each : all) co_await until_info_has(*each, "CLUSTER", known);
}

ScriptedServer::ScriptedServer(std::function<Answer(const Words&)> script, bool greets)
    : script_(std::move(script)),
      greets_(greets),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), bytes);
    ::listen(listener_, 64);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
        const std::lock_guard lock(lock_);
        for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& each : threads_) each.join();
    for (const int fd : open_) ::close(fd);
    ::close(listener_);
}

void ScriptedServer::accept_all() {
    while (true) {
        const int fd = ::accept(listener_, nullptr, nullptr);
        if (fd < 0) return;
        ++connections_;
        const std::lock_guard lock(lock_);
        open_.push_back(fd);
        threads_.emplace_back([this, fd] { serve(fd); });
    }
}

void ScriptedServer::serve(int fd) {
    CommandInput input(fd);
    while (true) {
        const Words words = input.next();
        if (words.empty()) break;
        Answer answer{.bytes = "%0\r\n"};
        if (greets_ || words[0] != "HELLO") {
            const std::lock_guard lock(lock_);
            answer = script_(words);
        }
        send_all(fd, answer.bytes);
        if (answer.close) break;
    }
    ::shutdown(fd, SHUT_RDWR);
}

}  // namespace tiderace::db::redis
