#include "tiderace/core/clock.h"

#include <time.h>

#include "tiderace/base/check.h"

namespace tiderace::core {
namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;

std::int64_t read_ns(clockid_t which) {
    timespec time;
    TR_CHECK(::clock_gettime(which, &time) == 0, "the machine has no such clock");
    return static_cast<std::int64_t>(time.tv_sec) * ns_per_second + time.tv_nsec;
}

}  // namespace

UnixSeconds Clock::unix_now() const {
    const std::int64_t ns = unix_now_ns();
    // Division truncates; before 1970 that would round up.
    return ns / ns_per_second - (ns % ns_per_second < 0 ? 1 : 0);
}

Instant SystemClock::now() const {
    return Instant(Duration(read_ns(CLOCK_MONOTONIC)));
}

std::int64_t SystemClock::unix_now_ns() const {
    return read_ns(CLOCK_REALTIME);
}

}  // namespace tiderace::core
