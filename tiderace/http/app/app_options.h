// Internal. AppOptions: limits and defaults of an App; middleware changes them for some routes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/base/units.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/json/type.h"

namespace tiderace::http {

struct AppOptions {
    std::uint64_t body_bytes_max = 1_MiB;  // of a body that is read whole; above: 413
    // Limits all bodies that a loop reads whole, while they arrive, and bodies that wait for a
    // BodyStream's handler; and of one more, where a route's limit is larger than that. Above:
    // those of the client that sends most are answered 503.
    std::size_t bodies_bytes_max = 64_MiB;
    // In the body of a handler that takes a Json<T>: members that T does not have. `refuse` answers
    // 422 and names them. A struct's own `unknown_members` comes first (tiderace/json.h).
    json::Unknown unknown_members = json::Unknown::refuse;
    // For a handler that waits; above: 503, and it is cancelled. For one that takes its body as it
    // comes, between two pieces and after the last, because a client's upload may last.
    Duration handler_timeout = 30s;
    // For offload(), of all loops.
    std::size_t pool_threads_max = core::WorkerPool::threads_max_default;
    std::size_t pool_queue_max = core::WorkerPool::queue_max_default;
};

}  // namespace tiderace::http
