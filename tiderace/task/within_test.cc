#include "tiderace/task/within.h"

#include <gtest/gtest.h>

#include <expected>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tiderace/task/offload.h"
#include "tiderace/task/runner_fixture.h"

namespace tiderace::task {
namespace {

class WithinTest : public TaskTest {};

Task<int> value_of_a_thread() {
    co_return co_await offload([] { return 7; });
}

Task<int> value_after(Duration wait, int value) {
    co_await sleep(wait);
    co_return value;
}

TEST_F(WithinTest, InTimeItGivesTheValue) {
    int value = 0;
    run([](int& out) -> Task<> {
        out = (co_await within(1s, value_after(10ms, 5))).value();
    }(value));
    EXPECT_EQ(value, 5);
    EXPECT_LT(elapsed(), 20ms) << "the deadline is not waited for";
}

TEST_F(WithinTest, TooLateTheTaskEndsAtItsAwait) {
    std::string log;
    bool late = false;
    run([](std::string& text, bool& out) -> Task<> {
        auto result = co_await within(10ms, [](std::string& t) -> Task<> {
            const Farewell bye(t, 'x');
            co_await sleep(1h);
            t += "never";
        }(text));
        out = !result;
        text += '.';
    }(log, late));
    EXPECT_TRUE(late);
    EXPECT_EQ(log, "x.");
    EXPECT_LT(elapsed(), 12ms);
}

TEST_F(WithinTest, ABlockedLoopLosesNoValueThatIsReady) {
    int value = 0;
    Kept root;
    root.start(runner, [](int& out) -> Task<> {
        auto result = co_await within(5s, value_after(1s, 5));
        out = result.value_or(-1);
    }(value));
    world.settle();
    world.clock().advance(10s);
    world.settle();
    EXPECT_TRUE(root.ended);
    EXPECT_EQ(value, 5);
}

// The process was stopped: a thread's value that came before the loop turned again is in time,
// whatever the clock says now.
TEST_F(WithinTest, AThreadsValueThatCameBeforeABlockedLoopTurnsCounts) {
    std::optional<std::expected<int, TimedOut>> value;
    Kept root;
    root.start(runner, [](auto& out) -> Task<> {
        out = co_await within(1s, value_of_a_thread());
    }(value));
    world.loop().turn(0ms);
    while (pool.counters().completed == 0) std::this_thread::sleep_for(1ms);
    world.clock().advance(1h);
    turn_until([&] { return root.ended; });
    EXPECT_EQ(value, (std::expected<int, TimedOut>(7)));
}

TEST_F(WithinTest, AnExceptionPasses) {
    EXPECT_THROW(run([]() -> Task<> {
                     auto result = co_await within(1s, []() -> Task<> {
                         co_await sleep(1ms);
                         throw std::out_of_range("x");
                     }());
                     (void)result;
                 }()),
                 std::out_of_range);
}

// What it awaits keeps the deadline by itself, and the loop was late for both.
TEST_F(WithinTest, AnExceptionThatComesTooLateIsTooLate) {
    bool late = false;
    Kept root;
    root.start(runner, [](bool& out) -> Task<> {
        auto result = co_await within(1s, []() -> Task<> {
            co_await sleep(999ms);
            throw std::out_of_range("x");
        }());
        out = !result;
    }(late));
    world.settle();
    world.clock().advance(10s);
    world.settle();
    EXPECT_TRUE(root.ended);
    EXPECT_TRUE(late);
    EXPECT_EQ(root.failure, nullptr);
}

TEST_F(WithinTest, WhatIsAwaitedInheritsTheEarliestDeadline) {
    std::vector<Duration> left;
    run([](std::vector<Duration>& out, core::EventLoop& loop) -> Task<> {
        const auto note = [](std::vector<Duration>& o, core::EventLoop& l) -> Task<> {
            o.push_back(deadline() - l.now());
            co_await sleep(1ms);
            o.push_back(deadline() - l.now());  // after a wait it is the same one
        };
        EXPECT_EQ(deadline(), Instant::max());
        (void)co_await within(1s, [](auto body, auto& o, auto& l) -> Task<> {
            (void)co_await within(5s, body(o, l));
            o.push_back(deadline() - l.now());
            (void)co_await within(100ms, body(o, l));
            o.push_back(deadline() - l.now());
        }(note, out, loop));
        EXPECT_EQ(deadline(), Instant::max());
    }(left, world.loop()));
    ASSERT_EQ(left.size(), 6u);
    EXPECT_EQ(left[0], 1s);
    EXPECT_LT(left[1], 1s);
    EXPECT_LT(left[2], 1s);
    EXPECT_EQ(left[3], 100ms);
    EXPECT_LT(left[4], 100ms);
    EXPECT_GT(left[5], 900ms);
}

TEST_F(WithinTest, AnyAwaitableWillDo) {
    bool late = false;
    run([](bool& out) -> Task<> { out = !co_await within(5ms, sleep(1h)); }(late));
    EXPECT_TRUE(late);
}

TEST_F(WithinTest, ATaskThatEndsWithoutWaitingIsInTimeEvenWithoutAny) {
    int value = 0;
    run([](int& out) -> Task<> {
        out = (co_await within(0ms, []() -> Task<int> { co_return 3; }())).value();
    }(value));
    EXPECT_EQ(value, 3);
}

}  // namespace
}  // namespace tiderace::task
