#include "tiderace/tcp/race.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <optional>
#include <string>

#include "tiderace/net/listener.h"
#include "tiderace/task/runner_fixture.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/world.h"

namespace tiderace::tcp {
namespace {

core::Address at(const std::string& text) {
    return core::Address::parse(text).value();
}

std::string texts(const std::vector<core::Address>& addresses) {
    std::string all;
    for (const core::Address& each : addresses) {
        all += (all.empty() ? "" : " ") + each.to_string();
    }
    return all;
}

TEST(Interleave, TakesFamiliesInTurnBeginningWithTheFirst) {
    EXPECT_EQ(texts(interleave({at("[::1]:1"), at("[::2]:1"), at("[::3]:1"), at("1.1.1.1:1")})),
              "[::1]:1 1.1.1.1:1 [::2]:1 [::3]:1");
    EXPECT_EQ(texts(interleave({at("1.1.1.1:1"), at("2.2.2.2:1"), at("[::1]:1")})),
              "1.1.1.1:1 [::1]:1 2.2.2.2:1");
    EXPECT_EQ(texts(interleave({at("1.1.1.1:1"), at("[::1]:1"), at("[::2]:1")})),
              "1.1.1.1:1 [::1]:1 [::2]:1");
    EXPECT_EQ(texts(interleave({at("1.1.1.1:1")})), "1.1.1.1:1");
}

class RaceTest : public task::TaskTest {
  protected:
    // An address with a listener.
    core::Address open() {
        listeners_.push_back(world.listen());
        return world.listening_at();
    }
    // An address without one.
    static core::Address refusing() { return core::Address::loopback(9); }
    // One that does not answer.
    core::Address silent() {
        const core::Address there = at("192.0.2.1:" + std::to_string(++silent_port_));
        world.network().lose_what_is_sent_to(there);
        return there;
    }
    Race::Outcome race(std::vector<core::Address> to, Duration until = 10s) {
        std::optional<Race::Outcome> outcome;
        run([](auto to, Instant until, auto& outcome) -> task::Task<> {
            Race race(to, 250ms, until);
            outcome = co_await race;
        }(std::move(to), world.clock().now() + until, outcome));
        return std::move(*outcome);
    }

    std::vector<core::Descriptor> listeners_;
    int silent_port_ = 0;
};

TEST_F(RaceTest, TheFirstThatOpensWins) {
    const core::Address first = open(), second = open();
    EXPECT_EQ(race({first, second}).address, first);
    EXPECT_LT(elapsed(), 250ms);
}

TEST_F(RaceTest, ARefusalStartsTheNextAtOnce) {
    const core::Address good = open();
    const auto outcome = race({refusing(), refusing(), good});
    EXPECT_NE(outcome.transport, nullptr);
    EXPECT_EQ(outcome.address, good);
    EXPECT_EQ(outcome.error, 0);
    EXPECT_LT(elapsed(), 250ms);
}

TEST_F(RaceTest, SilenceStartsTheNextAfterTheStaggerAndIsClosedWhenAnotherWins) {
    const core::Address good = open();
    const auto before = world.open_descriptors();
    {
        const auto outcome = race({silent(), silent(), good});
        EXPECT_EQ(outcome.address, good);
        EXPECT_GE(elapsed(), 500ms);
        EXPECT_LT(elapsed(), 600ms);
        world.settle();
        EXPECT_EQ(world.open_descriptors(), before + 1);
    }
    world.settle();
    EXPECT_EQ(world.open_descriptors(), before);
}

TEST_F(RaceTest, ItTimesOutWithoutAnAnswer) {
    const auto outcome = race({silent(), silent()}, 1s);
    EXPECT_EQ(outcome.transport, nullptr);
    EXPECT_EQ(outcome.error, ETIMEDOUT);
    EXPECT_GE(elapsed(), 1s);
    EXPECT_LT(elapsed(), 1100ms);
    world.settle();
    EXPECT_EQ(world.open_descriptors(), 0);
}

TEST_F(RaceTest, ARefusalSaysMoreThanAMissingFamily) {
    world.kernel().fail(1, EAFNOSUPPORT, testing::Call::open_socket);
    const auto outcome = race({at("[2001:db8::1]:80"), refusing()});
    EXPECT_EQ(outcome.error, ECONNREFUSED);
    EXPECT_EQ(outcome.address, refusing());
    EXPECT_LT(elapsed(), 250ms);
    world.kernel().fail(1, EAFNOSUPPORT, testing::Call::open_socket);
    EXPECT_EQ(race({at("[2001:db8::1]:80")}).error, EAFNOSUPPORT);
}

TEST_F(RaceTest, WithoutMemoryForASocketTheNextIsTriedAtOnce) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const core::Address first = open(), second = open();
    // Which allocation is the socket's changes as the world's tables grow.
    const auto outcome = [&](const std::vector<core::Address>& to) {
        for (std::uint64_t i = 0; i < 200; ++i) {
            const testing::ScarceMemory scarce(i % 20 + 1);
            try {
                Race::Outcome made = race(to);
                if (made.transport == nullptr || made.address != first) return made;
            } catch (const std::bad_alloc&) {  // for something else
            }
        }
        return Race::Outcome();
    };
    EXPECT_EQ(outcome({first, second}).address, second);
    EXPECT_EQ(outcome({first}).error, ENOMEM);
    EXPECT_LT(elapsed(), 250ms);
}

TEST_F(RaceTest, CancellingClosesWhatIsBeingOpened) {
    Kept root;
    root.start(runner, [](std::vector<core::Address> to, Instant until) -> task::Task<> {
        Race race(to, 250ms, until);
        co_await race;
    }({silent(), silent()}, world.clock().now() + 10s));
    world.settle();
    world.advance(300ms);
    EXPECT_EQ(world.open_descriptors(), 2);
    root.cancel();
    world.settle();
    EXPECT_EQ(world.open_descriptors(), 0);
}

// On the machine's own sockets: a peer that resets while it is being connected to leaves a hang-up.
TEST(RaceOnSockets, AnAttemptThatWasResetIsNotHeardOfAgain) {
    for (const char* engine : {"epoll", "io_uring", "kqueue", "poll", "select"}) {
        auto loop = core::EventLoop::create({.engine = engine});
        if (!loop) continue;  // not on this system
        core::Kernel& kernel = core::system_kernel();
        auto resets = net::open_listener(kernel, core::Address::loopback(0), {});
        auto good = net::open_listener(kernel, core::Address::loopback(0), {});
        ASSERT_TRUE(resets && good);
        const std::vector<core::Address> to{net::local_address(kernel, *resets),
                                            net::local_address(kernel, *good)};
        task::Runner runner(**loop);
        std::optional<Race::Outcome> outcome;
        runner.spawn([](auto to, auto& outcome) -> task::Task<> {
            Race race(to, 250ms, Instant::max());
            outcome = co_await race;
        }(to, outcome));
        // The kernel resets an accepted connection before the loop has seen that it is connected.
        *resets = {};
        for (int i = 0; i < 1'000 && !outcome; ++i) (*loop)->turn(1s);
        ASSERT_TRUE(outcome) << engine;
        EXPECT_NE(outcome->transport, nullptr) << engine;
        EXPECT_EQ(outcome->address, to[1]) << engine;
        outcome.reset();
    }
}

}  // namespace
}  // namespace tiderace::tcp
