// EpollPoller: Linux's epoll, level-triggered or one-shot. A descriptor is known to the kernel from
// its first interest on.
#pragma once

#include <cstdint>
#include <memory>

#include "tiderace/core/backend/poller.h"

namespace tiderace::core {

// level: what is ready is said until it is not. The default.
// oneshot: it is said once, then only after the descriptor was set again: a call for each event.
enum class EpollMode : std::uint8_t { level, oneshot };

// What epoll_event carries of the waker; that of a descriptor is never all ones.
inline constexpr std::uint64_t epoll_waker_mark = ~std::uint64_t{0};

// nullptr where there is no epoll. `name` is a constant.
std::unique_ptr<Poller> make_epoll_poller(const char* name, EpollMode mode);

}  // namespace tiderace::core
