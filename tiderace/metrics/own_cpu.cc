#include "tiderace/metrics/own_cpu.h"

#include <sys/resource.h>

namespace tiderace::metrics {
namespace {

Duration used_by(int who) {
    rusage used{};
    // Cannot fail, because the first argument is valid in both callers.
    ::getrusage(who, &used);
    const auto of = [](const timeval& t) {
        return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    return of(used.ru_utime) + of(used.ru_stime);
}

}  // namespace

Duration own_process_cpu() {
    return used_by(RUSAGE_SELF);
}

Duration own_thread_cpu() {
#if defined(RUSAGE_THREAD)
    return used_by(RUSAGE_THREAD);
#else
    // Systems without it (macOS) show no busiest loop.
    return Duration::zero();
#endif
}

}  // namespace tiderace::metrics
