#include "tiderace/db/pool_calls.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "tiderace/base/thread_name.h"
#include "tiderace/base/thread_refusal.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db {
namespace {

// How often the loop looks whether a call has returned.
constexpr Duration look_pause = 1ms;
constexpr Duration look_pause_max = 20ms;

// False: there is no thread, and the call is gone.
bool start_apart(unique_function<void()> call, std::shared_ptr<std::atomic<bool>> over) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    // A new thread inherits the mask: signals are for the main thread.
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const int refused = thread_refusal([&] {
        std::thread([call = std::move(call), over = std::move(over)]() mutable {
            name_this_thread("tr-apart");
            call();
            call = nullptr;  // its place is free before the loop learns of it
            *over = true;
        }).detach();
    });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return refused == 0;
}

}  // namespace

task::Task<> call_apart(unique_function<void()> call, Instant until) {
    const auto over = std::make_shared<std::atomic<bool>>(false);
    if (!start_apart(std::move(call), over)) co_return;
    const core::EventLoop& loop = task::Context::here().runner->loop();
    Duration pause = look_pause;
    while (!*over && loop.now() < until) {
        co_await task::sleep(std::min(pause, until - loop.now()));
        pause = std::min(pause * 2, look_pause_max);
    }
}

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
