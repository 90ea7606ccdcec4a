// Poller: the four functions in which epoll, poll, select and kqueue differ. Level-triggered.
//
// Level-triggered, because a connection that is left alone for a turn is reported again: fairness,
// and no event that can be lost, for nothing. The lab compares the other modes of epoll
// (lab/engine/edge_poller.h): edge-triggered, the kernel saves a second check of each reported
// socket, about a hundredth of a request, which is not worth it.
//
// Thread   The loop's, except wake().
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>

#include "tiderace/base/units.h"
#include "tiderace/core/interest.h"

namespace tiderace::core {

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

// The fate of a descriptor right after it was removed.
enum class Afterwards : std::uint8_t { open, closed };

class Poller {
  public:
    virtual ~Poller() = default;

    // Sets what is reported for `fd` from now on; `known`: whether it was set before and not
    // removed. Returns 0 or -errno.
    virtual int set(int fd, std::uint32_t generation, Interest interest, bool known) = 0;
    // Must come before the descriptor is closed.
    virtual void remove(int fd, Afterwards afterwards) = 0;
    // Fills `out` with what is ready, waiting up to `wait` (negative: for ever, zero: not at all).
    // Returns how many, or -errno. A wake() makes it return early, with 0 if nothing is ready.
    virtual int wait(std::span<Ready> out, Duration wait) = 0;
    virtual void wake() = 0;
};

}  // namespace tiderace::core
