#include "tiderace/core/blocking_jobs.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/contain.h"

namespace tiderace::core {
namespace {

constexpr Duration pause_before_another_post = 1ms;

}  // namespace

// Shared with the pool's threads. BlockingJobs does not end while one of them works; a task that
// starts after its end finds it closed.
//
//   start() -> queued in the pool --enter()--> work() --post--> come_back(): done(), destroyed
//                 |                              |
//                 | cancel(): work() is skipped   | cancel(): done() is skipped
//                 |                              |
//                 `-- dropped by the pool's end   `-- BlockingJobs' end waits for it
//
struct BlockingJobs::WayBack {
    WayBack(BlockingJobs& e, EventLoop& l) : jobs(&e), loop(&l) {}

    bool enter() {
        const std::lock_guard held(lock);
        if (closed) return false;
        ++working;
        return true;
    }
    void leave() {
        {
            const std::lock_guard held(lock);
            --working;
        }
        none_work.notify_all();
    }
    bool is_closed() {
        const std::lock_guard held(lock);
        return closed;
    }
    void close() {
        std::unique_lock held(lock);
        closed = true;
        // A post that finds the mailbox full gives up once `closed` is set, so this ends.
        none_work.wait(held, [this] { return working == 0; });
    }

    BlockingJobs* const jobs;
    EventLoop* const loop;
    std::mutex lock;  // guards the next two
    std::size_t working = 0;
    bool closed = false;
    std::condition_variable none_work;
};

BlockingJobs::BlockingJobs(EventLoop& loop, WorkerPool& pool, std::size_t jobs_max)
    : pool_(&pool), jobs_max_(jobs_max), way_back_(std::make_shared<WayBack>(*this, loop)) {
    TR_CHECK(jobs_max_ > 0);
}

BlockingJobs::~BlockingJobs() {
    // Waits for running work, which uses members of ours.
    way_back_->close();
}

SlotId BlockingJobs::start(std::unique_ptr<BlockingJob>& job) {
    way_back_->loop->assert_on_loop();
    TR_CHECK(job != nullptr);
    // The job stays with the caller, which may do the work itself.
    if (out_.size() >= jobs_max_) return {};
    Out& out = out_.emplace();
    const SlotId id = out.id;
    out.job = std::move(job);
    if (pool_->submit(
            [way_back = way_back_, id, working = out.job.get()] { run(way_back, id, *working); })) {
        return id;
    }
    // Refused by the pool: the caller gets it back.
    job = std::move(out.job);
    out_.erase(id);
    return {};
}

void BlockingJobs::run(const std::shared_ptr<WayBack>& way_back, SlotId id, BlockingJob& job) {
    if (!way_back->enter()) return;
    // A cancelled job must not occupy a thread of the pool.
    if (!job.cancelled_.load(std::memory_order_relaxed)) {
        try {
            job.work();
        } catch (...) {
            job.failure_ = std::current_exception();  // logged by the loop, whose log it is
        }
    }
    // The mailbox is full while its loop is late, for a turn or two, or there is no memory.
    while (!way_back->loop->post([way_back, id] {
        // This thread is also the one that closes it, so it stays open during the call.
        if (!way_back->is_closed()) way_back->jobs->come_back(id);
    })) {
        if (way_back->is_closed()) break;
        // Dropping it would leave the job in `out_` for ever, with its place. Sleeping costs a
        // thread of the pool, which has nothing to do for this loop until the loop has caught up.
        std::this_thread::sleep_for(pause_before_another_post);
    }
    way_back->leave();
}

void BlockingJobs::cancel(SlotId id) {
    way_back_->loop->assert_on_loop();
    if (Out* out = out_.find(id)) out->job->cancelled_.store(true, std::memory_order_relaxed);
}

void BlockingJobs::come_back(SlotId id) {
    Out* out = out_.find(id);
    TR_CHECK(out != nullptr, "a job came back twice");
    const std::unique_ptr<BlockingJob> job = std::move(out->job);
    out_.erase(id);
    if (job->failure_) {
        contain(way_back_->loop->log(), "core", "a blocking job",
                [&] { std::rethrow_exception(job->failure_); });
    }
    if (!job->cancelled_.load(std::memory_order_relaxed)) job->done();
}

}  // namespace tiderace::core
