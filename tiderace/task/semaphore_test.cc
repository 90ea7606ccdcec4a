#include "tiderace/task/semaphore.h"

#include <gtest/gtest.h>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/within.h"

namespace tiderace::task {
namespace {

class SemaphoreTest : public TaskTest {};

TEST_F(SemaphoreTest, NoMoreThanItsPermitsRunAtOnce) {
    int most = 0;
    run([](int& out) -> Task<> {
        Semaphore three(3);
        int now = 0;
        Scope scope;
        for (int i = 0; i < 20; ++i) {
            scope.spawn([](Semaphore& s, int& running, int& peak) -> Task<> {
                auto permit = co_await s.acquire();
                peak = std::max(peak, ++running);
                co_await sleep(5ms);
                --running;
            }(three, now, out));
        }
        co_await scope.join();
        EXPECT_EQ(three.free(), 3u);
    }(most));
    EXPECT_EQ(most, 3);
}

TEST_F(SemaphoreTest, WaitersAreServedInOrderAndALargeOneIsNotOvertaken) {
    std::string order;
    run([](std::string& text) -> Task<> {
        Semaphore two(2);
        Scope scope;
        const auto take = [](Semaphore& s, std::size_t n, std::string& t, char c) -> Task<> {
            auto permit = co_await s.acquire(n);
            t += c;
            co_await sleep(1ms);
        };
        scope.spawn(take(two, 1, text, 'a'));
        scope.spawn(take(two, 2, text, 'b'));
        scope.spawn(take(two, 1, text, 'c'));
        co_await scope.join();
    }(order));
    EXPECT_EQ(order, "abc");
}

TEST_F(SemaphoreTest, ACancelledWaiterLeavesTheQueue) {
    run([]() -> Task<> {
        Mutex mutex;
        auto held = co_await mutex.lock();
        EXPECT_FALSE(
            co_await within(1ms, [](Mutex& m) -> Task<> { auto lock = co_await m.lock(); }(mutex)));
        held.release();
        auto again = co_await mutex.lock();
    }());
}

TEST_F(SemaphoreTest, ALargeOneThatIsCancelledHoldsUpNoSmallOne) {
    run([]() -> Task<> {
        const auto take = [](Semaphore& s, std::size_t count) -> Task<> {
            auto permit = co_await s.acquire(count);
        };
        Semaphore two(2);
        auto held = co_await two.acquire();
        Scope scope;
        bool small = false;
        scope.spawn([](Semaphore& s, bool& got) -> Task<> {
            co_await sleep(1ms);  // behind the large one
            auto permit = co_await s.acquire();
            got = true;
        }(two, small));
        EXPECT_FALSE(co_await within(10ms, take(two, 2)));
        co_await sleep(1ms);
        EXPECT_TRUE(small) << "a permit is free, and no task gives one back";
        held.release();
        co_await scope.join();
    }());
}

TEST_F(SemaphoreTest, APermitMayOutliveItsSemaphore) {
    run([]() -> Task<> {
        Semaphore::Permit kept;
        {
            Semaphore one(1);
            kept = co_await one.acquire();
            EXPECT_EQ(one.free(), 0U);
        }
        kept.release();
        Semaphore another(1);
        kept = co_await another.acquire();
        kept = Semaphore::Permit();  // its permits go back
        EXPECT_EQ(another.free(), 1U);
    }());
}

TEST_F(SemaphoreTest, APermitGrantedToATaskThatIsCancelledBeforeItRunsGoesOn) {
    std::string log;
    Mutex mutex;
    Kept holder;
    Kept second;
    Kept third;
    holder.start(runner, [](Mutex& m, Root& next) -> Task<> {
        auto lock = co_await m.lock();
        co_await sleep(1ms);
        lock.release();  // granted to the second, which does not run before we have cancelled it
        next.cancel();
    }(mutex, second));
    const auto take = [](Mutex& m, std::string& text, char letter) -> Task<> {
        auto lock = co_await m.lock();
        text += letter;
    };
    second.start(runner, take(mutex, log, '2'));
    third.start(runner, take(mutex, log, '3'));
    world.advance(5ms);
    EXPECT_EQ(log, "3");
    EXPECT_TRUE(third.ended);
}

}  // namespace
}  // namespace tiderace::task
