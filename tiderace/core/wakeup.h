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

#include <memory>

#include "tiderace/base/intrusive_list.h"

namespace tiderace::core {

class EventLoop;
class WakeupList;  // wakeup_list.h

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

}  // namespace tiderace::core
