// detached: a task that goes on when the one that awaits it is cancelled, for work that must not
// stop half-way because a client went away or a deadline passed.
//
//   app.post<"/orders">([](Json<Order> order, Shop& shop) -> Task<Receipt> {
//       co_return co_await detached(place(std::move(*order), shop));
//   });
//
//   awaited -> runs as a task of the loop -> its value or exception goes to the one that awaits it
//                                        \-> that one was cancelled: the value is dropped, and an
//                                            exception is one log line
//
// It inherits no deadline. Its parameters are values, or references to what lives as long as the
// loop: the frame and the captures of the handler that awaits it may be gone before it ends.
//
// Owner    The loop's Runner, whose end cancels it. An App that drains waits for the ones that run
//          once its background tasks are over, and the ones that these start, until the drain's
//          deadline.
// Thread   The loop's.
// Errors   What the task throws is thrown on.
// Memory   Two frames and the result.
// Keywords: cancellation, fire and forget
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "tiderace/base/unique_function.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/task/awaitable.h"
#include "tiderace/task/runner.h"

namespace tiderace::task {

// The detached tasks of one loop: Runner::local<DetachedTasks>().
class DetachedTasks final : private core::Timer {
  public:
    explicit DetachedTasks(Runner& runner) : runner_(&runner) {}
    ~DetachedTasks();
    DetachedTasks(const DetachedTasks&) = delete;
    DetachedTasks& operator=(const DetachedTasks&) = delete;

    std::size_t running() const { return running_; }
    // `done` is called when none runs: now, or later, at `deadline` at the latest. Once.
    void drain(Instant deadline, unique_function<void()> done);
    // One ended by itself.
    void on_ended();

    // Counts one for as long as its frame lives.
    class Count {
      public:
        explicit Count(DetachedTasks& tasks) : tasks_(&tasks) { ++tasks_->running_; }
        Count(const Count&) = delete;
        Count& operator=(const Count&) = delete;
        ~Count() { --tasks_->running_; }

      private:
        DetachedTasks* tasks_;
    };

  private:
    void on_expired() override;

    Runner* runner_;
    std::size_t running_ = 0;
    unique_function<void()> done_;
};

// The state that the task and its awaiter share.
template <typename T>
struct DetachedResult {
    std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value;
    std::exception_ptr failure;
    Waiter* waiting = nullptr;
    bool abandoned = false;
    bool over = false;
};

template <typename T>
Task<> run_detached(Runner& runner, Task<T> task, std::shared_ptr<DetachedResult<T>> result) {
    DetachedTasks& all = runner.local<DetachedTasks>();
    {
        const DetachedTasks::Count count(all);
        try {
            if constexpr (std::is_void_v<T>) {
                co_await std::move(task);
            } else {
                T value = co_await std::move(task);
                result->value.emplace(std::move(value));
            }
        } catch (...) {
            result->failure = std::current_exception();
        }
        if (result->failure && result->abandoned) log_failure(runner.loop().log(), result->failure);
        result->over = true;
        if (result->waiting != nullptr) result->waiting->wake();
    }
    all.on_ended();
}

template <typename T>
class [[nodiscard("co_await it")]] Detached final {
  public:
    explicit Detached(Task<T> task) : task_(std::move(task)) {}
    Detached(Detached&&) = default;
    ~Detached() {
        if (result_ == nullptr) return;
        result_->waiting = nullptr;
        result_->abandoned = true;
        // It failed just before the one that awaits it was cancelled.
        if (result_->failure) log_failure(runner_->loop().log(), result_->failure);
    }

    // Runs it until it first waits.
    bool await_ready() {
        runner_ = Context::here().runner;
        result_ = std::make_shared<DetachedResult<T>>();
        runner_->spawn(run_detached(*runner_, std::move(task_), result_));
        return result_->over;
    }
    void await_suspend(std::coroutine_handle<> handle) {
        waiter_.suspend(handle);
        result_->waiting = &waiter_;
    }
    T await_resume() {
        const auto result = std::exchange(result_, nullptr);
        if (result->failure) std::rethrow_exception(result->failure);
        if constexpr (!std::is_void_v<T>) return std::move(*result->value);
    }

  private:
    Task<T> task_;
    Runner* runner_ = nullptr;
    std::shared_ptr<DetachedResult<T>> result_;  // from the await to its end
    Waiter waiter_;
};

// It begins when it is awaited.
template <typename T>
Detached<T> detached(Task<T> task) {
    return Detached<T>(std::move(task));
}

template <typename A>
auto detached(A awaitable) {
    return detached(as_task(std::move(awaitable)));
}

}  // namespace tiderace::task
