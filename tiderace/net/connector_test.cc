#include "tiderace/net/connector.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "tiderace/core/backend/forwarding_kernel.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/echo_session.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/scripted_session.h"

namespace tiderace::net {
namespace {

class EveryConnector : public ::testing::TestWithParam<std::string> {
  protected:
    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Engines, EveryConnector, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryConnector, MakesConnectionsThatCarryBytesBothWays) {
    testing::EchoSessions echoes;
    TcpServer server(world_->loop(), echoes, {});
    server.listen(world_->listen());
    testing::ScriptedSessions sessions;
    Connector connector(world_->loop(), {});
    for (int i = 0; i < 3; ++i) {
        connector.connect(world_->listening_at(), [&](Result<Connection*> made) {
            ASSERT_TRUE(made.has_value()) << made.error().message();
            (*made)->start(sessions.make_session(**made));
            (*made)->write("hello ");
        });
    }
    EXPECT_EQ(sessions.opened, 0) << "told inside the call";
    EXPECT_TRUE(world_->run_until([&] { return sessions.received.size() == 18; }));
    EXPECT_EQ(connector.size(), 3U);
    sessions.connection->finish();
    EXPECT_TRUE(world_->run_until([&] { return connector.size() == 2; }));
}

TEST_P(EveryConnector, TellsWhyThereIsNone) {
    const core::Address nobody = [&] {
        const auto closed_again = world_->listen();
        return world_->listening_at();
    }();
    Connector connector(world_->loop(), {});
    std::string said;
    connector.connect(nobody, [&](Result<Connection*> made) {
        ASSERT_FALSE(made.has_value());
        EXPECT_EQ(made.error().code(), ECONNREFUSED);
        said = made.error().message();
    });
    EXPECT_TRUE(world_->run_until([&] { return !said.empty(); }));
    EXPECT_NE(said.find("nothing listens there"), std::string::npos) << said;
    EXPECT_EQ(connector.size(), 0U);
}

TEST_P(EveryConnector, ClosesWhatItMadeAndForgetsWhatItBegan) {
    testing::EchoSessions echoes;
    TcpServer server(world_->loop(), echoes, {});
    server.listen(world_->listen());
    testing::ScriptedSessions sessions;
    int told = 0;
    {
        Connector connector(world_->loop(), {});
        const auto start = [&](Result<Connection*> made) {
            ++told;
            (*made)->start(sessions.make_session(**made));
        };
        connector.connect(world_->listening_at(), start);
        ASSERT_TRUE(world_->run_until([&] { return told == 1; }));
        connector.connect(world_->listening_at(), start);
    }
    EXPECT_EQ(told, 1);
    EXPECT_EQ(sessions.closed, std::vector{CloseReason::server_stopped});
    EXPECT_TRUE(world_->run_until([&] { return server.size() == 0; }));
}

TEST(Connector, ItsTimeOutMayBeNever) {
    testing::FakeWorld world;
    const auto listener = world.listen();
    world.network().lose_what_is_sent_to(world.listening_at());
    Connector connector(world.loop(), {.timeout = Duration::max()});
    connector.connect(world.listening_at(), [](Result<Connection*> made) {
        ADD_FAILURE() << (made ? "it is connected" : made.error().message());
    });
    world.advance(1h);
}

TEST(Connector, ConnectsFromTheGivenAddress) {
    auto world = testing::make_world("epoll");
    testing::ScriptedSessions accepted;
    TcpServer server(world->loop(), accepted, {});
    server.listen(world->listen());
    testing::ScriptedSessions sessions;
    Connector connector(world->loop(), {});
    const Route route{.to = world->listening_at(),
                      .from = core::Address::parse("127.9.8.7:0").value(),
                      .receive_buffer_bytes = 4'096};
    for (int i = 0; i < 2; ++i) {
        connector.connect(route, [&](Result<Connection*> made) {
            ASSERT_TRUE(made.has_value()) << made.error().message();
            (*made)->start(sessions.make_session(**made));
        });
    }
    ASSERT_TRUE(world->run_until([&] { return accepted.opened == 2 && sessions.opened == 2; }));
    EXPECT_EQ(accepted.connection->peer().with_port(1).to_string(), "127.9.8.7:1");
}

// The window's scale is fixed by the SYN.
TEST(Connector, SetsTheReceiveBufferBeforeItConnects) {
    struct NotingKernel final : core::ForwardingKernel {
        using ForwardingKernel::ForwardingKernel;
        int set_option(int fd, int level, int name, const void* value, socklen_t bytes) override {
            if (level == SOL_SOCKET && name == SO_RCVBUF) set = *static_cast<const int*>(value);
            return ForwardingKernel::set_option(fd, level, name, value, bytes);
        }
        int connect(int fd, const sockaddr* address, socklen_t bytes) override {
            connected_with.push_back(std::exchange(set, 0));
            return ForwardingKernel::connect(fd, address, bytes);
        }
        int set = 0;
        std::vector<int> connected_with;
    } kernel(core::system_kernel());
    const auto loop = std::move(*core::EventLoop::create({.backend = {.kernel = &kernel}}));
    const testing::Listening listening = testing::listen_on_loopback(core::system_kernel(), 8);
    Connector connector(*loop, {});
    int told = 0;
    for (const int wanted : {4'096, 0}) {
        connector.connect(Route{.to = listening.at, .receive_buffer_bytes = wanted},
                          [&](Result<Connection*>) { ++told; });
    }
    while (told < 2) loop->turn(1s);
    EXPECT_EQ(kernel.connected_with, (std::vector{4'096, 0}));
}

TEST(Connector, TellsThatAnAddressIsNotOurs) {
    auto world = testing::make_world("epoll");
    const auto listener = world->listen();
    Connector connector(world->loop(), {});
    int code = 0;
    connector.connect(
        Route{.to = world->listening_at(), .from = core::Address::parse("192.0.2.1:0").value()},
        [&](Result<Connection*> made) { code = made ? 0 : made.error().code(); });
    EXPECT_TRUE(world->run_until([&] { return code != 0; }));
    EXPECT_EQ(code, EADDRNOTAVAIL);
}

TEST(FakeConnector, HasAMaximum) {
    testing::FakeWorld world;
    testing::EchoSessions echoes;
    TcpServer server(world.loop(), echoes, {});
    server.listen(world.listen());
    testing::ScriptedSessions sessions;
    Connector connector(world.loop(), {.connections_max = 2});
    std::vector<int> outcomes;
    for (int i = 0; i < 3; ++i) {
        connector.connect(world.listening_at(), [&](Result<Connection*> made) {
            outcomes.push_back(made ? 0 : made.error().code());
            if (made) (*made)->start(sessions.make_session(**made));
        });
    }
    world.settle();
    std::ranges::sort(outcomes);
    EXPECT_EQ(outcomes, (std::vector<int>{0, 0, EUSERS}));
}

TEST(FakeConnector, ClosesASocketThatCannotComeFromItsAddress) {
    testing::FakeWorld world;
    const auto listener = world.listen();
    Connector connector(world.loop(), {});
    const std::int64_t open = world.open_descriptors();
    world.kernel().fail(1, EADDRINUSE, testing::Call::bind);
    int code = 0;
    connector.connect(
        Route{.to = world.listening_at(), .from = core::Address::parse("127.0.0.1:0").value()},
        [&](Result<Connection*> made) { code = made ? 0 : made.error().code(); });
    world.settle();
    EXPECT_EQ(code, EADDRINUSE);
    EXPECT_EQ(world.open_descriptors(), open);
}

TEST(FakeConnector, EndsItsOnlyConnectionBeforeItGoes) {
    testing::FakeWorld world;
    testing::EchoSessions echoes;
    TcpServer server(world.loop(), echoes, {});
    server.listen(world.listen());
    testing::ScriptedSessions sessions;
    {
        Connector connector(world.loop(), {});
        connector.connect(world.listening_at(), [&](Result<Connection*> made) {
            (*made)->start(sessions.make_session(**made));
        });
        world.settle();
        ASSERT_EQ(connector.size(), 1U);
    }
    EXPECT_EQ(sessions.closed, std::vector{CloseReason::server_stopped});
}

TEST(FakeConnector, SaysThatNoDescriptorIsLeft) {
    testing::FakeWorld world;
    world.listen();
    world.kernel().fail(1, EMFILE, testing::Call::open_socket);
    Connector connector(world.loop(), {});
    int code = 0;
    connector.connect(world.listening_at(),
                      [&](Result<Connection*> made) { code = made.error().code(); });
    world.settle();
    EXPECT_EQ(code, EMFILE);
}

// The caller waits for an outcome, and would do so for ever.
TEST(ConnectorMemory, WithoutItTheOutcomeIsReportedAllTheSame) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([](std::uint64_t nth) {
        const auto world = testing::make_world("epoll");
        testing::EchoSessions echoes;
        TcpServer server(world->loop(), echoes, {});
        server.listen(world->listen());
        testing::ScriptedSessions sessions;
        Connector connector(world->loop(), {});
        int outcomes = 0;
        int code = 0;
        connector.connect(world->listening_at(), [&](Result<Connection*> made) {
            ++outcomes;
            code = made ? 0 : made.error().code();
            if (made) (*made)->start(sessions.make_session(**made));
        });
        bool failed = false;
        {
            // The kernel has connected it already; the server has not accepted it yet.
            const testing::ScarceMemory scarce(nth);
            world->loop().turn(0s);
            failed = scarce.failed();
        }
        EXPECT_TRUE(world->run_until([&] { return outcomes == 1; })) << nth;
        EXPECT_TRUE(code == 0 || code == ENOMEM) << code;
        return failed;
    });
    EXPECT_GE(calls, 2U);
}

}  // namespace
}  // namespace tiderace::net
