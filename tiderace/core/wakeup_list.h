// WakeupList: the wake-ups of one loop that wait for it (wakeup.h).
//
// Owner    The loop and its wake-ups together: it lives as long as any of them.
// Thread   add() and remove(): any. The rest: the loop's.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/wakeup.h"
#include "tiderace/log/logger.h"

namespace tiderace::core {

class Backend;

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
