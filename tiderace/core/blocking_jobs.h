// BlockingJobs: work that may block (a read of a cold disk, a large directory), done by the pool
// for one loop, and reported back to that loop.
//
//   loop: start(job) -> pool thread: job.work() -> the loop's mailbox -> job.done()
//
// Owner    Owns the jobs until they are done, or cancelled and their work is over; they are
//          destroyed on the loop. Ends before the loop; waits then for the work that runs.
// Thread   The loop's; work() runs on a thread of the pool.
// Errors   The pool is full or has no memory for it, or too many jobs run: start() leaves the job
//          with the caller, which does without, or does the work itself.
// Limits   jobs_max at a time.
// Keywords: disk read, blocking work
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>

#include "tiderace/base/slot_map.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/worker_pool.h"

namespace tiderace::core {

class BlockingJob {
  public:
    virtual ~BlockingJob() = default;
    // On a thread of the pool, at most once. Uses only its own members, and data that never
    // changes. An exception ends it and is logged.
    virtual void work() = 0;
    // On the loop, after work(), whether that threw or not, unless it was cancelled. Destroyed
    // right after.
    virtual void done() = 0;

  private:
    friend class BlockingJobs;
    std::atomic<bool> cancelled_ = false;
    std::exception_ptr failure_;  // what work() threw
};

class BlockingJobs {
  public:
    BlockingJobs(EventLoop& loop, WorkerPool& pool, std::size_t jobs_max);
    ~BlockingJobs();
    BlockingJobs(const BlockingJobs&) = delete;
    BlockingJobs& operator=(const BlockingJobs&) = delete;

    // No id: refused, and `job` is as it was.
    SlotId start(std::unique_ptr<BlockingJob>& job);
    // done() is not called any more, and work() only if it has begun; the job exists until
    // work() is over. An id that has ended is ignored.
    void cancel(SlotId id);

    std::size_t out() const { return out_.size(); }

  private:
    struct Out {
        explicit Out(SlotId i) : id(i) {}
        SlotId id;
        std::unique_ptr<BlockingJob> job;
    };
    struct WayBack;

    static void run(const std::shared_ptr<WayBack>& way_back, SlotId id, BlockingJob& job);
    void come_back(SlotId id);

    WorkerPool* pool_;
    std::size_t jobs_max_;
    std::shared_ptr<WayBack> way_back_;
    SlotMap<Out> out_;
};

}  // namespace tiderace::core
