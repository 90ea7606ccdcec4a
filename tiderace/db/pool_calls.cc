#include "tiderace/db/pool_calls.h"

#include <unistd.h>

#include <array>
#include <thread>
#include <utility>

#include "tiderace/base/signals_blocked.h"
#include "tiderace/base/thread_name.h"
#include "tiderace/base/thread_refusal.h"
#include "tiderace/core/child_process.h"
#include "tiderace/db/readiness.h"

namespace tiderace::db {
namespace {

// Counted for each kind, on all loops. A thread may still count down while the program ends.
constinit std::array<std::atomic<unsigned>, PoolCalls::kinds> program_calls{};

// False: they are all taken.
bool take_one_of(std::atomic<unsigned>& calls) {
    unsigned taken = calls;
    while (taken < PoolCalls::program_calls_max) {
        if (calls.compare_exchange_weak(taken, taken + 1)) return true;
    }
    return false;
}

// False: there is no thread, and the call is gone. A byte comes out of `end` when it has returned.
bool start_apart(unique_function<void()> call, core::Descriptor end) {
    const int refused = thread_refusal([&] {
        const SignalsBlocked blocked;
        std::thread([call = std::move(call), end = std::move(end)]() mutable {
            name_this_thread("tr-apart");
            call();
            call = nullptr;                    // its place is free before the loop learns of it
            (void)!::write(end.get(), "", 1);  // SIGPIPE, if the loop has ended, is blocked
        }).detach();
    });
    return refused == 0;
}

}  // namespace

// By a pipe, because the thread may outlive the loop and its mailbox.
task::Task<> call_apart(unique_function<void()> call, Instant until) {
    auto ends = core::Pipe::open();
    if (!ends || !start_apart(std::move(call), std::move(ends->writing))) co_return;
    Readiness over(task::Context::here().runner->loop());
    over.look_at(ends->reading.get());
    (void)co_await over.wait({.readable = true}, until);
    over.forget();
}

struct PoolCalls::Loop {
    explicit Loop(task::Runner&) {
        for (Count& each : counts) each = std::make_shared<std::atomic<unsigned>>(0U);
    }
    std::array<Count, kinds> counts;
};

PoolCalls::PoolCalls(task::Runner& runner, Kind kind)
    : kind_(static_cast<std::size_t>(kind)), all_(runner.local<Loop>().counts[kind_]) {}

std::shared_ptr<void> PoolCalls::take() {
    // Only the loop adds to it, so it cannot grow between the two steps.
    if (*all_ >= calls_max || !take_one_of(program_calls[kind_])) return nullptr;
    ++*all_;
    ++*ours_;
    // The call may outlive the connection, and the loop.
    return {this, [kind = kind_, all = all_, ours = ours_](void*) {
                --*all;
                --*ours;
                --program_calls[kind];
            }};
}

}  // namespace tiderace::db
