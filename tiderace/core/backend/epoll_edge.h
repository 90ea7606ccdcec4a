// Epoll, edge-triggered: the kernel says once that a descriptor became ready, and nothing more
// until it was exhausted.
//
// What was said is remembered here until the backend has taken all there was, so that above this
// the engine behaves as a level-triggered one. Interest changes cost no call, and the kernel does
// not look again at a socket that it has told of.
//
// Thread   The loop's, except wake().
// Memory   A byte a descriptor number.
#pragma once

#include <memory>

#include "tiderace/core/backend/poller.h"

namespace tiderace::core {

// nullptr where there is no epoll.
std::unique_ptr<Poller> make_edge_poller();

}  // namespace tiderace::core
