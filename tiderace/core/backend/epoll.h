// EpollPoller: Linux's epoll, level-triggered. A descriptor is known to the kernel from its first
// interest on.
#pragma once

#include <memory>

#include "tiderace/core/backend/poller.h"

namespace tiderace::core {

// nullptr where there is no epoll.
std::unique_ptr<Poller> make_epoll_poller();

}  // namespace tiderace::core
