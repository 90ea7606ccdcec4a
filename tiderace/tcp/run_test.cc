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
#include "tiderace/task/run.h"
#include "tiderace/tcp/connect.h"
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
    const auto make = [&](task::Runner& runner, const task::States&) {
        ++made;
        return std::make_unique<Tasks>(runner, handler, options);
    };
    EXPECT_EQ(run_server("127.0.0.1:0", options, make), 0);
    EXPECT_EQ(made, core::count_cpus().usable);
}

struct Rooms {
    std::vector<std::string> said;
};

TEST(TcpRun, HandlersHaveTheStatesOfTheirLoopAndWhatIsShared) {
    std::stop_source stop;
    const std::string greeting = "hello ";
    std::string heard;
    const auto make = [](core::EventLoop&) { return std::make_unique<Rooms>(); };
    ServeOptions options{.threads = 1,
                         .states = LoopStates().state<Rooms>(make).share(greeting),
                         .stop = stop.get_token()};
    std::thread client;
    options.on_listening = [&](const std::vector<core::Address>& addresses) {
        client = std::thread([&, to = addresses.at(0).to_string()] {
            task::run([](std::string place, std::string& all) -> task::Task<> {
                for (int i = 0; i < 2; ++i) {
                    auto stream = co_await connect(place);
                    co_await stream->write("ann\n");
                    while (auto line = co_await stream->read(Line{})) all += *line;
                }
            }(to, heard));
            stop.request_stop();
        });
    };
    const auto session = [](Stream stream, Rooms& rooms, const std::string& text) -> task::Task<> {
        rooms.said.emplace_back(*co_await stream.read(Line{}));
        co_await stream.write(text + std::to_string(rooms.said.size()) + rooms.said.back() + "\n");
    };
    EXPECT_EQ(serve("127.0.0.1:0", session, options), 0);
    client.join();
    EXPECT_EQ(heard, "hello 1annhello 2ann");
    const auto answer = [](Peer& peer, ByteView) {
        auto& said = peer.loop_state<Rooms>().said;
        said.push_back(peer.loop_state<const std::string>());
        peer.write(said.back() + std::to_string(said.size()) + "\n");
        peer.close();
    };
    heard.clear();
    stop = {};
    options.stop = stop.get_token();
    options.states = {};
    Server server("127.0.0.1:0", options);
    EXPECT_EQ(server.state<Rooms>(make).share(greeting).on_data(answer).run(), 0);
    client.join();
    EXPECT_EQ(heard, "hello 1hello 2");
}

TEST(TcpRun, AStateThatNobodyGaveIsOneSentence) {
    const auto session = [](Stream, Rooms&) -> task::Task<> { co_return; };
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(serve("127.0.0.1:0", session, {.threads = 1, .program = "rooms"}), 1);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "rooms: serve rooms: invalid argument; its handler takes a state that"
              " ServeOptions::states does not have\n");
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
