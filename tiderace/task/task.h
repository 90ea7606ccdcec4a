// Task<T>: a coroutine that runs when it is awaited and hands its value, or its exception, to the
// one that awaits it.
//
//   Task<> greet(Stream& stream) { co_await stream.write(co_await make_greeting()); }
//
//   made -> suspended at its start -> runs while awaited -> done; its frame ends with the Task
//
// A task that is destroyed before it is done is cancelled: its frame ends at the await where it
// stands, locals are destroyed, and the operation that it waits for is taken back.
//
// g++ 12 (not clang) mistreats a temporary aggregate, lambda or `c ? a : b` in a co_await, and an
// aggregate with a co_await between its braces: what needs a destructor is copied bit by bit and
// destroyed twice. Name it first:
//   auto draft = NewPost{.title = title};
//   co_await save(std::move(draft));
//
// Parameters are copied or moved into the frame; a reference must outlive the task. The captures of
// a lambda live in the lambda, not in the frame: keep the lambda, or pass values as parameters.
//
// Owner    The holder of the Task. Awaiting it keeps it until the await ends.
// Thread   One loop's.
// Errors   What the body throws is thrown again where the task is awaited.
// Memory   One frame, from the thread's FramePool.
// Keywords: coroutine, co_await, cancellation, async
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/task/frame_pool.h"
#include "tiderace/task/transfer.h"

namespace tiderace::task {

class PromiseBase;

// Notified when a task ends that no coroutine awaits alone: when_all, when_any, a root.
class Joiner {
  public:
    // Called with the task suspended at its end; it must not be destroyed in here. Returns the
    // coroutine to go on with, std::noop_coroutine() for none.
    virtual std::coroutine_handle<> on_child_done(PromiseBase& child) noexcept = 0;

  protected:
    ~Joiner() = default;
};

template <typename T = void>
class [[nodiscard("a task does nothing until it is awaited or spawned")]] Task;

// The base of all tasks' promises, whatever their value.
class PromiseBase {
  public:
    static void* operator new(std::size_t bytes) { return FramePool::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) noexcept {
        FramePool::free(block, bytes);
    }

    // Lazy: a task that is dropped before it is awaited does nothing.
    std::suspend_always initial_suspend() noexcept { return {}; }
    // Suspended at its end, so that the awaiting coroutine can take the value out of the frame.
    auto final_suspend() noexcept { return AtEnd{}; }
    void unhandled_exception() noexcept { failure_ = std::current_exception(); }

    void set_continuation(std::coroutine_handle<> next) { next_ = next; }
    void set_joiner(Joiner& joiner) { joiner_ = &joiner; }
    const std::exception_ptr& failure() const { return failure_; }

  protected:
    void rethrow_failure() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    struct AtEnd {
        bool await_ready() noexcept { return false; }
        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
            PromiseBase& promise = ended.promise();
            return promise.joiner_ != nullptr ? promise.joiner_->on_child_done(promise)
                                              : transfer(promise.next_);
        }
        void await_resume() noexcept {}
    };

    std::coroutine_handle<> next_ = std::noop_coroutine();
    Joiner* joiner_ = nullptr;
    std::exception_ptr failure_;
};

template <typename T>
class Promise final : public PromiseBase {
  public:
    Task<T> get_return_object() noexcept;
    // By default a T, for `co_return {};` and `co_return {a, b};`.
    template <typename U = T>
        requires std::is_constructible_v<T, U&&>
    void return_value(U&& value) {
        value_.emplace(std::forward<U>(value));
    }
    T take_value() {
        rethrow_failure();
        TR_CHECK(value_.has_value(), "a task's value is taken once, after its end");
        return std::move(*value_);
    }

  private:
    std::optional<T> value_;
};

template <>
class Promise<void> final : public PromiseBase {
  public:
    Task<void> get_return_object() noexcept;
    void return_void() noexcept {}
    void take_value() const { rethrow_failure(); }
};

template <typename T>
class Task {
  public:
    using promise_type = Promise<T>;
    using value_type = T;
    using Handle = std::coroutine_handle<promise_type>;

    Task() = default;
    explicit Task(Handle handle) : handle_(handle) {}
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        if (this != &other) {
            reset();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    ~Task() { reset(); }

    // Not `handle_ != nullptr`: that would look into T for an operator, std::expected's among them.
    explicit operator bool() const { return static_cast<bool>(handle_); }
    bool done() const { return handle_ && handle_.done(); }
    Handle handle() const { return handle_; }
    // The frame is the caller's, to be destroyed.
    Handle release() { return std::exchange(handle_, nullptr); }
    // Ends the frame at the await where it stands.
    void reset() {
        if (handle_) std::exchange(handle_, nullptr).destroy();
    }

    // Awaiting runs it; `co_await std::move(task)` and `co_await make_task()` alike.
    auto operator co_await() & = delete;  // use std::move(task): it runs once
    auto operator co_await() && noexcept { return Awaiter{std::move(*this)}; }

  private:
    struct Awaiter {
        explicit Awaiter(Task&& t) noexcept : task(std::move(t)) {}

        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
            TR_CHECK(task.handle_ && !task.handle_.done(), "a task is awaited once");
            task.handle_.promise().set_continuation(awaiting);
            return transfer(task.handle_);
        }
        T await_resume() { return task.handle_.promise().take_value(); }

        Task task;
    };

    Handle handle_ = nullptr;
};

template <typename T>
Task<T> Promise<T>::get_return_object() noexcept {
    return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() noexcept {
    return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

}  // namespace tiderace::task
