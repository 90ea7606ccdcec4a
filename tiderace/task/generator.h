// Generator<T>: a coroutine that makes values one at a time, on demand.
//
//   Generator<Row> rows() { while (auto row = co_await next_row()) co_yield *row; }
//
//   auto all = rows();
//   while (auto row = co_await all.next()) use(*row);        // nullopt: it has ended
//
// It runs only while its consumer awaits a value: a slow consumer slows it down. It may await; then
// its consumer waits as well.
//
// It inherits the deadline of the one that awaits a value, until the next one does.
//
// Owner    Its holder; its destructor destroys the frame at its await. One that is kept longer than
//          its loop has ended with the loop's Runner: it gives no further value.
// Thread   One loop's.
// Errors   What the body throws is thrown by next(), once; after that it has ended.
// Keywords: async generator, co_yield
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "tiderace/task/kept_frame.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/transfer.h"

namespace tiderace::task {

template <typename T>
class [[nodiscard]] Generator final {
  public:
    class promise_type;
    using Handle = std::coroutine_handle<promise_type>;
    class [[nodiscard("co_await it")]] Next;

    Generator() = default;
    explicit Generator(Handle handle) : handle_(handle) { hold(); }
    Generator(Generator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {
        hold();
    }
    Generator& operator=(Generator&& other) noexcept {
        std::swap(handle_, other.handle_);
        hold();
        other.hold();
        return *this;
    }
    ~Generator() {
        if (handle_ != nullptr) handle_.destroy();
    }

    explicit operator bool() const { return handle_ != nullptr; }
    // One at a time. A call that is cancelled loses no value: the next one gets it.
    Next next() { return Next(handle_); }

  private:
    void hold() {
        if (handle_ != nullptr) handle_.promise().holder_ = this;
    }

    Handle handle_ = nullptr;
};

template <typename T>
class Generator<T>::promise_type : private KeptFrame {
  public:
    static void* operator new(std::size_t bytes) { return FramePool::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) noexcept {
        FramePool::free(block, bytes);
    }

    Generator get_return_object() noexcept { return Generator(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept { return ToConsumer{}; }
    auto yield_value(T value) {
        value_.emplace(std::move(value));
        return ToConsumer{};
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  private:
    friend class Generator;
    friend class Next;

    void end() override {
        holder_->handle_ = nullptr;
        if (awaited_ != nullptr) awaited_->waiting_ = false;
        Handle::from_promise(*this).destroy();
    }

    struct ToConsumer {
        bool await_ready() noexcept { return false; }
        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
            promise_type& promise = self.promise();
            promise.running_ = false;
            return transfer(std::exchange(promise.consumer_, std::noop_coroutine()));
        }
        void await_resume() noexcept {}
    };

    std::optional<T> value_;
    std::exception_ptr failure_;
    std::coroutine_handle<> consumer_ = std::noop_coroutine();
    Generator* holder_ = nullptr;
    Next* awaited_ = nullptr;
    // The context that it inherited from the last next(). A copy, because the generator may still
    // wait when the deadline of that one has passed, and what it awaits refers to this.
    Context context_;
    bool running_ = false;  // it has not reached its next value since the last next()
};

template <typename T>
class Generator<T>::Next {
  public:
    explicit Next(Handle handle) : handle_(handle) {}
    Next(Next&&) = default;
    ~Next() {
        if (!waiting_) return;
        promise_type& promise = handle_.promise();
        promise.consumer_ = std::noop_coroutine();
        promise.awaited_ = nullptr;
        // It may go on before the next task awaits a value, and this one may have ended by then.
        promise.context_.root = &promise.context_.runner->absent();
    }

    bool await_ready() const noexcept {
        // A value for a next() that was cancelled.
        return handle_ == nullptr || handle_.done() || handle_.promise().value_.has_value();
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> consumer) {
        context_ = &Context::here();
        waiting_ = true;
        promise_type& promise = handle_.promise();
        promise.consumer_ = consumer;
        promise.awaited_ = this;
        if (promise.context_.runner != context_->runner) context_->runner->keep(promise);
        promise.context_ = {context_->runner, &context_->owner(), context_->deadline};
        // A cancelled next() has started it already, and it still waits: its value comes to this
        // one.
        if (std::exchange(promise.running_, true)) return std::noop_coroutine();
        Context::current() = &promise.context_;
        return transfer(handle_);
    }
    std::optional<T> await_resume() {
        if (handle_ == nullptr) return std::nullopt;
        promise_type& promise = handle_.promise();
        if (std::exchange(waiting_, false)) {
            Context::current() = context_;
            promise.awaited_ = nullptr;
        }
        if (promise.failure_) std::rethrow_exception(std::exchange(promise.failure_, nullptr));
        return std::exchange(promise.value_, std::nullopt);
    }

  private:
    friend promise_type;

    Handle handle_;
    Context* context_ = nullptr;
    bool waiting_ = false;
};

}  // namespace tiderace::task
