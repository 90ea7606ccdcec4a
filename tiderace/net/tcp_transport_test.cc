#include "tiderace/net/tcp_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/transport_peer.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

// Its use by a Connection is in connection_test.cc; here are the two bare ends of a socket.
class EveryTcpTransport : public ::testing::TestWithParam<std::string> {
  protected:
    EveryTcpTransport() : listener_(world_->listen()), client_(world_->connect()) {
        EXPECT_TRUE(world_->run_until([&] {
            fd_ = world_->kernel().accept(listener_.get(), nullptr, nullptr);
            return fd_ >= 0;
        }));
        server_ = std::make_unique<testing::TransportPeer>(
            world_->loop(), std::move(*TcpTransport::make(world_->loop(), fd_)));
    }

    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    core::Descriptor listener_;
    std::unique_ptr<testing::Peer> client_;
    int fd_ = -1;  // server_'s
    std::unique_ptr<testing::Peer> server_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryTcpTransport, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryTcpTransport, CarriesBytesBothWays) {
    server_->say("from the server");
    client_->say("from the client");
    EXPECT_TRUE(world_->run_until([&] {
        return client_->heard() == "from the server" && server_->heard() == "from the client";
    }));
}

TEST_P(EveryTcpTransport, EndsOneDirectionAndThenTheOther) {
    server_->say("last");
    server_->finish();
    EXPECT_TRUE(world_->run_until([&] { return client_->ended(); }));
    client_->say("not yet");
    client_->finish();
    EXPECT_TRUE(world_->run_until([&] { return server_->ended(); }));
    EXPECT_EQ(client_->heard(), "last");
    EXPECT_EQ(server_->heard(), "not yet");
}

// Its owner may need some turns until it opens it.
TEST_P(EveryTcpTransport, AResetBeforeItIsOpenIsReportedOnceItIs) {
    class Outcome final : public TcpTransport::Opening {
      public:
        void on_connected(int error) override { error_ = error; }
        int error_ = 1;
    } outcome;
    sockaddr_storage storage;
    world_->listening_at().to_sockaddr(storage);
    const int fd = world_->kernel().open_socket(storage.ss_family, SOCK_STREAM, 0);
    ASSERT_GE(fd, 0);
    auto connecting = std::move(*TcpTransport::make(world_->loop(), fd));
    connecting->connect(world_->listening_at(), outcome);
    int accepted = -1;
    ASSERT_TRUE(world_->run_until([&] {
        if (accepted < 0) accepted = world_->kernel().accept(listener_.get(), nullptr, nullptr);
        return accepted >= 0 && outcome.error_ == 0;
    }));
    testing::TransportPeer far(world_->loop(),
                               std::move(*TcpTransport::make(world_->loop(), accepted)));
    far.reset();
    for (int i = 0; i < 10; ++i) world_->settle();
    testing::TransportPeer near(world_->loop(), std::move(connecting));
    EXPECT_TRUE(world_->run_until([&] { return near.was_reset(); }));
}

TEST_P(EveryTcpTransport, ResetsOnRequest) {
    server_->reset();
    EXPECT_TRUE(world_->run_until([&] { return client_->was_reset(); }));
}

TEST_P(EveryTcpTransport, TellsOfAReset) {
    client_->reset();
    EXPECT_TRUE(world_->run_until([&] { return server_->was_reset(); }));
}

TEST_P(EveryTcpTransport, CarriesMoreThanTheBuffersHold) {
    const std::string much(8 << 20, 'x');
    client_->set_listening(false);
    server_->say(much);
    world_->settle();
    client_->set_listening(true);
    EXPECT_TRUE(world_->run_until([&] { return client_->heard().size() == much.size(); }));
}

// Megabytes are in our kernel, or on their way, until the peer reads.
TEST_P(EveryTcpTransport, CountsWhatThePeerHasNotTaken) {
    const std::string much(8 << 20, 'x');
    EXPECT_EQ(world_->kernel().unacknowledged_bytes(fd_), 0U);
    client_->set_listening(false);
    server_->say(much);
    world_->settle();
    EXPECT_GT(world_->kernel().unacknowledged_bytes(fd_), 0U);
    client_->set_listening(true);
    ASSERT_TRUE(world_->run_until([&] { return client_->heard().size() == much.size(); }));
    EXPECT_TRUE(world_->run_until([&] { return world_->kernel().unacknowledged_bytes(fd_) == 0; }));
}

// One option at a time, each with its least value.
TEST(TcpTransportOptions, SayWhetherTheKernelTakesThem) {
    auto world = testing::make_world("epoll");
    const auto transport = std::move(
        *TcpTransport::make(world->loop(), world->kernel().open_socket(AF_INET, SOCK_STREAM, 0)));
    const SocketOptions each[] = {{.no_delay = false},
                                  {.keep_alive = 1s},
                                  {.send_buffer_bytes = 1},
                                  {.receive_buffer_bytes = 1}};
    for (const SocketOptions& option : each) {
        EXPECT_TRUE(transport->tune(option));
        world->kernel().fail_all(testing::Call::set_option, EINVAL);
        EXPECT_FALSE(transport->tune(option));
        EXPECT_TRUE(transport->tune({})) << "no system call is made";
        world->kernel().fail_all(testing::Call::set_option, 0);
    }
    transport->close({});
}

TEST(TcpTransportOptions, AreThoseOfItsSocket) {
    auto world = testing::make_world("epoll");
    core::Kernel& kernel = world->kernel();
    const int fd = kernel.open_socket(AF_INET, SOCK_STREAM, 0);
    const auto transport = std::move(*TcpTransport::make(world->loop(), fd));
    const auto option = [&](int level, int name) {
        int value = -1;
        socklen_t bytes = sizeof value;
        kernel.get_option(fd, level, name, &value, &bytes);
        return value;
    };
    transport->tune({.no_delay = true});
    EXPECT_NE(option(IPPROTO_TCP, TCP_NODELAY), 0);
    transport->tune({.no_delay = false});
    EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 0);
    const struct {
        Duration silence;
        int seconds;  // whole ones, rounded up
    } each[] = {{1s, 1}, {1'001ms, 2}, {1ms, 1}, {60s, 60}};
    for (const auto& [silence, seconds] : each) {
        transport->tune({.keep_alive = silence});
        EXPECT_NE(option(SOL_SOCKET, SO_KEEPALIVE), 0);
#if defined(TCP_KEEPIDLE)
        EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), seconds);
#endif
    }
    EXPECT_TRUE(transport->tune({.keep_alive = Duration::zero()}));
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 0);
    transport->close({});
    EXPECT_FALSE(transport->tune({.no_delay = true})) << "there is no socket any more";
}

TEST(TcpTransportMemory, WithoutItTheDescriptorIsClosedAndNothingIsThrown) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([](std::uint64_t nth) {
        auto loop = std::move(*core::EventLoop::create({}));
        const int fd = loop->kernel().open_socket(AF_INET, SOCK_STREAM, 0);
        EXPECT_GE(fd, 0);
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            const auto made = TcpTransport::make(*loop, fd);
            failed = scarce.failed();
            EXPECT_EQ(made.has_value(), !failed) << nth;
            if (!made) {
                EXPECT_EQ(made.error().code(), ENOMEM);
            }
        }
        EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << nth;  // also with the transport's end
        return failed;
    });
    EXPECT_GE(calls, 2U);
}

}  // namespace
}  // namespace tiderace::net
