// Errands: what may block (a read of a cold disk, a large directory), done by the pool for one
// loop, whose end comes back to that loop.
//
//   loop: start(errand) -> pool thread: errand.work() -> the loop's mailbox -> errand.done()
//
// Owner    Owns the errands until they are done, or cancelled and their work is over; they are
//          destroyed on the loop. Ends before the loop; waits then for the work that runs.
// Thread   The loop's; work() runs on a thread of the pool.
// Errors   The pool is full, or too many are out: start() leaves the errand with the caller, who
//          does without, or does the work itself.
// Limits   errands_max at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "tiderace/base/slot_map.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/worker_pool.h"

namespace tiderace::core {

class Errand {
  public:
    virtual ~Errand() = default;
    // On a thread of the pool, at most once. Touches its own members only, and what never changes.
    virtual void work() = 0;
    // On the loop, after work(), unless it was cancelled. Destroyed right after.
    virtual void done() = 0;

  private:
    friend class Errands;
    std::atomic<bool> cancelled_ = false;
};

class Errands {
  public:
    Errands(EventLoop& loop, WorkerPool& pool, std::size_t errands_max);
    ~Errands();
    Errands(const Errands&) = delete;
    Errands& operator=(const Errands&) = delete;

    // No id: refused, and `errand` is as it was.
    SlotId start(std::unique_ptr<Errand>& errand);
    // done() is not called any more, nor work() unless it has begun; the errand lives on until that
    // is over. A dead id is none.
    void cancel(SlotId id);

    std::size_t out() const { return out_.size(); }

  private:
    struct Out {
        explicit Out(SlotId i) : id(i) {}
        SlotId id;
        std::unique_ptr<Errand> errand;
    };
    struct Door;

    static void run(const std::shared_ptr<Door>& door, SlotId id, Errand& errand);
    void come_back(SlotId id);

    WorkerPool* pool_;
    std::size_t errands_max_;
    std::shared_ptr<Door> door_;
    SlotMap<Out> out_;
};

}  // namespace tiderace::core
