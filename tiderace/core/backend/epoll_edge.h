// Epoll, edge-triggered: the kernel says once that a descriptor became ready, and nothing more
// until it was exhausted.
//
// What was said is remembered here until the backend has met EAGAIN, so that above this the engine
// behaves as a level-triggered one. Interest changes cost no call; instead each exhausted
// descriptor costs the call that finds it so.
//
// Thread   The loop's, except wake().
// Memory   24 bytes a descriptor number.
#pragma once

#include <memory>

#include "tiderace/core/backend/poller.h"

namespace tiderace::core {

// nullptr where there is no epoll.
std::unique_ptr<Poller> make_edge_poller();

}  // namespace tiderace::core
