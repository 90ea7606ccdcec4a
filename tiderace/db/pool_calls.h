// PoolCalls: the places of a connection's blocking calls. A server that answers nothing holds such
// a call, and its thread, for as long as its time-out, or for ever, and may not take any number of
// threads.
//
//     if (const auto place = cancels_.take()) {
//         unique_function<void()> work([place, …] { … });
//         co_await call_apart(std::move(work), until);
//     }
//
// Owner    A connection.
// Thread   The loop's; a place may end on any.
// Limits   calls_max of a kind on one loop, program_calls_max of a kind on all loops that there
//          were: a call may outlive its loop.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tiderace/base/unique_function.h"
#include "tiderace/base/units.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/task.h"

namespace tiderace::db {

class PoolCalls {
  public:
    enum class Kind : std::uint8_t { postgres_cancel, mariadb_kill, mariadb_open };
    static constexpr std::size_t kinds = 3;
    static constexpr unsigned calls_max = 2;
    static constexpr unsigned program_calls_max = 32;

    PoolCalls(task::Runner& runner, Kind kind);

    // Taken until its last copy ends, which the call owns. nullptr: none is free.
    std::shared_ptr<void> take();
    // Calls of this connection have not ended.
    bool pending() const { return *ours_ > 0; }

  private:
    using Count = std::shared_ptr<std::atomic<unsigned>>;
    struct Loop;

    std::size_t kind_;
    Count all_;  // of the loop's connections
    Count ours_ = std::make_shared<std::atomic<unsigned>>(0U);
};

// A call that may never return, on a thread of its own: one of the worker pool would be missing to
// all loops, and the end of the program would wait for it. Returns when the call has, or at the
// moment; without a thread or a pipe for it, at once. The call owns what it uses, and throws
// nothing.
task::Task<> call_apart(unique_function<void()> call, Instant until);

}  // namespace tiderace::db
