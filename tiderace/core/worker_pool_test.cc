#include "tiderace/core/worker_pool.h"

#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <latch>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/testing/scarce_memory.h"

namespace tiderace::core {
namespace {

// In each test the pool comes last: it ends first, while what its tasks use is still there.

void wait_until_completed(const WorkerPool& pool, std::uint64_t count) {
    while (pool.counters().completed < count) std::this_thread::yield();
}

TEST(WorkerPool, StartsNoThreadBeforeTheFirstTask) {
    WorkerPool pool(4, 4);
    EXPECT_EQ(pool.counters().threads, 0U);
    pool.submit([] {});
    wait_until_completed(pool, 1);
    EXPECT_EQ(pool.counters().threads, 1U);
}

TEST(WorkerPool, AnIdleThreadIsUsedAgain) {
    WorkerPool pool(4, 4);
    for (std::uint64_t i = 1; i <= 10; ++i) {
        pool.submit([] {});
        wait_until_completed(pool, i);
    }
    EXPECT_EQ(pool.counters().threads, 1U);
}

TEST(WorkerPool, RunsAsManyAtOnceAsItHasThreads) {
    std::latch all_run(3);
    WorkerPool pool(3, 10);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(pool.submit([&] { all_run.arrive_and_wait(); }));
    }
    all_run.wait();  // hangs if two share a thread
    EXPECT_EQ(pool.counters().threads, 3U);
}

TEST(WorkerPool, ATaskBesideOneThatRunsHasAThreadOfItsOwn) {
    std::binary_semaphore began(0), go(0), beside(0);
    WorkerPool pool(2, 8);
    ASSERT_TRUE(pool.submit([&] {
        began.release();
        go.acquire();
    }));
    began.acquire();
    ASSERT_TRUE(pool.submit([&] { beside.release(); }));
    beside.acquire();  // although the first still runs
    go.release();
}

TEST(WorkerPool, AFullQueueRefusesAndCounts) {
    std::binary_semaphore started(0), go_on(0);
    WorkerPool pool(1, 2);
    pool.submit([&] {
        started.release();
        go_on.acquire();
    });
    started.acquire();
    EXPECT_TRUE(pool.submit([] {}));
    EXPECT_TRUE(pool.submit([] {}));
    EXPECT_FALSE(pool.submit([] { ADD_FAILURE() << "a refused task ran"; }));
    WorkerPool::Counters counters = pool.counters();
    EXPECT_EQ(counters.submitted, 3U);
    EXPECT_EQ(counters.refused, 1U);
    EXPECT_EQ(counters.queued, 2U);
    EXPECT_EQ(counters.running, 1U);
    EXPECT_EQ(counters.threads, 1U);
    go_on.release();
    wait_until_completed(pool, 3);
    EXPECT_TRUE(pool.submit([] {}));
    wait_until_completed(pool, 4);
    EXPECT_EQ(pool.counters().running, 0U);
}

TEST(WorkerPool, OneThreadRunsTasksInOrder) {
    std::string letters;
    WorkerPool pool(1, 26);
    for (char letter = 'a'; letter <= 'z'; ++letter) {
        pool.submit([&letters, letter] { letters += letter; });
    }
    wait_until_completed(pool, 26);
    EXPECT_EQ(letters, "abcdefghijklmnopqrstuvwxyz");
}

TEST(WorkerPool, TheDestructorFinishesWhatRunsAndDropsWhatWaits) {
    std::binary_semaphore started(0), go_on(0);
    bool finished = false;
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = held;
    std::thread releaser;
    {
        WorkerPool pool(1, 2);
        pool.submit([&] {
            started.release();
            go_on.acquire();
            finished = true;
        });
        started.acquire();
        pool.submit([held = std::move(held)] { ADD_FAILURE() << "it ran"; });
        // Lets the running task end only when the destructor has emptied the queue.
        releaser = std::thread([&] {
            while (pool.counters().queued != 0) std::this_thread::yield();
            go_on.release();
        });
    }
    releaser.join();
    EXPECT_TRUE(finished);
    EXPECT_TRUE(watch.expired());
}

TEST(WorkerPool, TasksMaySubmitTasks) {
    std::binary_semaphore done(0);
    WorkerPool pool(2, 8);
    pool.submit([&] { EXPECT_TRUE(pool.submit([&] { done.release(); })); });
    done.acquire();
}

TEST(WorkerPool, SeveralThreadsMaySubmit) {
    constexpr int submitters = 3, tasks_each = 2'000;
    std::atomic<int> ran = 0;
    WorkerPool pool(2, 64);
    std::vector<std::thread> threads;
    for (int i = 0; i < submitters; ++i) {
        threads.emplace_back([&] {
            for (int task = 0; task < tasks_each; ++task) {
                while (!pool.submit([&ran] { ++ran; })) std::this_thread::yield();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    wait_until_completed(pool, submitters * tasks_each);
    EXPECT_EQ(ran, submitters * tasks_each);
}

TEST(WorkerPool, ThreadsAreNamedAndBlockSignals) {
    sigset_t mask;
    sigemptyset(&mask);
    char name[16] = {};
    WorkerPool pool(1, 1);
    pool.submit([&] {
        ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
#if defined(__linux__)
        ::pthread_getname_np(::pthread_self(), name, sizeof(name));
#endif
    });
    wait_until_completed(pool, 1);
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD}) {
        EXPECT_EQ(sigismember(&mask, signal), 1) << signal;
    }
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGTERM), 0) << "our own mask changed";
#if defined(__linux__)
    EXPECT_STREQ(name, "tr-worker-0");
#endif
}

TEST(WorkerPool, ATaskThatThrowsEndsAloneAndIsCounted) {
    WorkerPool pool(1, 4);
    pool.submit([] { throw std::runtime_error("a task"); });
    bool ran = false;
    pool.submit([&] { ran = true; });
    wait_until_completed(pool, 2);
    EXPECT_TRUE(ran);
    EXPECT_EQ(pool.counters().threw, 1U);
    EXPECT_EQ(pool.counters().threads, 1U);
}

// Submits when it is destroyed.
class LastWish {
  public:
    explicit LastWish(WorkerPool& pool) : pool_(&pool) {}
    LastWish(LastWish&& from) noexcept : pool_(std::exchange(from.pool_, nullptr)) {}
    LastWish& operator=(LastWish&&) = delete;
    ~LastWish() {
        if (pool_ != nullptr) pool_->submit([] {});
    }

  private:
    WorkerPool* pool_;
};

TEST(WorkerPool, WhereNoThreadCanBeStartedATaskWaitsForAnOldOneIfThereIsOne) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    std::binary_semaphore started(0), go_on(0);
    WorkerPool pool(2, 8);
    {
        WorkerPool::Task task = [] { ADD_FAILURE() << "a refused task ran"; };
        const testing::ScarceMemory scarce(1);
        EXPECT_FALSE(pool.submit(std::move(task)));
        EXPECT_TRUE(scarce.failed());
    }
    ASSERT_TRUE(pool.submit([&] {
        started.release();
        go_on.acquire();
    }));
    started.acquire();
    bool waits = false;
    {
        WorkerPool::Task task = [] {};
        const testing::ScarceMemory scarce(1);
        waits = pool.submit(std::move(task));
        EXPECT_TRUE(scarce.failed());
    }
    EXPECT_TRUE(waits);
    EXPECT_EQ(pool.counters().threads, 1U);
    go_on.release();
    wait_until_completed(pool, waits ? 2 : 1);
}

TEST(WorkerPool, ATaskThatFindsNoMemoryIsDestroyedWithoutTheLock) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    std::binary_semaphore started(0), go_on(0);
    WorkerPool pool(1, 1'000);
    pool.submit([&] {
        started.release();
        go_on.acquire();
    });
    started.acquire();
    // The queue allocates for a few tasks at a time.
    bool without_memory = false;
    for (int i = 0; i < 900 && !without_memory; ++i) {
        WorkerPool::Task task = [wish = LastWish(pool)] {};
        const testing::ScarceMemory scarce(1);
        // Hangs if the task's end finds the lock held.
        without_memory = !pool.submit(std::move(task));
    }
    EXPECT_TRUE(without_memory);
    EXPECT_EQ(pool.counters().refused, 1U);
    go_on.release();
}

TEST(WorkerPoolDeathTest, MisuseAborts) {
    EXPECT_DEATH(WorkerPool(0, 1), "needs a thread");
    EXPECT_DEATH(WorkerPool(1, 0), "a place to wait");
    WorkerPool pool(1, 1);
    EXPECT_DEATH(pool.submit(nullptr), "empty task");
}

}  // namespace
}  // namespace tiderace::core
