// PaceTicks: wakes an open loop when a request is due, more exactly than the loop's timers (1 ms).
//
// Linux: a timerfd, once for each request, at most every 50 us. Elsewhere: the loop's timers.
//
// Owner    A LoadWorker.
// Thread   The loop's.
#pragma once

#include "tiderace/core/event_loop.h"
#include "tiderace/core/watch.h"

namespace tiderace::load {

class PaceTicks final : private core::Watch::Receiver, private core::Timer {
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
    void on_ready(core::Watch& watch, core::Interest ready) override;
    void on_expired() override;

    core::EventLoop* loop_;
    Receiver* receiver_;
    core::Descriptor ticks_;
    core::Watch watch_;
    Duration interval_;
};

}  // namespace tiderace::load
