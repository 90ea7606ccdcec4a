// Accepting by system call, as direct_send.h sends: for every backend that works by readiness.
//
// Thread   The loop's.
// Errors   For lack of descriptors or memory the observer gets one error, and no more are accepted
//          in this turn. Faults of single connections (ECONNABORTED, errors of the peer's network)
//          are ignored.
// Keywords: accept4
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "tiderace/core/backend.h"
#include "tiderace/core/peer_address.h"

namespace tiderace::core {

// Whether accepting failed for lack of descriptors or memory, and would fail again at once.
inline bool lacks_resources(int error) {
    return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

// How many to accept in a turn in which so many descriptors are ready. Newcomers get their share of
// a turn with much to do, so that a storm of them is not left standing. In one with little, a
// single one: it is served before the next is taken, while what the kernel and we keep of it is
// near. A connection for each request costs a tenth less so than with all at once, also where it is
// served by another loop than the one that accepts.
inline std::size_t accepts_of_turn(std::size_t ready, const BackendOptions& options) {
    constexpr std::size_t ready_per_accept = 8;
    return std::min(std::max<std::size_t>(1, ready / ready_per_accept),
                    options.accepts_per_turn_max);
}

// Tells `observer` of the connections that wait at `listener`, of at most `accepts_max`. It may
// stop or close the listener in each call: it goes on while `listens()` is true. Returns whether
// the kernel reported that none is left.
template <typename Listens>
bool accept_directly(Kernel& kernel, int listener, IoObserver& observer, std::size_t accepts_max,
                     const Listens& listens) {
    for (std::size_t i = 0; i < accepts_max; ++i) {
        sockaddr_storage peer;
        socklen_t bytes = sizeof peer;
        auto* const raw = reinterpret_cast<sockaddr*>(&peer);
        const int fd = kernel.accept(listener, raw, &bytes);
        if (fd >= 0) {
            observer.on_accepted(fd, peer_address(raw, bytes));
            if (!listens()) return false;
        } else if (fd == -EAGAIN || fd == -EWOULDBLOCK) {
            return true;
        } else if (lacks_resources(fd)) {
            observer.on_accept_failed(fd);
            return false;
        }
    }
    return false;
}

}  // namespace tiderace::core
