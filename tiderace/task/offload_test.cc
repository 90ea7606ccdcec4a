#include "tiderace/task/offload.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tiderace/task/run.h"
#include "tiderace/task/scope.h"
#include "tiderace/task/semaphore.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"

namespace tiderace::task {
namespace {

TEST(Offload, TheFunctionRunsElsewhereAndItsValueComesBack) {
    const auto here = std::this_thread::get_id();
    const auto there = run([]() -> Task<std::thread::id> {
        co_return co_await offload([] { return std::this_thread::get_id(); });
    }());
    EXPECT_NE(here, there);
}

TEST(Offload, WhatItThrowsIsThrownByTheAwait) {
    EXPECT_THROW(run([]() -> Task<> { co_await offload([] { throw std::length_error("x"); }); }()),
                 std::length_error);
}

// Far more than the pool and the runner take at a time.
TEST(Offload, ThousandsWaitTheirTurn) {
    std::atomic<int> ran = 0;
    run([](std::atomic<int>& count) -> Task<> {
        Scope scope;
        for (int i = 0; i < 5'000; ++i) {
            scope.spawn([](std::atomic<int>& c) -> Task<> {
                const int value = co_await offload([&c] { return ++c; });
                EXPECT_GT(value, 0);
            }(count));
        }
        co_await scope.join();
    }(ran));
    EXPECT_EQ(ran, 5'000);
}

TEST(Offload, ACancelledTaskDoesNotWaitAndTheFunctionKeepsWhatItOwns) {
    auto value = std::make_shared<int>(7);
    std::promise<void> entered;
    std::promise<void> go_on;
    run([](std::shared_ptr<int> kept, std::promise<void>& in, std::promise<void>& on) -> Task<> {
        auto work = [kept = std::move(kept), &in, future = on.get_future().share()] {
            in.set_value();
            future.wait();
            return *kept;
        };
        unique_function<int()> moved(std::move(work));  // the work holds the only other reference
        auto result = co_await within(50ms, offload(std::move(moved)));
        EXPECT_FALSE(result);
        in.get_future().wait();
        on.set_value();
    }(value, entered, go_on));
    // run() has ended the pool, which waits for what runs.
    EXPECT_EQ(value.use_count(), 1) << "the function has ended, with its captures";
}

// Lets a function on a thread go on when it ends.
class ThreadGate {
  public:
    ~ThreadGate() { promise_.set_value(); }
    std::shared_future<void> passage() const { return passage_; }

  private:
    std::promise<void> promise_;
    std::shared_future<void> passage_ = promise_.get_future().share();
};

TEST(Offload, APermitThatItKeepsIsBackWhenTheFunctionHasReturned) {
    std::atomic<int> ran = 0;
    run([](std::atomic<int>& ran) -> Task<> {
        Semaphore one(1);
        for (int i = 0; i < 3; ++i) {
            auto permit = co_await one.acquire();
            EXPECT_EQ(ran, i) << "the function before has returned";
            ThreadGate gate;
            auto work = [passage = gate.passage(), &ran] {
                passage.wait();
                ++ran;
            };
            EXPECT_FALSE(co_await within(1ms, offload(work, std::move(permit))));
            EXPECT_EQ(one.free(), 0U) << "its task has ended, but the work runs on";
        }
        const auto last = co_await one.acquire();
        EXPECT_EQ(ran, 3);
    }(ran));
}

// The loop ends while the function runs, and its semaphore before that.
TEST(Offload, APermitMayComeBackAfterItsSemaphoreHasEnded) {
    std::atomic<bool> began = false;
    std::atomic<bool> ran = false;
    run([](std::atomic<bool>& began, std::atomic<bool>& ran) -> Task<> {
        // Work that no thread has begun within the time never runs, and tests nothing.
        while (!began) {
            ThreadGate gate;
            Semaphore one(1);
            auto permit = co_await one.acquire();
            auto work = [passage = gate.passage(), &ran, &began] {
                began = true;
                passage.wait();
                ran = true;
            };
            EXPECT_FALSE(co_await within(1ms, offload(work, std::move(permit))));
        }
    }(began, ran));
    EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace tiderace::task
