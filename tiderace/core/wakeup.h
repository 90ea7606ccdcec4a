// Internal. Wakeup: notifies an object on a loop, from any thread, to check its state: a coroutine
// whose result is there, a channel that is no longer empty. It carries no data, so it is never
// refused.
//
//   any thread: wake() -> the loop's list, under its lock     loop: on_woken(), once for all the
//               (already in it: nothing)                            wake() since the last one
//
// on_woken() sees everything written before wake().
//
// Owner    The woken object. It holds its own list links, so waking allocates nothing.
// Thread   Made on the loop's thread or before the loop runs, ended on the loop's thread or after
//          the loop's end. wake(): any, while the caller keeps it alive.
// Errors   After the loop's end a wake() does nothing.
// Limits   None needed: one place each.
// Memory   56 bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/log/logger.h"

namespace tiderace::core {

class Backend;
class EventLoop;
class WakeupList;

class Wakeup : private ListHook {
  public:
    explicit Wakeup(EventLoop& loop);
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    void wake();

  protected:
    virtual ~Wakeup();

  private:
    friend class WakeupList;
    template <typename T>
    friend class tiderace::IntrusiveList;

    // On the loop's thread. May wake or destroy any, this one included.
    virtual void on_woken() = 0;

    std::shared_ptr<WakeupList> list_;
};

// The wake-ups of one loop that wait for it. The loop and its wake-ups own it together: it lives as
// long as any of them. add() and remove(): any thread. The rest: the loop's.
class WakeupList {
  public:
    explicit WakeupList(Backend& backend) : backend_(&backend) {}

    // The loop's thread. Runs the waiting ones; the ones that these wake run with the next turn.
    // One that throws is logged, and ends there.
    void run(log::Logger* log = nullptr) {
        if (waiting_.load(std::memory_order_acquire) > 0) run_waiting(log);
    }
    // The loop ends.
    void close();

  private:
    friend class Wakeup;

    void add(Wakeup& woken);
    void remove(Wakeup& ended);
    void run_waiting(log::Logger* log);
    Wakeup* take_first();

    std::mutex lock_;
    IntrusiveList<Wakeup> list_;            // guarded by lock_, as is backend_
    Backend* backend_;                      // nullptr: the loop has ended
    std::atomic<std::size_t> waiting_ = 0;  // in list_; written under lock_
};

}  // namespace tiderace::core
