#include "tiderace/tcp/run.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/core/address.h"
#include "tiderace/core/cpu_count.h"
#include "tiderace/tcp/serve.h"
#include "tiderace/tcp/server.h"

namespace tiderace::tcp {
namespace {

// A certificate that is not there.
class BrokenSecurity final : public ServerSecurity {
  public:
    Result<std::shared_ptr<net::TransportLayer>> layer(core::EventLoop&) const override {
        return fail(Error(0, "read", "cert.pem", "it is no certificate"));
    }
};

TEST(TcpRun, WhatCannotBeServedIsOneSentenceAndStatusOne) {
    const BrokenSecurity broken;
    const auto said = [](auto& listen, const ServeOptions& options) {
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(Server(listen, options).run(), 1);
        return ::testing::internal::GetCapturedStderr();
    };
    EXPECT_TRUE(said("nonsense", {.program = "echo"}).starts_with("echo: address \"nonsense\": "));
    EXPECT_EQ(said("127.0.0.1:0", {.threads = 1, .security = &broken}),
              "tcp: read cert.pem: it is no certificate\n");
}

TEST(TcpRun, WithoutANumberOfThreadsEachUsableCpuHasALoop) {
    std::atomic<std::size_t> made = 0;
    const Handler handler = [](Stream) -> task::Task<> { co_return; };
    const auto end = [](const std::vector<core::Address>&) { ::kill(::getpid(), SIGTERM); };
    const ServeOptions options{.on_listening = end};
    const auto make = [&](task::Runner& runner) {
        ++made;
        return std::make_unique<Tasks>(runner, handler, options);
    };
    EXPECT_EQ(run_server("127.0.0.1:0", options, make), 0);
    EXPECT_EQ(made, core::count_cpus().usable);
}

TEST(TcpRun, AThreadDrainsIt) {
    std::stop_source stop;
    std::thread other;
    const auto end = [&](const std::vector<core::Address>&) {
        other = std::thread([&] { stop.request_stop(); });
    };
    const ServeOptions options{
        .threads = 2, .takes_signals = false, .stop = stop.get_token(), .on_listening = end};
    EXPECT_EQ(serve("127.0.0.1:0", [](Stream) -> task::Task<> { co_return; }, options), 0);
    other.join();
    // A stop that was requested before it serves also counts.
    EXPECT_EQ(Server("127.0.0.1:0", {.threads = 1, .stop = stop.get_token()}).run(), 0);
}

// A blocking connection to a served address, and its own address.
class Caller {
  public:
    explicit Caller(const core::Address& to) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_storage at;
        const socklen_t bytes = to.to_sockaddr(at);
        EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&at), bytes), 0);
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    ~Caller() { ::close(descriptor_); }

    std::string address() const {
        sockaddr_storage at{};
        socklen_t bytes = sizeof at;
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&at), &bytes);
        return core::Address::from_sockaddr(reinterpret_cast<sockaddr*>(&at), bytes)
            .value()
            .to_string();
    }
    // All until the server ends its direction.
    std::string hear() const {
        std::string heard;
        char piece[256];
        for (ssize_t count = 0; (count = ::read(descriptor_, piece, sizeof piece)) > 0;) {
            heard.append(piece, static_cast<std::size_t>(count));
        }
        return heard;
    }

  private:
    int descriptor_;
};

TEST(TcpRun, APeerHasItsAddressAndConnectionsHaveALimit) {
    std::thread callers;
    const auto call = [&](const std::vector<core::Address>& at) {
        callers = std::thread([to = at[0]] {
            const Caller first(to);
            EXPECT_EQ(first.hear(), first.address());
            const Caller second(to);
            EXPECT_EQ(second.hear(), "") << "there is room for one";
            ::kill(::getpid(), SIGTERM);
        });
    };
    std::atomic<int> accepted = 0;
    Server server("127.0.0.1:0", {.threads = 1, .connections_max = 1, .on_listening = call});
    server.on_accept([&](Peer& peer) {
        ++accepted;
        peer.write(peer.address().to_string());
        peer.finish();  // it stays open, for the caller has not ended
    });
    EXPECT_EQ(server.run(), 0);
    callers.join();
    EXPECT_EQ(accepted, 1);
}

TEST(TcpRun, AHandlerDrainsIt) {
    std::stop_source stop;
    std::thread caller;
    const auto call = [&](const std::vector<core::Address>& at) {
        caller = std::thread([to = at[0]] { EXPECT_EQ(Caller(to).hear(), "bye"); });
    };
    const auto handler = [&](Stream stream) -> task::Task<> {
        stop.request_stop();
        co_await stream.write("bye");
    };
    const ServeOptions options{.threads = 2, .stop = stop.get_token(), .on_listening = call};
    EXPECT_EQ(serve("127.0.0.1:0", handler, options), 0);
    caller.join();
}

}  // namespace
}  // namespace tiderace::tcp
