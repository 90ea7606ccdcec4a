// PaceTicks: wakes an open loop when a request is due, more exactly than the loop's timers (1 ms).
//
//   at rest --set()--> armed --the moment--> on_tick(), which sets the next one
//
// One tick for each request, at its own moment, and no period: a ramp has none, and a tick that is
// early for one request is late for the next, which the latency would charge to the server.
//
// Linux: a timerfd. Elsewhere: the loop's timers.
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

    PaceTicks(core::EventLoop& loop, Receiver& receiver);
    ~PaceTicks();

    // One tick at `when`, or at once if that has passed. Nothing changes where an earlier one is
    // set: its receiver then sets this one.
    void set(Instant when);

  private:
    void on_ready(core::Watch& watch, core::Interest ready) override;
    void on_expired() override;

    core::EventLoop* loop_;
    Receiver* receiver_;
    core::Descriptor ticks_;
    core::Watch watch_;
    Instant at_ = Instant::max();  // of the next tick; max: none is set
};

}  // namespace tiderace::load
