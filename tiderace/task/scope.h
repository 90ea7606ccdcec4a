// Scope: tasks that run beside the one that spawns them, and never longer than the scope.
//
//   Scope scope;
//   for (auto& peer : peers) scope.spawn(greet(peer));
//   scope.spawn([name]() -> Task<> { co_await greet(name); });     // the scope keeps the lambda
//   co_await scope.join();             // all have ended; the first failure is thrown here
//
// Leaving the scope cancels what still runs. A task that fails cancels the others.
//
// Owner    The coroutine, or the object, that made it.
// Thread   The loop's.
// Errors   The first exception, thrown by join(). A scope that ends without a join() logs it.
// Limits   None of its own: bound what you spawn with a Semaphore.
// Keywords: structured concurrency, cancellation, nursery
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/task/runner.h"

namespace tiderace::task {

class Scope final {
  public:
    // Inside a task, whose runner and deadline it inherits.
    Scope();
    explicit Scope(Runner& runner, Instant deadline = Instant::max());
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // Runs the task until it first waits.
    void spawn(Task<> task);
    // Keeps the callable until its task has ended, because the task reads what a lambda captured.
    template <TaskFunction F>
    void spawn(F function) {
        spawn(run_kept(std::move(function)));
    }
    // Cancels all, without waiting for those that are on the stack.
    void cancel();
    std::size_t size() const { return children_.size(); }

    class [[nodiscard("co_await it")]] Joined;
    // Waits until all have ended. One waiter at a time.
    Joined join();

  private:
    class Child;

    void child_done(Child& child, std::exception_ptr failure);
    std::unique_ptr<Child> take(std::size_t index);

    Runner* runner_;
    Instant deadline_;
    std::vector<std::unique_ptr<Child>> children_;
    Waiter* joining_ = nullptr;
    std::exception_ptr failure_;
};

class Scope::Joined {
  public:
    explicit Joined(Scope& scope) : scope_(&scope) {}
    Joined(Joined&&) = default;
    ~Joined() {
        if (waiting_) scope_->joining_ = nullptr;
    }

    bool await_ready() const noexcept { return scope_->children_.empty(); }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume();

  private:
    Scope* scope_;
    Waiter waiter_;
    bool waiting_ = false;
};

inline Scope::Joined Scope::join() {
    return Joined(*this);
}

}  // namespace tiderace::task
