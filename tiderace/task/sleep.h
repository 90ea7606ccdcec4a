// sleep, sleep_until, yield, deadline: a task and time.
//
//   co_await sleep(1s);
//
// Thread   The loop's.
// Errors   None. Time is the loop's clock, so a test owns it; never early, up to 1 ms late.
// Memory   In the frame that awaits; cancelling takes the timer back.
#pragma once

#include <coroutine>
#include <utility>

#include "tiderace/core/timer_wheel.h"
#include "tiderace/task/runner.h"

namespace tiderace::task {

class [[nodiscard("co_await it")]] Sleep final : private core::Timer {
  public:
    explicit Sleep(Instant until) : until_(until) {}
    explicit Sleep(Duration duration) : duration_(duration) {}
    Sleep(Sleep&& other) noexcept
        : until_(other.until_), duration_(other.duration_), waiter_(std::move(other.waiter_)) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const noexcept {}

  private:
    void on_expired() override { waiter_.wake(); }

    Instant until_{};
    Duration duration_{-1};
    Waiter waiter_;
};

// At least this long; zero or less gives way to the other ready tasks once.
inline Sleep sleep(Duration duration) {
    return Sleep(duration > Duration::zero() ? duration : Duration::zero());
}
inline Sleep sleep_until(Instant until) {
    return Sleep(until);
}

// Gives way to the other ready tasks of the loop.
class [[nodiscard("co_await it")]] Yield {
  public:
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        waiter_.suspend(handle);
        waiter_.wake();
    }
    void await_resume() const noexcept {}

  private:
    Waiter waiter_;
};
inline Yield yield() {
    return {};
}

// Until when the running task may take; Instant::max() for no limit. Clients and databases send it
// along.
inline Instant deadline() {
    return Context::here().deadline;
}

}  // namespace tiderace::task
