#include "load/pace_ticks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#if defined(__linux__)
#include <sys/timerfd.h>
#endif

namespace tiderace::load {

PaceTicks::PaceTicks(core::EventLoop& loop, Receiver& receiver, double rate)
    : loop_(&loop), receiver_(&receiver), watch_(loop, *this) {
    interval_ =
        // Above some rate a tick for each request would cost more than the requests: one tick finds
        // several due.
        std::clamp(Duration(static_cast<std::int64_t>(1e9 / rate)), interval_min, Duration(1s));
#if defined(__linux__)
    // A timer of the loop has its resolution of milliseconds, too coarse for a high rate.
    ticks_ = core::Descriptor(loop.kernel(),
                              ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (ticks_ && watch_.watch(ticks_.get(), {.readable = true})) {
        const timespec period{interval_ / 1s, (interval_ % 1s).count()};
        const itimerspec setting{period, period};
        ::timerfd_settime(ticks_.get(), 0, &setting, nullptr);
        return;
    }
#endif
    loop.arm(*this, loop.now() + interval_);
}

PaceTicks::~PaceTicks() {
    loop_->cancel(*this);
}

void PaceTicks::on_ready(core::Watch&, core::Interest) {
    std::uint64_t ticks = 0;
    // Ticks that were missed come as one: the pacer knows how many requests are due.
    if (::read(ticks_.get(), &ticks, sizeof ticks) > 0) receiver_->on_tick();
}

void PaceTicks::on_expired() {
    receiver_->on_tick();
    loop_->arm(*this, loop_->now() + interval_);
}

}  // namespace tiderace::load
