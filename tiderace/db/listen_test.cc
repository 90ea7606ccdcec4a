#include "tiderace/db/listen.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

// A server of PostgreSQL's protocol that lets everybody in, and answers nothing from then on.
class SilentServer {
  public:
    SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), bytes);
        ::listen(listener_, 8);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~SilentServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
        for (const int each : peers_) ::close(each);
    }
    SilentServer(const SilentServer&) = delete;
    SilentServer& operator=(const SilentServer&) = delete;
    std::string url() const { return "postgres://u@127.0.0.1:" + std::to_string(port_) + "/n"; }
    int logins() const { return logins_; }

  private:
    void serve() {
        constexpr std::string_view cancel("\x04\xd2\x16\x2e", 4);
        // Let in, with the key for a cancel; ready.
        constexpr std::string_view welcome(
            "R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I", 28);
        for (int peer = 0; (peer = ::accept(listener_, nullptr, nullptr)) >= 0;) {
            peers_.push_back(peer);
            std::array<char, 8> head{};  // length and kind
            (void)::recv(peer, head.data(), head.size(), MSG_WAITALL);
            if (std::string_view(head.data(), head.size()).ends_with(cancel)) {
                ::shutdown(peer, SHUT_RDWR);  // the client waits for that
                continue;
            }
            (void)::send(peer, welcome.data(), welcome.size(), MSG_NOSIGNAL);
            ++logins_;
        }
    }

    int listener_;
    std::uint16_t port_ = 0;
    std::vector<int> peers_;
    std::atomic<int> logins_ = 0;
    std::thread thread_;
};

TEST(Listen, AServerThatDoesNotAnswerIsConnectedToAgain) {
    const std::string missing = Server::missing(Dialect::postgres);
    if (!missing.empty()) GTEST_SKIP() << missing;
    SilentServer silent;
    Options options;
    options.statement_timeout = 50ms;
    options.reconnect_pause = 1ms;
    task::run([](SilentServer& server, Options limits) -> Task<> {
        auto notes = listen(open(server.url(), limits), "posts");
        auto next = [](task::Generator<Notification>& from) -> Task<> { co_await from.next(); };
        auto second_login = [](SilentServer& at) -> Task<> {
            while (at.logins() < 2) co_await sleep(10ms);
        };
        auto either = when_any(next(notes), second_login(server));
        const auto ended = co_await within(20s, std::move(either));
        EXPECT_TRUE(ended.has_value());
        EXPECT_EQ(server.logins(), 2);
    }(silent, options));
}

TEST(Listen, WhatIsNotifiedComesAlsoAfterTheServerWasRestarted) {
    const std::string missing = Server::missing(Dialect::postgres);
    if (!missing.empty()) GTEST_SKIP() << missing;
    Server& server = Server::shared(Dialect::postgres);
    task::run([](Server& runs, std::string url) -> Task<> {
        Database db = open(url);
        auto notes = listen(db, "posts");
        for (int round = 0; round < 2; ++round) {
            const auto ready = co_await within(20s, notes.next());
            EXPECT_TRUE(ready && *ready && (*ready)->payload.empty());
            co_await db.exec("notify posts, 'first'");
            co_await db.exec("notify posts, 'second'");
            const auto first = co_await within(20s, notes.next());
            EXPECT_TRUE(first && *first && (*first)->payload == "first");
            const auto second = co_await within(20s, notes.next());
            EXPECT_TRUE(second && *second && (*second)->payload == "second");
            if (round == 1) co_return;
            runs.kill();
            runs.start();
        }
    }(server, server.fresh("listen")));
}

TEST(Listen, APooledConnectionKeepsNoNotifications) {
    const std::string missing = Server::missing(Dialect::postgres);
    if (!missing.empty()) GTEST_SKIP() << missing;
    task::run([](std::string url) -> Task<> {
        Options options;
        options.connections_max = 1;
        Database db = open(url, options);
        EXPECT_EQ(co_await complaint_of(db.exec("listen posts")),
                  "what is sent to the channel would reach no task: use db::listen(db, channel)");
        EXPECT_EQ(co_await db.one<std::int64_t>("select count(*) from pg_listening_channels()"), 0);
    }(Server::shared(Dialect::postgres).fresh("listen")));
}

TEST(Listen, AnotherDatabaseAndAnotherNameAreRefused) {
    task::run([]() -> Task<> {
        auto notes = listen(open("sqlite::memory:"), "posts");
        auto named = listen(open("sqlite::memory:"), "Posts\"");
        auto next = [](task::Generator<Notification>& from) -> Task<> { co_await from.next(); };
        EXPECT_NE(co_await fault_of(next(notes)), Fault::connection_lost);
        EXPECT_EQ(co_await fault_of(next(named)), Fault::configuration);
    }());
}

}  // namespace
}  // namespace tiderace::db
