#include "tiderace/task/detached.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/within.h"

namespace tiderace::task {
namespace {

class DetachedTest : public TaskTest {
  protected:
    DetachedTasks& all() { return runner.local<DetachedTasks>(); }
};

Task<std::unique_ptr<int>> make_seven(std::string& log, Duration wait) {
    const Farewell bye(log, 'm');
    if (wait > 0s) co_await sleep(wait);
    log += 'd';
    co_return std::make_unique<int>(7);
}

Task<> fail_detached(Duration wait) {
    if (wait > 0s) co_await sleep(wait);
    throw std::runtime_error("no more paper");
}

TEST_F(DetachedTest, ItsValueGoesToTheOneThatAwaitsIt) {
    for (const Duration wait : {Duration(0s), Duration(1ms)}) {
        std::string log;
        run([](std::string& text, Duration time) -> Task<> {
            const std::unique_ptr<int> made = co_await detached(make_seven(text, time));
            EXPECT_EQ(*made, 7);
            text += 'a';
        }(log, wait));
        EXPECT_EQ(log, "dma");
        EXPECT_EQ(all().running(), 0u);
    }
}

TEST_F(DetachedTest, WhatItThrowsIsThrownOn) {
    for (const Duration wait : {Duration(0s), Duration(1ms)}) {
        EXPECT_THROW(
            run([](Duration time) -> Task<> { co_await detached(fail_detached(time)); }(wait)),
            std::runtime_error);
        EXPECT_EQ(all().running(), 0u);
    }
}

TEST_F(DetachedTest, OneThatIsNotAwaitedDoesNotRun) {
    std::string log;
    run([](std::string& text) -> Task<> {
        {
            [[maybe_unused]] const auto unused = detached(make_seven(text, 0s));
        }
        co_return;
    }(log));
    EXPECT_EQ(log, "");
}

TEST_F(DetachedTest, ItGoesOnWhenTheOneThatAwaitsItIsCancelled) {
    std::string log;
    Kept root;
    root.start(runner, [](std::string& text) -> Task<> {
        const Farewell bye(text, 'h');
        co_await detached(make_seven(text, 5ms));
        text += '!';
    }(log));
    world.advance(1ms);
    root.cancel();
    EXPECT_EQ(log, "h");
    EXPECT_EQ(all().running(), 1u);
    world.advance(10ms);
    EXPECT_EQ(log, "hdm");
    EXPECT_EQ(all().running(), 0u);
}

TEST_F(DetachedTest, ADeadlineAroundItEndsTheWaitAlone) {
    std::string log;
    run([](std::string& text) -> Task<> {
        const auto late = co_await within(1ms, detached(make_seven(text, 5ms)));
        EXPECT_FALSE(late);
        EXPECT_EQ(text, "");
        co_await sleep(10ms);
    }(log));
    EXPECT_EQ(log, "dm");
}

TEST_F(DetachedTest, AFailureThatNothingAwaitsEndsNothingElse) {
    Kept root;
    root.start(runner, []() -> Task<> { co_await detached(fail_detached(5ms)); }());
    world.advance(1ms);
    root.cancel();
    world.advance(10ms);
    EXPECT_EQ(all().running(), 0u);
    EXPECT_FALSE(root.failure);
}

TEST_F(DetachedTest, TheRunnersEndCancelsIt) {
    std::string log;
    Kept root;
    root.start(runner,
               [](std::string& text) -> Task<> { co_await detached(make_seven(text, 1h)); }(log));
    world.advance(1ms);
    root.cancel();
    runner.cancel_spawned();
    EXPECT_EQ(log, "m");
    EXPECT_EQ(all().running(), 0u);
}

TEST_F(DetachedTest, ADrainWaitsForAllUntilItsDeadline) {
    int drained = 0;
    const auto drain = [&](Duration limit) {
        all().drain(world.loop().now() + limit, [&] { ++drained; });
    };
    drain(1s);
    EXPECT_EQ(drained, 1) << "nothing runs";
    std::string log;
    Kept root;
    root.start(runner,
               [](std::string& text) -> Task<> { co_await detached(make_seven(text, 5ms)); }(log));
    drain(1s);
    world.advance(1ms);
    EXPECT_EQ(drained, 1);
    world.advance(10ms);
    EXPECT_EQ(drained, 2);
    world.advance(2s);
    EXPECT_EQ(drained, 2) << "its deadline was withdrawn";
    Kept slow;
    slow.start(runner,
               [](std::string& text) -> Task<> { co_await detached(make_seven(text, 1h)); }(log));
    drain(1s);
    world.advance(2s);
    EXPECT_EQ(drained, 3);
    world.advance(2h);
    EXPECT_EQ(drained, 3);
}

}  // namespace
}  // namespace tiderace::task
