// Poller: the few functions in which epoll, poll, select and kqueue differ. Level-triggered.
//
// Level-triggered, because a connection that is left alone for a turn is reported again: fairness,
// and no event that can be lost, for nothing. Edge-triggered (epoll_edge.h) the kernel saves a look
// at each socket that it told of: a hundredth of a request, which is not worth it.
//
// Thread   The loop's, except wake().
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>

#include "tiderace/base/units.h"

namespace tiderace::core {

struct Interest {
    bool readable = false;
    bool writable = false;

    bool operator==(const Interest&) const = default;
    bool any() const { return readable || writable; }
};

struct Ready {
    int fd = -1;
    std::uint32_t generation = 0;
    bool readable = false;
    bool writable = false;
    bool failed = false;  // error or hang-up, reported even where no interest was set
};

// A wait as poll and epoll_wait take it; negative: for ever. Rounded up: a timer must not fire
// early, nor the loop spin in the last millisecond.
inline int timeout_ms(Duration wait) {
    if (wait < Duration::zero()) return -1;
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    return static_cast<int>(std::min<std::int64_t>(rounded, std::numeric_limits<int>::max()));
}

class Poller {
  public:
    virtual ~Poller() = default;

    virtual const char* name() const = 0;
    // Sets what is reported for `fd` from now on; `known` tells whether it was set before and not
    // removed. Returns 0 or -errno.
    virtual int set(int fd, std::uint32_t generation, Interest interest, bool known) = 0;
    // Must come before the descriptor is closed.
    virtual void remove(int fd) = 0;
    // The same, of a descriptor that is closed right after this.
    virtual void remove_closing(int fd) { remove(fd); }
    // A call for `what` has just met EAGAIN, or got less than it had room for: then there is no
    // more (urgent data apart, of which no protocol here knows). Only an edge-triggered poller
    // wants to know.
    virtual void exhausted(int /*fd*/, Interest /*what*/) {}
    // What was ready may be so still, and nobody will say that it is exhausted: a foreign
    // descriptor.
    virtual void ask_again(int /*fd*/, std::uint32_t /*generation*/) {}
    // Fills `out` with what is ready, waiting up to `wait` (negative: for ever, zero: not at all).
    // Returns how many, or -errno. A wake() makes it return early, with 0 if nothing is ready.
    virtual int wait(std::span<Ready> out, Duration wait) = 0;
    virtual void wake() = 0;
};

}  // namespace tiderace::core
