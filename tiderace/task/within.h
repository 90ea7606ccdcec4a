// within: a task under a deadline. Past it the task is cancelled, with all that it awaits.
//
//   auto answer = co_await within(2s, fetch(url));      // std::expected<Answer, TimedOut>
//   if (!answer) co_return "too slow";
//
// What the task awaits inherits the deadline (task::deadline()), so a client or a database can pass
// it on. A deadline within an earlier one changes nothing.
//
// Thread   The loop's.
// Errors   TimedOut; an exception in time is thrown on. An exception after the time is over is a
//          log line and TimedOut: where the loop is late, a database or a client that
//          keeps the deadline by itself may be first.
// Keywords: time-out, cancellation
#pragma once

#include <coroutine>
#include <exception>
#include <expected>
#include <type_traits>

#include "tiderace/base/moment.h"
#include "tiderace/core/deadline.h"
#include "tiderace/task/awaitable.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/transfer.h"

namespace tiderace::task {

struct TimedOut {
    bool operator==(const TimedOut&) const = default;
};

template <typename T>
class [[nodiscard("co_await it")]] Within final : private core::Deadline {
  public:
    Within(Duration limit, Task<T> task) : limit_(limit), task_(std::move(task)) {}

    Within(Within&& other) noexcept
        : limit_(other.limit_), task_(std::move(other.task_)), waiter_(std::move(other.waiter_)) {}

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) {
        waiter_.suspend(awaiting);
        // A copy with a deadline of its own: what the task awaits sees the nearer one.
        context_ = *waiter_.context();
        context_.around = waiter_.context();
        core::EventLoop& loop = context_.runner->loop();
        const Instant until = moment_after(loop.now(), limit_);
        // An earlier outer deadline cancels us with the frame that we stand in.
        if (until < context_.deadline) context_.deadline = until;
        arm(loop, until);
        Context::current() = &context_;
        task_.handle().promise().set_continuation(awaiting);
        return transfer(task_.handle());
    }
    std::expected<T, TimedOut> await_resume() {
        // The task may have ended inside its own context, or never have run on.
        Context::current() = waiter_.context();
        disarm();
        if (!task_) return std::unexpected(TimedOut{});
        try {
            if constexpr (std::is_void_v<T>) {
                task_.handle().promise().take_value();
                return {};
            } else {
                return task_.handle().promise().take_value();
            }
        } catch (...) {
            core::EventLoop& loop = context_.runner->loop();
            if (loop.now() < context_.deadline) throw;
            log_failure(loop.log(), std::current_exception());
        }
        return std::unexpected(TimedOut{});
    }

  private:
    void on_passed() override {
        task_.reset();
        waiter_.wake();
    }

    Duration limit_;
    Task<T> task_;
    Context context_;
    Waiter waiter_;
};

// `limit` counts from the await. Zero or less: the task still runs until it first waits.
template <typename T>
Within<T> within(Duration limit, Task<T> task) {
    return Within<T>(limit, std::move(task));
}

template <typename A>
auto within(Duration limit, A awaitable) {
    return within(limit, as_task(std::move(awaitable)));
}

}  // namespace tiderace::task
