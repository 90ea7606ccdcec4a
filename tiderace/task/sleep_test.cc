#include "tiderace/task/sleep.h"

#include <gtest/gtest.h>

#include "tiderace/task/runner_fixture.h"

namespace tiderace::task {
namespace {

class SleepTest : public TaskTest {};

TEST_F(SleepTest, ItTakesAsLongAsAskedAndNoLonger) {
    run([]() -> Task<> { co_await sleep(50ms); }());
    EXPECT_GE(elapsed(), 50ms);
    EXPECT_LE(elapsed(), 52ms);
}

TEST_F(SleepTest, ZeroAndLessGiveWayOnce) {
    std::string order;
    Kept first;
    Kept second;
    const auto body = [](std::string& text, char letter) -> Task<> {
        text += letter;
        co_await sleep(-5s);
        text += letter;
    };
    first.start(runner, body(order, 'a'));
    second.start(runner, body(order, 'b'));
    world.settle();
    EXPECT_EQ(order, "abab");
    EXPECT_EQ(elapsed(), 0ms);
}

TEST_F(SleepTest, ASleepBeyondTheClockNeverEnds) {
    Kept root;
    root.start(runner, []() -> Task<> { co_await sleep(Duration::max()); }());
    world.advance(24h);
    EXPECT_FALSE(root.ended);
}

TEST_F(SleepTest, UntilAMomentThatHasPassedItReturns) {
    run([](Instant then) -> Task<> { co_await sleep_until(then); }(world.loop().now() - 1s));
    EXPECT_LE(elapsed(), 1ms);
}

TEST_F(SleepTest, ACancelledSleepLeavesNoTimer) {
    {
        Kept root;
        root.start(runner, []() -> Task<> { co_await sleep(1h); }());
        EXPECT_TRUE(world.loop().wait_wanted() > Duration::zero());
        root.cancel();
    }
    EXPECT_LT(world.loop().wait_wanted(), Duration::zero()) << "nothing is armed";
}

}  // namespace
}  // namespace tiderace::task
