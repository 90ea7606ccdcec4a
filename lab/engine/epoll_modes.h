// The engines `epoll-lt`, `epoll-et` and `epoll-oneshot`: the three modes in which epoll reports
// readiness, each under core's unchanged readiness backend.
//
//   epoll-lt       level-triggered: core's own epoll, under a name of its own
//   epoll-et       edge-triggered (edge_poller.h)
//   epoll-oneshot  one-shot (oneshot_poller.h)
//
// Where there is no epoll, epoll_modes_absent.cc stands in for it.
//
// Owner, Thread, Errors   As core::Backend.
#pragma once

#include <memory>
#include <string_view>

#include "lab/engine/threading_model.h"
#include "tiderace/core/backend.h"

namespace tiderace::lab::engine {

// Why they cannot be had here; "" where they can.
std::string_view epoll_modes_absent();
Result<std::unique_ptr<core::Backend>> make_level_backend(const core::BackendOptions& options);
Result<std::unique_ptr<core::Backend>> make_edge_backend(const core::BackendOptions& options);
Result<std::unique_ptr<core::Backend>> make_oneshot_backend(const core::BackendOptions& options);
std::unique_ptr<ThreadingModel> arrange_level();
std::unique_ptr<ThreadingModel> arrange_edge();
std::unique_ptr<ThreadingModel> arrange_oneshot();

}  // namespace tiderace::lab::engine
