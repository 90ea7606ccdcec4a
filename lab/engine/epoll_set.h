// EpollSet: an epoll instance with its waker, for the pollers of the lab. Linux only.
//
// Thread   The loop's, except wake().
// Errors   -errno. No descriptor left for it: the process ends, as in core.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/epoll.h"
#include "tiderace/core/backend/waker.h"

namespace tiderace::lab::engine {

class EpollSet {
  public:
    static constexpr std::size_t events_max = 512;  // of one wait

    EpollSet() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        TR_CHECK(epoll_ >= 0, "no descriptor left for a loop's epoll");
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = core::epoll_waker_mark;
        TR_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, waker_.descriptor(), &event) == 0);
    }
    ~EpollSet() { ::close(epoll_); }
    EpollSet(const EpollSet&) = delete;
    EpollSet& operator=(const EpollSet&) = delete;

    // EPOLL_CTL_ADD or EPOLL_CTL_MOD.
    int set(int operation, int fd, std::uint32_t generation, std::uint32_t events) {
        epoll_event event{};
        event.events = events;
        event.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
        return ::epoll_ctl(epoll_, operation, fd, &event) == 0 ? 0 : -errno;
    }
    void remove(int fd) { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

    // The events of up to `count_max` descriptors, good until the next wait; or -errno. The waker's
    // own event is cleared here and handed out with the others: is_waker() recognises it.
    int wait(std::size_t count_max, int timeout_ms) {
        const auto room = static_cast<int>(std::min(count_max, events_max));
        const int count = ::epoll_wait(epoll_, events_.data(), room, timeout_ms);
        if (count < 0) return -errno;
        for (const epoll_event& event : events(count)) {
            if (is_waker(event)) waker_.clear();
        }
        return count;
    }
    std::span<const epoll_event> events(int count) const {
        return std::span(events_).first(count < 0 ? 0 : static_cast<std::size_t>(count));
    }
    static bool is_waker(const epoll_event& event) {
        return event.data.u64 == core::epoll_waker_mark;
    }
    static int descriptor_of(const epoll_event& event) {
        return static_cast<int>(static_cast<std::uint32_t>(event.data.u64));
    }
    static std::uint32_t generation_of(const epoll_event& event) {
        return static_cast<std::uint32_t>(event.data.u64 >> 32);
    }
    void wake() { waker_.wake(); }

  private:
    int epoll_;
    core::Waker waker_;
    std::array<epoll_event, events_max> events_;
};

}  // namespace tiderace::lab::engine
