// Wakeup: "look again" from any thread to something that lives on a loop: a coroutine whose result
// is there, a channel that is not empty any more. It carries nothing, so it is never refused.
//
//   any thread: wake() -> the loop's list, under its lock     loop: on_woken(), once for all the
//               (already in it: nothing)                            wake() since the last one
//
// What was written before wake() is seen by on_woken().
//
// Owner    Whoever is woken. Its place in the list is in it: waking allocates nothing.
// Thread   Made on the loop's thread or before the loop runs, ended on the loop's thread or after
//          the loop's end. wake(): any, until whoever calls it knows that it may have ended.
// Errors   After the loop's end a wake() does nothing.
// Limits   None needed: one place each.
// Memory   56 bytes.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "tiderace/base/intrusive_list.h"

namespace tiderace::core {

class Backend;
class EventLoop;
class Wakeup;

// The wake-ups that wait, of one loop. It lives as long as the loop and all of its wake-ups.
class WakeupList {
  public:
    explicit WakeupList(Backend& backend) : backend_(&backend) {}

    // The loop's thread. Runs those that wait; what is woken by these runs with the next turn.
    void run() {
        if (waiting_.load(std::memory_order_acquire) > 0) run_waiting();
    }
    // The loop ends.
    void close();

  private:
    friend class Wakeup;

    void add(Wakeup& woken);
    void remove(Wakeup& ended);
    void run_waiting();
    Wakeup* take_first();

    std::mutex lock_;
    IntrusiveList<Wakeup> list_;            // guarded by lock_, as is backend_
    Backend* backend_;                      // nullptr: the loop has ended
    std::atomic<std::size_t> waiting_ = 0;  // in list_; written under lock_
};

class Wakeup : private ListHook {
  public:
    explicit Wakeup(EventLoop& loop);
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    void wake() { list_->add(*this); }

  protected:
    virtual ~Wakeup() { list_->remove(*this); }

  private:
    friend class WakeupList;
    template <typename T>
    friend class tiderace::IntrusiveList;

    // On the loop's thread. May wake any, this one too, and end any, this one too.
    virtual void on_woken() = 0;

    std::shared_ptr<WakeupList> list_;
};

}  // namespace tiderace::core
