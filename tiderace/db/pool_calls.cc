#include "tiderace/db/pool_calls.h"

namespace tiderace::db {

struct PoolCalls::Loop {
    explicit Loop(task::Runner&) {
        for (Count& each : counts) each = std::make_shared<std::atomic<unsigned>>(0U);
    }
    std::array<Count, static_cast<std::size_t>(Kind::mariadb_open) + 1> counts;
};

PoolCalls::PoolCalls(task::Runner& runner, Kind kind)
    : all_(runner.local<Loop>().counts[static_cast<std::size_t>(kind)]) {}

std::shared_ptr<void> PoolCalls::take() {
    // Only the loop adds to it, so it cannot grow between the two steps.
    if (*all_ >= calls_max) return nullptr;
    ++*all_;
    ++*ours_;
    // The call may outlive the connection, and the loop.
    return {this, [all = all_, ours = ours_](void*) {
                --*all;
                --*ours;
            }};
}

}  // namespace tiderace::db
