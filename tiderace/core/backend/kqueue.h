// KqueuePoller: kevent(2) of BSD and macOS, level-triggered.
//
//   set()   is only written down; the difference to what the kernel knows goes with the next wait:
//           one call takes the changes of a turn and brings its events
//
// A filter is added where it is wanted and deleted where it is not (never disabled: a connection
// that once waited for room would keep the memory of a filter for life), and never EV_CLEAR:
// readiness is reported again in the next turn, as Poller requires, and no reader has to reach
// EAGAIN. An event carries the generation of its descriptor in udata; adding again replaces it, so
// a number is used again without a deletion first.
//
// Thread   The loop's, except wake().
// Errors   A filter that the kernel refuses is reported as ready and failed, so that its owner
//          meets the fault in its own call, and is registered again
//          kqueue_retry_interval later.
// Memory   12 bytes a descriptor number, and the changes of a turn.
// Keywords: kqueue, kevent, macOS, FreeBSD
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include "tiderace/core/backend/poller.h"

struct kevent;
struct timespec;

namespace tiderace::core {

// One kqueue, as an object, so that tests can be the kernel where there is none
// (testing/fake/stand_in_queue.h).
class KernelQueue {
  public:
    virtual ~KernelQueue() = default;

    // kevent(2): takes the changes, then waits for events up to `wait_max` (nullptr: for ever).
    // Returns how many it put into `events`, or -errno. Any thread may give changes alone.
    virtual int exchange(std::span<const struct kevent> changes, std::span<struct kevent> events,
                         const timespec* wait_max) = 0;
};

inline constexpr Duration kqueue_retry_interval = std::chrono::milliseconds(10);

std::unique_ptr<Poller> make_kqueue_poller(std::unique_ptr<KernelQueue> queue);

// Over the system's own; nullptr where there is none.
std::unique_ptr<Poller> make_kqueue_poller();
bool has_kqueue();

}  // namespace tiderace::core
