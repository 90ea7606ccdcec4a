#include "tiderace/core/event_loop.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "tiderace/testing/manual_clock.h"

namespace tiderace::core {
namespace {

struct TestTimer : Timer {
    explicit TestTimer(std::function<void()> f) : action(std::move(f)) {}
    void on_expired() override { action(); }
    std::function<void()> action;
};

struct TestTurnEnd : TurnEnd {
    explicit TestTurnEnd(std::function<void()> f) : action(std::move(f)) {}
    void on_turn_end() override { action(); }
    std::function<void()> action;
};

std::unique_ptr<EventLoop> make_loop(const Clock* clock = nullptr) {
    return std::move(*EventLoop::create({.clock = clock}));
}

TEST(EventLoop, RunsPostsOfOtherThreadsInOrderUntilItIsStopped) {
    auto loop = make_loop();
    std::vector<int> ran;
    std::thread other([&] {
        for (int i = 0; i < 100; ++i) loop->post([&, i] { ran.push_back(i); });
        loop->post([&] { loop->stop(); });
    });
    loop->run();
    other.join();
    ASSERT_EQ(ran.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(EventLoop, ARequestToStopIsNeverRefusedAndWhatWasPostedBeforeItRuns) {
    auto loop = std::move(*EventLoop::create({.mailbox_posts_max = 2}));
    int ran = 0;
    std::thread other([&] {
        while (loop->post([&] { ++ran; })) {
        }
        loop->request_stop();
    });
    other.join();
    loop->run();
    EXPECT_EQ(ran, 2);
    // One request ends one run.
    loop->post([&] { loop->request_stop(); });
    loop->run();
    EXPECT_EQ(ran, 2);
}

TEST(EventLoop, TimersFireUnderATestsClock) {
    testing::ManualClock clock;
    auto loop = make_loop(&clock);
    int fired = 0;
    TestTimer timer([&] { ++fired; });
    loop->turn(0s);
    loop->arm(timer, loop->now() + 10s);
    clock.advance(9s);
    loop->turn(0s);
    EXPECT_EQ(fired, 0);
    clock.advance(1s);
    loop->turn(0s);
    EXPECT_EQ(fired, 1);
    loop->turn(0s);
    EXPECT_EQ(fired, 1);
}

TEST(EventLoop, ReadsTheCalendarWhenASecondEnds) {
    testing::ManualClock clock;
    auto loop = make_loop(&clock);
    const UnixSeconds before = loop->unix_now();
    clock.advance(3s);
    loop->turn(0s);
    EXPECT_EQ(loop->unix_now(), before + 3);
}

TEST(EventLoop, WorkAtTheEndOfATurnRunsOnceInThatTurn) {
    auto loop = make_loop();
    int ran = 0;
    TestTurnEnd work([&] { ++ran; });
    loop->post([&] {
        loop->at_turn_end(work);
        loop->at_turn_end(work);
        EXPECT_EQ(ran, 0);
    });
    loop->turn(0s);
    EXPECT_EQ(ran, 1);
    loop->turn(0s);
    EXPECT_EQ(ran, 1);
}

TEST(EventLoop, WorkThatAsksForItselfAgainDoesNotHoldTheTurn) {
    auto loop = make_loop();
    int ran = 0;
    TestTurnEnd* self = nullptr;
    TestTurnEnd work([&] {
        ++ran;
        if (ran < 1000) loop->at_turn_end(*self);
    });
    self = &work;
    loop->at_turn_end(work);
    loop->turn(Duration(-1));
    EXPECT_LT(ran, 1000);
    while (ran < 1000) loop->turn(Duration(-1));  // never waits while there is work
}

TEST(EventLoop, ATaskPostedByATaskRunsInALaterTurn) {
    auto loop = make_loop();
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    loop->post([&] {
        first = loop->turns();
        loop->post([&] { second = loop->turns(); });
    });
    while (second == 0) loop->turn(Duration(-1));
    EXPECT_GT(second, first);
}

TEST(EventLoop, WhoTurnsItElsewhereKnowsHowLongItWouldWaitAndWhetherItEnds) {
    auto loop = make_loop();
    EXPECT_LT(loop->wait_wanted(), Duration::zero()) << "for ever";
    TestTurnEnd work([] {});
    loop->at_turn_end(work);
    EXPECT_EQ(loop->wait_wanted(), Duration::zero());
    loop->turn(0s);
    EXPECT_LT(loop->wait_wanted(), Duration::zero());
    EXPECT_FALSE(loop->stopping());
    loop->request_stop();
    EXPECT_FALSE(loop->stopping()) << "not before the turn that sees it";
    loop->turn(0s);
    EXPECT_TRUE(loop->stopping());
    EXPECT_EQ(loop->wait_wanted(), Duration::zero());
}

TEST(EventLoopDeathTest, AWrongThreadsCallAborts) {
    auto loop = make_loop();
    EXPECT_DEATH(
        {
            loop->post([&] { std::thread([&] { loop->stop(); }).join(); });
            loop->turn(0s);
        },
        "wrong thread");
}

}  // namespace
}  // namespace tiderace::core
