#include "tiderace/db/lookup.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <utility>

#include "tiderace/core/address.h"
#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

TEST(Lookup, AddressesNeedNoNameServer) {
    task::run([]() -> Task<> {
        const auto four = co_await addresses_of("192.0.2.7", Instant::max());
        EXPECT_EQ(four, std::vector<std::string>{"192.0.2.7"});
        const auto six = co_await addresses_of("2001:db8::7", Instant::max());
        EXPECT_EQ(six, std::vector<std::string>{"2001:db8::7"});
        const auto local = co_await addresses_of("localhost", Instant::max());
        EXPECT_EQ(local, (std::vector<std::string>{"127.0.0.1", "::1"}));
    }());
}

TEST(Lookup, ANameThatIsNoneIsAnError) {
    task::run([]() -> Task<> {
        EXPECT_EQ(co_await fault_of(addresses_of("no such host", Instant::max())),
                  Fault::connection_lost);
    }());
}

TEST(Lookup, EachAddressHasItsShareOfTheTimeThatIsLeft) {
    const Instant now{};
    EXPECT_EQ(share_of(now, now + 6s, 3), now + 2s);
    EXPECT_EQ(share_of(now + 1s, now + 6s, 2), now + 3500ms);
    EXPECT_EQ(share_of(now, now + 6s, 1), now + 6s);
    EXPECT_EQ(share_of(now, now - 1s, 2), now - 1s);
    EXPECT_GT(share_of(now, Instant::max(), 2), now + 24h);
}

// On both addresses of localhost: the first server accepts and never says anything, the second
// refuses each client.
class TwoServers {
  public:
    explicit TwoServers(std::string refusal) : refusal_(std::move(refusal)) {
        for (int tries = 0; tries < 100 && !listening_; ++tries) open();
        if (listening_) thread_ = std::thread([this] { refuse(); });
    }
    ~TwoServers() {
        if (thread_.joinable()) {
            ::shutdown(sockets_[1], SHUT_RDWR);  // ends accept()
            thread_.join();
        }
        close_all();
    }
    TwoServers(const TwoServers&) = delete;
    TwoServers& operator=(const TwoServers&) = delete;

    bool listening() const { return listening_; }
    std::string place() const { return "localhost:" + std::to_string(port_); }

  private:
    // The second may find its port in use.
    void open() {
        close_all();
        port_ = 0;
        for (int& each : sockets_) {
            const bool first = &each == &sockets_[0];
            const core::Address at = *core::Address::parse(first ? "127.0.0.1:0" : "[::1]:0");
            sockaddr_storage storage{};
            socklen_t bytes = at.with_port(port_).to_sockaddr(storage);
            auto* const raw = reinterpret_cast<sockaddr*>(&storage);
            each = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (::bind(each, raw, bytes) != 0 || ::listen(each, 8) != 0) return;
            if (first && ::getsockname(each, raw, &bytes) == 0) {
                port_ = core::Address::from_sockaddr(raw, bytes)->port();
            }
        }
        listening_ = true;
    }
    void refuse() const {
        for (;;) {
            const int one = ::accept(sockets_[1], nullptr, nullptr);
            if (one < 0) return;
            [[maybe_unused]] const ssize_t sent =
                ::send(one, refusal_.data(), refusal_.size(), MSG_NOSIGNAL);
            char byte;
            while (::recv(one, &byte, 1, 0) > 0) {
            }
            ::close(one);
        }
    }
    void close_all() {
        for (int& each : sockets_) {
            if (each >= 0) ::close(std::exchange(each, -1));
        }
    }

    std::string refusal_;
    std::array<int, 2> sockets_ = {-1, -1};
    std::uint16_t port_ = 0;
    bool listening_ = false;
    std::thread thread_;
};

TEST(Lookup, AnAddressThatDoesNotAnswerLeavesTimeToTheNext) {
    using namespace std::string_literals;
    const std::pair<std::string, std::string> refusals[] = {
        {"postgres", "E\0\0\0\x17SFATAL\0C28P01\0Mno\0\0"s},
        {"mariadb", "\x0f\0\0\0\xff\x15\x04#28000wrong!"s},
    };
    for (const auto& [scheme, refusal] : refusals) {
        const TwoServers servers(refusal);
        if (!servers.listening()) GTEST_SKIP() << "this machine has no ::1";
        task::run([](std::string url) -> Task<> {
            Database db = db::open(url, {.waiting_timeout = 2s, .connect_timeout = 2s});
            EXPECT_EQ(co_await fault_of(db.ping()), Fault::configuration) << url;
        }(scheme + "://somebody@" + servers.place() + "/data"));
    }
}

}  // namespace
}  // namespace tiderace::db
