// PaceTicks: wakes an open loop when a request is due, more exactly than the loop's timers (1 ms).
//
// Linux: a timerfd, once for each request, at most every 50 us. Elsewhere: the loop's timers.
//
// Owner    A LoadWorker.
// Thread   The loop's.
#pragma once

#include "tiderace/core/event_loop.h"

namespace tiderace::lab {

class PaceTicks final : private core::IoObserver, private core::Timer {
  public:
    class Receiver {
      public:
        virtual void on_tick() = 0;

      protected:
        ~Receiver() = default;
    };
    static constexpr Duration interval_min = 50us;

    PaceTicks(core::EventLoop& loop, Receiver& receiver, double rate);
    ~PaceTicks();

  private:
    void on_ready(bool, bool) override;
    void on_expired() override;

    core::EventLoop* loop_;
    Receiver* receiver_;
    core::IoHandle handle_;
    Duration interval_;
};

}  // namespace tiderace::lab
