// PoolCalls: the places of a connection's blocking calls on the worker pool. A server that answers
// nothing holds such a call for as long as its time-out, and may not take all threads of the pool.
//
//     if (const auto place = kills_.take()) {
//         unique_function<void()> work([place, …] { … });
//         (void)co_await task::within(wait, task::offload(std::move(work)));
//     }
//
// Owner    A connection.
// Thread   The loop's; a place may end on any.
// Limits   calls_max of a kind on one loop.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tiderace/task/runner.h"

namespace tiderace::db {

class PoolCalls {
  public:
    enum class Kind : std::uint8_t { postgres_cancel, mariadb_kill, mariadb_open };
    static constexpr unsigned calls_max = 2;

    PoolCalls(task::Runner& runner, Kind kind);

    // Taken until its last copy ends, which the call owns. nullptr: none is free.
    std::shared_ptr<void> take();
    // Calls of this connection have not ended.
    bool pending() const { return *ours_ > 0; }

  private:
    using Count = std::shared_ptr<std::atomic<unsigned>>;
    struct Loop;

    Count all_;  // of the loop's connections
    Count ours_ = std::make_shared<std::atomic<unsigned>>(0U);
};

}  // namespace tiderace::db
