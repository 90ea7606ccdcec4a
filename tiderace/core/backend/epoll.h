// EpollPoller: Linux's epoll, level-triggered: readiness is reported until it is consumed. A
// descriptor is known to the kernel from its first interest on.
// Keywords: epoll, level-triggered
#pragma once

#include <cstdint>
#include <memory>

#include "tiderace/core/backend/poller.h"

namespace tiderace::core {

// The waker's mark in epoll_event; a descriptor's value is never all ones.
inline constexpr std::uint64_t epoll_waker_mark = ~std::uint64_t{0};

// nullptr where there is no epoll.
std::unique_ptr<Poller> make_epoll_poller();

}  // namespace tiderace::core
