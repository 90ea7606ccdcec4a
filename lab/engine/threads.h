// The engines whose threads block: `threads`, `pool` (connection_threads.h) and `blocking-epoll`.
#pragma once

#include <memory>

#include "lab/engine/threading_model.h"

namespace tiderace::lab::engine {

// Without --threads. For `threads` it is the bound.
inline constexpr std::size_t threads_max_default = 512;
inline constexpr std::size_t pool_threads_default = 32;

std::unique_ptr<ThreadingModel> arrange_threads();
std::unique_ptr<ThreadingModel> arrange_pool();
std::unique_ptr<ThreadingModel> arrange_blocking_epoll();

}  // namespace tiderace::lab::engine
