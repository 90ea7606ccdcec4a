#include "lab/load/pace_ticks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#if defined(__linux__)
#include <sys/timerfd.h>
#endif

namespace tiderace::lab {

PaceTicks::PaceTicks(core::EventLoop& loop, Receiver& receiver, double rate)
    : loop_(&loop), receiver_(&receiver) {
    interval_ =
        std::clamp(Duration(static_cast<std::int64_t>(1e9 / rate)), interval_min, Duration(1s));
#if defined(__linux__)
    const int fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd >= 0) {
        if (auto handle = loop.backend().attach(fd, *this)) {
            handle_ = *handle;
            const timespec period{interval_ / 1s, (interval_ % 1s).count()};
            const itimerspec setting{period, period};
            ::timerfd_settime(fd, 0, &setting, nullptr);
            loop.backend().watch(handle_, true, false);
            return;
        }
        ::close(fd);
    }
#endif
    loop.arm(*this, loop.now() + interval_);
}

PaceTicks::~PaceTicks() {
    loop_->cancel(*this);
    if (handle_) loop_->backend().close(handle_, {});
}

void PaceTicks::on_ready(bool, bool) {
    std::uint64_t ticks = 0;
    if (::read(handle_.fd, &ticks, sizeof ticks) > 0) receiver_->on_tick();
}

void PaceTicks::on_expired() {
    receiver_->on_tick();
    loop_->arm(*this, loop_->now() + interval_);
}

}  // namespace tiderace::lab
