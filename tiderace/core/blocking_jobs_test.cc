#include "tiderace/core/blocking_jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::core {
namespace {

struct TestErrand final : BlockingJob {
    TestErrand(std::function<void()> w, std::function<void()> d)
        : at_work(std::move(w)), when_done(std::move(d)) {}
    ~TestErrand() override {
        if (when_destroyed) when_destroyed();
    }
    void work() override { at_work(); }
    void done() override { when_done(); }
    std::function<void()> at_work, when_done, when_destroyed;
};

class BlockingJobsTest : public ::testing::Test {
  protected:
    SlotId start(std::function<void()> work, std::function<void()> done) {
        job_ = std::make_unique<TestErrand>(std::move(work), std::move(done));
        return jobs_->start(job_);
    }
    template <typename Condition>
    void turn_until(Condition&& condition) {
        while (!condition()) loop_->turn(10ms);
    }

    std::unique_ptr<EventLoop> loop_ = std::move(*EventLoop::create({.mailbox_posts_max = 4}));
    std::optional<WorkerPool> pool_{std::in_place, 2U, 8U};
    std::optional<BlockingJobs> jobs_{std::in_place, *loop_, *pool_, 4U};
    std::unique_ptr<BlockingJob> job_;
};

TEST_F(BlockingJobsTest, WorkIsDoneElsewhereAndEndsOnTheLoop) {
    std::thread::id worked, ended;
    bool done = false;
    EXPECT_TRUE(start([&] { worked = std::this_thread::get_id(); },
                      [&] {
                          ended = std::this_thread::get_id();
                          done = true;
                      }));
    EXPECT_EQ(jobs_->out(), 1U);
    turn_until([&] { return done; });
    EXPECT_NE(worked, std::this_thread::get_id());
    EXPECT_EQ(ended, std::this_thread::get_id());
    EXPECT_EQ(jobs_->out(), 0U);
}

TEST_F(BlockingJobsTest, OneMayStartTheNextFromItsEnd) {
    int done = 0;
    std::function<void()> again = [&] {
        if (++done < 100) start([] {}, again);
    };
    start([] {}, again);
    turn_until([&] { return done == 100; });
    EXPECT_EQ(jobs_->out(), 0U);
}

TEST_F(BlockingJobsTest, ACancelledJobLivesUntilItsWorkEndsAndIsNotCalled) {
    std::binary_semaphore begun(0), go(0);
    std::thread::id destroyed_on;
    bool told = false, destroyed = false;
    auto job = std::make_unique<TestErrand>(
        [&] {
            begun.release();
            go.acquire();
        },
        [&] { told = true; });
    job->when_destroyed = [&] {
        destroyed = true;
        destroyed_on = std::this_thread::get_id();
    };
    job_ = std::move(job);
    const SlotId id = jobs_->start(job_);
    begun.acquire();  // cancelled any earlier, it would not work at all
    jobs_->cancel(id);
    jobs_->cancel(id);
    loop_->turn(0s);
    EXPECT_FALSE(destroyed) << "its work uses what it holds";
    go.release();
    turn_until([&] { return destroyed; });
    EXPECT_FALSE(told);
    EXPECT_EQ(destroyed_on, std::this_thread::get_id());
    jobs_->cancel(id);  // a dead id is none
}

TEST_F(BlockingJobsTest, OneThatWasCancelledBeforeItsTurnIsNotWorkedAt) {
    std::binary_semaphore go(0);
    WorkerPool one(1, 8);
    BlockingJobs jobs(*loop_, one, 4);
    std::atomic<bool> worked = false;
    bool last_done = false;
    const auto start_on = [&](std::function<void()> work, std::function<void()> done) {
        job_ = std::make_unique<TestErrand>(std::move(work), std::move(done));
        return jobs.start(job_);
    };
    start_on([&] { go.acquire(); }, [] {});
    jobs.cancel(start_on([&] { worked = true; }, [] {}));
    start_on([] {}, [&] { last_done = true; });
    go.release();
    turn_until([&] { return last_done; });
    EXPECT_FALSE(worked);
    EXPECT_EQ(jobs.out(), 0U);
}

TEST_F(BlockingJobsTest, AboveTheBoundItStaysWithTheCaller) {
    std::binary_semaphore go(0);
    int done = 0;
    const auto wait = [&] {
        go.acquire();
        go.release();
    };
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(start(wait, [&] { ++done; }));
    EXPECT_FALSE(start([] {}, [&] { ++done; }));
    ASSERT_NE(job_, nullptr);
    job_->done();
    EXPECT_EQ(done, 1);
    go.release();
    turn_until([&] { return done == 5; });
}

TEST_F(BlockingJobsTest, AFullPoolLeavesItWithTheCallerToo) {
    std::binary_semaphore go(0);
    WorkerPool small(1, 1);
    BlockingJobs jobs(*loop_, small, 100);
    int done = 0, refused = 0;
    for (int i = 0; i < 5; ++i) {
        job_ = std::make_unique<TestErrand>(
            [&] {
                go.acquire();
                go.release();
            },
            [&] { ++done; });
        if (!jobs.start(job_)) ++refused;
    }
    EXPECT_GE(refused, 3);
    EXPECT_EQ(jobs.out(), static_cast<std::size_t>(5 - refused));
    go.release();
    turn_until([&] { return done == 5 - refused; });
}

TEST_F(BlockingJobsTest, AFullMailboxIsWaitedFor) {
    while (loop_->post([] {})) {
    }
    std::atomic<bool> worked = false;
    bool done = false;
    start([&] { worked = true; }, [&] { done = true; });
    while (!worked) std::this_thread::yield();
    turn_until([&] { return done; });
}

// The server stops while work is queued, running, or has just ended.
TEST_F(BlockingJobsTest, TheyEndAfterRunningWorkWithoutACallback) {
    for (int round = 0; round < 200; ++round) {
        std::atomic<bool> over = false;
        for (int i = 0; i < 4; ++i) {
            start(
                [&] {
                    EXPECT_FALSE(over) << "it works on what is gone";
                    std::this_thread::yield();
                    EXPECT_FALSE(over) << "it works on what is gone";
                },
                [&] { ADD_FAILURE() << "the loop does not turn"; });
        }
        if (round % 2 == 1) std::this_thread::yield();
        jobs_.reset();
        over = true;
        loop_->turn(0s);
        jobs_.emplace(*loop_, *pool_, 4U);
    }
}

TEST_F(BlockingJobsTest, ThePoolMayEndFirst) {
    std::counting_semaphore<2> go(0);
    std::atomic<int> worked = 0;
    for (int i = 0; i < 4; ++i) {
        start(
            [&] {
                go.acquire();
                ++worked;
            },
            [] {});
    }
    while (pool_->counters().running != 2) std::this_thread::yield();
    // Lets the two that run end only when the pool's destructor has emptied the queue.
    std::thread releaser([&go, &pool = *pool_] {
        while (pool.counters().queued != 0) std::this_thread::yield();
        go.release(2);
    });
    pool_.reset();
    releaser.join();
    EXPECT_EQ(worked, 2);
    jobs_.reset();
    loop_->turn(0s);
}

TEST_F(BlockingJobsTest, WorkThatThrowsEndsOnTheLoopAndIsLogged) {
    log::Doorbell bell;
    log::Ring ring{64_KiB, bell};
    log::SystemTime time;
    log::Logger logger{ring, time};
    loop_->set_log(&logger);
    bool done = false;
    start([] { throw std::runtime_error("no such name server"); }, [&] { done = true; });
    turn_until([&] { return done; });
    const std::string lines = log::take_all(ring);
    EXPECT_NE(lines.find("no such name server"), std::string::npos) << lines;
    bool next_done = false;
    start([] {}, [&] { next_done = true; });
    turn_until([&] { return next_done; });
    loop_->set_log(nullptr);
}

// A place that is not given back would be lost for as long as the loop lives.
TEST_F(BlockingJobsTest, WithoutMemoryToStartOneItStaysWithTheCaller) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        WorkerPool fresh(1, 8);
        BlockingJobs jobs(*loop_, fresh, 4);
        bool done = false;
        std::unique_ptr<BlockingJob> job =
            std::make_unique<TestErrand>([] {}, [&] { done = true; });
        SlotId id;
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            try {
                id = jobs.start(job);
            } catch (const std::bad_alloc&) {
            }
            failed = scarce.failed();
        }
        EXPECT_EQ(job == nullptr, bool(id)) << nth;
        EXPECT_EQ(jobs.out(), id ? 1U : 0U) << nth;
        if (id) turn_until([&] { return done; });
        return failed;
    });
    EXPECT_GE(calls, 2U);
}

TEST_F(BlockingJobsTest, WithoutMemoryToReportItsEndItIsReportedLater) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    const auto calls = testing::fail_each([&](std::uint64_t nth) {
        // Each time a loop whose mailbox has no memory yet.
        const auto loop = std::move(*EventLoop::create({}));
        std::optional<testing::ScarceMemory> scarce;  // the worker's, and ends in its next job
        std::atomic<bool> failed = false;
        bool done = false;
        bool last_done = false;
        WorkerPool one(1, 8);
        BlockingJobs jobs(*loop, one, 4);
        job_ = std::make_unique<TestErrand>([&] { scarce.emplace(nth); }, [&] { done = true; });
        jobs.start(job_);
        job_ = std::make_unique<TestErrand>(
            [&] {
                failed = scarce->failed();
                scarce.reset();
            },
            [&] { last_done = true; });
        jobs.start(job_);
        while (!last_done) loop->turn(10ms);
        EXPECT_TRUE(done) << nth;
        return failed.load();
    });
    EXPECT_GE(calls, 1U);
}

}  // namespace
}  // namespace tiderace::core
