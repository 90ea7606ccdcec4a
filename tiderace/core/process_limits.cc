#include "tiderace/core/process_limits.h"

#include <sys/resource.h>
#if defined(__APPLE__)
#include <limits.h>
#endif

#include <algorithm>

namespace tiderace::core {
namespace {

constexpr const char* what = "of open descriptors (RLIMIT_NOFILE)";

std::uint64_t count(rlim_t limit) {
    return limit == RLIM_INFINITY ? UINT64_MAX : limit;
}

// macOS reports "unlimited" but refuses more than OPEN_MAX.
rlim_t reachable(rlim_t hard) {
#if defined(__APPLE__)
    return hard < OPEN_MAX ? hard : OPEN_MAX;
#else
    return hard;
#endif
}

}  // namespace

std::uint64_t room_for_connections(std::uint64_t descriptors, std::uint64_t loops,
                                   std::uint64_t kept_per_loop) {
    const std::uint64_t kept = descriptors_kept + kept_per_loop * loops;
    const std::uint64_t left = descriptors - std::min(descriptors, kept);
    // With so few descriptors that the reserve would take nearly all, connections still get half.
    return std::max({left, descriptors / 2, std::uint64_t{1}});
}

Result<DescriptorLimit> raise_descriptor_limit() {
    rlimit limit;
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return fail(Error::last("read limit", what));
    DescriptorLimit report{count(limit.rlim_cur), count(limit.rlim_cur)};
    const rlim_t wanted = reachable(limit.rlim_max);
    // It is at the hard limit already.
    if (report.before >= count(wanted)) return report;
    limit.rlim_cur = wanted;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return fail(Error::last("raise limit", what));
    report.after = count(wanted);
    return report;
}

}  // namespace tiderace::core
