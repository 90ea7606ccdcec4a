#include "tiderace/log/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#if defined(__linux__)
#include <sys/eventfd.h>
#endif

namespace tiderace::log {

Doorbell::~Doorbell() {
    if (wait_descriptor_ >= 0) ::close(wait_descriptor_);
    if (ring_descriptor_ >= 0 && ring_descriptor_ != wait_descriptor_) ::close(ring_descriptor_);
}

Result<> Doorbell::open() {
#if defined(__linux__)
    const int both = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (both < 0) return fail(Error::last("eventfd", "log"));
    wait_descriptor_ = ring_descriptor_ = both;
#else
    int ends[2];
    if (::pipe(ends) != 0) return fail(Error::last("pipe", "log"));
    for (const int end : ends) {
        ::fcntl(end, F_SETFD, FD_CLOEXEC);
        ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
    wait_descriptor_ = ends[0];
    ring_descriptor_ = ends[1];
#endif
    return {};
}

void Doorbell::ring() {
    const int saved = errno;  // for the signal handlers that ring
    const std::uint64_t once = 1;
    // A full pipe or counter means that a wake-up is already pending: good enough.
    [[maybe_unused]] const auto written = ::write(ring_descriptor_, &once, sizeof once);
    errno = saved;
}

bool Doorbell::wait(int timeout_ms, std::span<const int> room) {
    std::array<pollfd, 1 + room_max> watched;
    std::size_t count = 0;
    watched[count++] = {wait_descriptor_, POLLIN, 0};
    for (const int descriptor : room.first(std::min(room.size(), room_max))) {
        watched[count++] = {descriptor, POLLOUT, 0};
    }
    const int ready = ::poll(watched.data(), static_cast<nfds_t>(count), timeout_ms);
    const bool was_rung = ready > 0 && watched[0].revents != 0;
    if (was_rung) {
        // An eventfd gives its count in one read, which is a short one; a pipe may hold more.
        std::uint64_t rung[16];
        while (::read(wait_descriptor_, rung, sizeof rung) == sizeof rung) {
        }
    }
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    return was_rung;
}

bool Doorbell::sleep_for(Duration duration, std::span<const int> room) {
    // At least one: a flush interval of nothing must not make the writer spin over a sink in
    // trouble.
    const auto whole_ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
    return wait(
        static_cast<int>(std::clamp<std::int64_t>(whole_ms, 1, std::numeric_limits<int>::max())),
        room);
}

}  // namespace tiderace::log
