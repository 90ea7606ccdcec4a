#include "load/pace_ticks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#if defined(__linux__)
#include <sys/timerfd.h>
#endif

namespace tiderace::load {

PaceTicks::PaceTicks(core::EventLoop& loop, Receiver& receiver)
    : loop_(&loop), receiver_(&receiver), watch_(loop, *this) {
#if defined(__linux__)
    ticks_ = core::Descriptor(loop.kernel(),
                              ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    // Without a descriptor, or where the engine cannot hold it (select above 1,023): the loop's
    // timers, and requests up to a millisecond late.
    if (ticks_ && !watch_.watch(ticks_.get(), {.readable = true})) ticks_.reset();
#endif
}

PaceTicks::~PaceTicks() {
    loop_->cancel(*this);
}

void PaceTicks::set(Instant when) {
    if (at_ <= when) return;
    at_ = when;
#if defined(__linux__)
    if (ticks_) {
        // Absolute, on the clock that Instant counts: a moment that has passed meanwhile expires at
        // once. 0 would disarm it.
        const Duration since = std::max<Duration>(when.time_since_epoch(), 1ns);
        itimerspec setting{};
        setting.it_value = {.tv_sec = since / 1s, .tv_nsec = (since % 1s).count()};
        ::timerfd_settime(ticks_.get(), TFD_TIMER_ABSTIME, &setting, nullptr);
        return;
    }
#endif
    loop_->arm(*this, when);
}

void PaceTicks::on_ready(core::Watch&, core::Interest) {
    at_ = Instant::max();
    receiver_->on_tick();
    // A timer that was set anew has forgotten its expiry. One that was not stays readable, and
    // would be reported in every turn.
    std::uint64_t expired = 0;
    if (at_ == Instant::max()) static_cast<void>(!::read(ticks_.get(), &expired, sizeof expired));
}

void PaceTicks::on_expired() {
    at_ = Instant::max();
    receiver_->on_tick();
}

}  // namespace tiderace::load
