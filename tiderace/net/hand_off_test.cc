#include "tiderace/net/hand_off.h"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "tiderace/net/listener.h"
#include "tiderace/net/loop_group.h"
#include "tiderace/testing/echo_session.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/scripted_session.h"

namespace tiderace::net {
namespace {

// Both ends on one fake loop: posts run in a later turn, so that waiting can be seen.
class HandOffTest : public ::testing::Test {
  protected:
    testing::FakeWorld world_;
    testing::ScriptedSessions sessions_;
    TcpServer one_{world_.loop(), sessions_, {}};
    TcpServer two_{world_.loop(), sessions_, {}};
};

TEST_F(HandOffTest, GivesConnectionsToTheServersInTurn) {
    HandOff hand_off(world_.loop(), {{&world_.loop(), &one_}, {&world_.loop(), &two_}}, 100, "");
    hand_off.listen(world_.listen());
    std::vector<std::unique_ptr<testing::Peer>> peers;
    for (int i = 0; i < 6; ++i) peers.push_back(world_.connect());
    ASSERT_TRUE(world_.run_until([&] { return sessions_.opened == 6; }));
    EXPECT_EQ(one_.size(), 3U);
    EXPECT_EQ(two_.size(), 3U);
    EXPECT_EQ(hand_off.waiting(), 0U);
}

// On real sockets, which a second loop can take over; it turns only when the test turns it.
class HandOffToASlowLoop : public ::testing::Test {
  protected:
    void connect(int count) {
        for (int i = 0; i < count; ++i) peers_.push_back(world_->connect());
        world_->settle();
    }
    void slow_turn() {
        slow_->turn(Duration::zero());
        world_->advance(1ms);  // the interval at which it checks whether it has caught up
    }

    std::unique_ptr<testing::World> world_ = testing::make_world("epoll");
    std::unique_ptr<core::EventLoop> slow_ = std::move(*core::EventLoop::create({}));
    testing::ScriptedSessions sessions_;
    TcpServer server_{*slow_, sessions_, {}};
    std::vector<std::unique_ptr<testing::Peer>> peers_;
};

TEST_F(HandOffToASlowLoop, AboveItsBoundTheyWaitInTheKernelsQueue) {
    HandOff hand_off(world_->loop(), {{slow_.get(), &server_}}, 4, "busy");
    hand_off.listen(world_->listen());
    connect(10);
    ASSERT_TRUE(world_->run_until([&] { return hand_off.waiting() == 4; }));
    world_->advance(5ms);
    EXPECT_EQ(hand_off.waiting(), 4U);
    slow_turn();
    EXPECT_EQ(sessions_.opened, 4);
    ASSERT_TRUE(world_->run_until([&] { return hand_off.waiting() == 4; }));
    slow_turn();
    ASSERT_TRUE(world_->run_until([&] { return hand_off.waiting() == 2; }));
    slow_turn();
    EXPECT_EQ(sessions_.opened, 10);
    EXPECT_EQ(hand_off.refused(), 0U);
}

TEST_F(HandOffToASlowLoop, AFullOneIsLookedAtOnceAMillisecond) {
    HandOff hand_off(world_->loop(), {{slow_.get(), &server_}}, 2, "busy");
    hand_off.listen(world_->listen());
    connect(4);
    ASSERT_TRUE(world_->run_until([&] { return hand_off.waiting() == 2; }));
    world_->advance(5ms);  // in vain
    slow_->turn(Duration::zero());
    world_->settle();
    EXPECT_EQ(hand_off.waiting(), 0U) << "no time has passed since the last look";
    world_->advance(1ms);
    EXPECT_TRUE(world_->run_until([&] { return hand_off.waiting() == 2; }));
    slow_->turn(Duration::zero());
    EXPECT_EQ(sessions_.opened, 4);
}

TEST_F(HandOffToASlowLoop, TheOthersGoOnBesideOneThatIsStuck) {
    TcpServer quick(world_->loop(), sessions_, {});
    HandOff hand_off(world_->loop(), {{slow_.get(), &server_}, {&world_->loop(), &quick}}, 4, "");
    hand_off.listen(world_->listen());
    connect(10);
    ASSERT_TRUE(world_->run_until([&] { return quick.size() == 8; }));
    EXPECT_EQ(hand_off.waiting(), 2U);
    slow_turn();
    EXPECT_EQ(server_.size(), 2U);
    EXPECT_EQ(hand_off.waiting(), 0U);
}

TEST_F(HandOffToASlowLoop, StopHandsOverWaitingConnectionsAboveItsBound) {
    HandOff hand_off(world_->loop(), {{slow_.get(), &server_}}, 1, "busy");
    hand_off.listen(world_->listen());
    connect(3);
    ASSERT_TRUE(world_->run_until([&] { return hand_off.waiting() == 1; }));
    hand_off.stop();
    EXPECT_EQ(hand_off.waiting(), 3U);
    slow_turn();
    EXPECT_EQ(sessions_.opened, 3);
    EXPECT_EQ(hand_off.refused(), 0U);
}

// Above its bound it would check every millisecond when it may accept again.
TEST_F(HandOffTest, StoppedItWakesItsLoopNoMore) {
    const auto stuck = std::move(*core::EventLoop::create({}));
    HandOff hand_off(world_.loop(), {{stuck.get(), &one_}}, 2, "");
    hand_off.listen(world_.listen());
    std::vector<std::unique_ptr<testing::Peer>> peers;
    for (int i = 0; i < 5; ++i) peers.push_back(world_.connect());
    hand_off.stop();
    EXPECT_EQ(hand_off.waiting(), 5U);
    const std::uint64_t before = world_.loop().turns();
    world_.advance(1s);
    EXPECT_LT(world_.loop().turns() - before, 100U);
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Counts what went through it.
struct CountingLayer final : public TransportLayer {
    std::unique_ptr<Transport> wrap(std::unique_ptr<Transport> below) override {
        ++wrapped;
        return below;
    }
    int wrapped = 0;
};

TEST_F(HandOffTest, PutsEachTargetsLayerOnConnectionsOfALayeredSocketOnly) {
    CountingLayer first, second;
    HandOff hand_off(world_.loop(),
                     {{&world_.loop(), &one_, &first}, {&world_.loop(), &two_, &second}}, 100, "");
    hand_off.listen(world_.listen());
    const core::Address plain = world_.listening_at();
    hand_off.listen_layered(world_.listen());
    const auto in_clear_text = world_.connect(plain);
    ASSERT_TRUE(world_.run_until([&] { return sessions_.opened == 1; }));
    EXPECT_EQ(first.wrapped, 0);
    std::vector<std::unique_ptr<testing::Peer>> peers;
    for (int i = 0; i < 4; ++i) peers.push_back(world_.connect());
    ASSERT_TRUE(world_.run_until([&] { return sessions_.opened == 5; }));
    EXPECT_EQ(first.wrapped, 2);
    EXPECT_EQ(second.wrapped, 2);
}

TEST_F(HandOffTest, StopHandsOverConnectionsInTheQueue) {
    HandOff hand_off(world_.loop(), {{&world_.loop(), &one_}}, 100, "");
    hand_off.listen(world_.listen());
    const auto one = world_.connect();
    const auto two = world_.connect();
    hand_off.stop();
    EXPECT_TRUE(world_.run_until([&] { return sessions_.opened == 2; }));
}

// The loop that was to take them over ends first, with their tasks still in its mailbox.
TEST_F(HandOffTest, AConnectionThatWaitsForAnEndingLoopIsClosed) {
    testing::FakeWorld world;
    auto ending = std::move(*core::EventLoop::create({}));
    HandOff hand_off(world.loop(), {{ending.get(), &one_}}, 100, "");
    hand_off.listen(world.listen());
    const auto one = world.connect();
    const auto two = world.connect();
    world.settle();
    EXPECT_EQ(hand_off.waiting(), 2U);
    EXPECT_FALSE(one->over());
    ending.reset();
    EXPECT_TRUE(world.run_until([&] { return one->over() && two->over(); }));
    EXPECT_EQ(hand_off.waiting(), 0U);
}

TEST_F(HandOffTest, AWaitingConnectionMayOutliveTheHandOff) {
    auto loop = std::move(*core::EventLoop::create({}));
    const auto peer = [&] {
        HandOff hand_off(world_.loop(), {{loop.get(), &one_}}, 100, "");
        hand_off.listen(world_.listen());
        auto waiting = world_.connect();
        world_.settle();
        EXPECT_EQ(hand_off.waiting(), 1U);
        return waiting;
    }();
    loop.reset();
    EXPECT_TRUE(world_.run_until([&] { return peer->over(); }));
}

TEST_F(HandOffTest, ALoopThatTakesNoPostsRefusesWithAWord) {
    auto full = std::move(*core::EventLoop::create({.mailbox_posts_max = 1}));
    HandOff hand_off(world_.loop(), {{full.get(), &one_}}, 100, "busy");
    hand_off.listen(world_.listen());
    const auto one = world_.connect();
    const auto two = world_.connect();
    ASSERT_TRUE(world_.run_until([&] { return two->over(); }));
    EXPECT_EQ(two->heard(), "busy");
    EXPECT_EQ(hand_off.refused(), 1U);
    EXPECT_EQ(hand_off.waiting(), 1U);
}

// Any allocation of the accepting loop's turn may fail: the connection that needed it is closed and
// no longer counted, and the next one is handed over.
TEST(HandOffMemory, WithoutItOneConnectionIsLostAndNoDescriptor) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([](std::uint64_t nth) {
        auto loop = std::move(*core::EventLoop::create({}));
        auto other = std::move(*core::EventLoop::create({}));
        testing::ScriptedSessions sessions;
        TcpServer server(*other, sessions, {});
        HandOff hand_off(*loop, {{other.get(), &server}}, 100, "busy");
        auto listener = open_listener(loop->kernel(), core::Address::loopback(0), {});
        EXPECT_TRUE(listener.has_value());
        const core::Address at = local_address(loop->kernel(), *listener);
        hand_off.listen(std::move(*listener));
        const auto connect = [&] {
            core::Descriptor client(loop->kernel(), ::socket(AF_INET, SOCK_STREAM, 0));
            sockaddr_storage raw;
            const socklen_t bytes = at.to_sockaddr(raw);
            EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&raw), bytes), 0);
            return client;
        };
        if (!std::filesystem::exists("/proc/self/fd")) return false;
        const core::Descriptor before = connect();  // the engine's own lists have grown with it
        loop->turn(Duration::zero());
        other->turn(Duration::zero());
        EXPECT_EQ(server.size(), 1U);
        const auto open_before = open_descriptors();
        const core::Descriptor first = connect();
        bool failed = false;
        {
            testing::ScarceMemory scarce(nth);
            loop->turn(Duration::zero());
            failed = scarce.failed();
        }
        const core::Descriptor second = connect();
        loop->turn(Duration::zero());
        other->turn(Duration::zero());
        EXPECT_EQ(hand_off.waiting(), 0U) << nth;
        EXPECT_EQ(server.size() + hand_off.refused(), 3U) << nth;
        EXPECT_GE(server.size(), 2U) << nth;
        EXPECT_EQ(open_descriptors(), open_before + 2 + server.size() - 1) << nth;
        return failed;
    });
    if (std::filesystem::exists("/proc/self/fd")) {
        EXPECT_GE(calls, 2U);
    }
}

// Real threads: one listens, two serve. The sanitizers watch.
TEST(HandOffThreads, ServeWhatAnotherThreadAccepted) {
    constexpr int clients = 40;
    auto group = std::move(*LoopGroup::create(3, {}));
    testing::EchoSessions first, second;
    std::optional<TcpServer> one(std::in_place, group->loop(1), first, TcpServerOptions{});
    std::optional<TcpServer> two(std::in_place, group->loop(2), second, TcpServerOptions{});
    HandOff hand_off(group->loop(0), {{&group->loop(1), &*one}, {&group->loop(2), &*two}}, 1'000,
                     "");
    auto listener =
        std::move(*open_listener(core::system_kernel(), core::Address::loopback(0), {}));
    sockaddr_storage at{};
    const socklen_t bytes = local_address(core::system_kernel(), listener).to_sockaddr(at);
    hand_off.listen(std::move(listener));

    int answered = 0;
    std::thread client([&] {
        for (int i = 0; i < clients; ++i) {
            const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
            if (fd < 0) continue;
            char buffer[8];
            if (::connect(fd, reinterpret_cast<const sockaddr*>(&at), bytes) == 0 &&
                ::send(fd, "question", 8, MSG_NOSIGNAL) == 8 &&
                ::recv(fd, buffer, 8, MSG_WAITALL) == 8) {
                ++answered;
            }
            core::system_kernel().close(fd);
        }
        group->stop();
    });
    group->run();
    client.join();
    EXPECT_EQ(answered, clients);
    EXPECT_EQ(first.opened, clients / 2U);
    EXPECT_EQ(second.opened, clients / 2U);
    one.reset();
    two.reset();
}

}  // namespace
}  // namespace tiderace::net
