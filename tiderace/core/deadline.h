// Internal. Deadline: a Timer for the end of our own work, which others wait for: a handler, a
// task.
//
// When it is due, what this turn has woken runs first: on_passed() comes in the next turn, unless
// the work was done by then. A loop that was blocked past the deadline would otherwise end work
// that only had to be resumed.
//
// Owner    What waits. It may end armed, and inside on_passed().
// Thread   The loop's.
// Keywords: time-out
#pragma once

#include <utility>

#include "tiderace/core/event_loop.h"

namespace tiderace::core {

class Deadline : private Timer {
  public:
    void arm(EventLoop& loop, Instant when) TR_ON_LOOP {
        loop_ = &loop;
        is_due_ = false;
        loop.arm(*this, when);
    }
    void disarm() TR_ON_LOOP {
        if (loop_ != nullptr) loop_->cancel(*this);
    }

  protected:
    Deadline() = default;
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;
    ~Deadline() override = default;

    virtual void on_passed() = 0;

  private:
    void on_expired() TR_ON_LOOP final {
        if (std::exchange(is_due_, true)) return on_passed();
        loop_->arm(*this, loop_->now());
    }

    EventLoop* loop_ = nullptr;
    bool is_due_ = false;
};

}  // namespace tiderace::core
