// offload: a function on a thread of the worker pool, and its result back on the loop.
//
//   auto hash = co_await offload([password] { return slow_hash(password); });
//
// The function may block; it must own what it uses, because a cancelled task does not wait for it.
// Where few may run at once, it takes the permit along, which is back when it has returned:
//
//   auto permit = co_await few.acquire();
//   auto hash = co_await offload(work, std::move(permit));
//
// Thread   The loop's; the function runs on a thread of the pool.
// Errors   What the function throws is thrown by the await.
// Limits   Runner::offloads_max functions of one loop are out at a time. More of them, and those
//          that a full pool refuses, wait in order.
// Keywords: thread pool, blocking work
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/core/blocking_jobs.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/semaphore.h"

namespace tiderace::task {

// The base of all offloaded functions: the way to the pool and back.
class OffloadBase : protected Waiter {
  public:
    OffloadBase() = default;
    OffloadBase(OffloadBase&&) = default;

    bool await_ready() const noexcept { return false; }

  protected:
    class Work : public core::BlockingJob {
      public:
        OffloadBase* waiting = nullptr;  // nullptr: the task was cancelled
        Runner* runner = nullptr;

      private:
        void done() final;
    };
    virtual ~OffloadBase();

    void begin(std::coroutine_handle<> handle, std::unique_ptr<Work> work);

  private:
    friend class Runner;
    friend class Work;
    template <typename T>
    friend class tiderace::IntrusiveList;

    virtual void take_result(Work& work) = 0;

    std::unique_ptr<core::BlockingJob> work_;  // until the pool takes it
    Work* out_ = nullptr;                      // while the pool has it
};

// The name of T as the compiler spells it.
template <typename T>
constexpr std::string_view spelling_of() {
    return __PRETTY_FUNCTION__;
}

template <typename F>
class [[nodiscard("co_await it")]] Offload final : private OffloadBase {
  public:
    using Value = std::invoke_result_t<F&>;

    Offload(F function, Semaphore::Permit permit)
        : function_(std::move(function)), permit_(std::move(permit)) {}

    using OffloadBase::await_ready;
    void await_suspend(std::coroutine_handle<> handle) {
        begin(handle, std::make_unique<Call>(std::move(function_), std::move(permit_)));
    }
    Value await_resume() {
        if (failure_) std::rethrow_exception(failure_);
        if constexpr (!std::is_void_v<Value>) return std::move(*value_);
    }

  private:
    using Stored = std::conditional_t<std::is_void_v<Value>, bool, Value>;

    struct Call final : Work {
        Call(F f, Semaphore::Permit p) : function(std::move(f)), permit(std::move(p)) {}
        void work() override {
            try {
                if constexpr (std::is_void_v<Value>) {
                    function();
                } else {
                    value.emplace(function());
                }
            } catch (...) {
                failure = std::current_exception();
            }
        }
        F function;
        Semaphore::Permit permit;  // ends with this, on the loop, whether or not anything awaits it
        std::optional<Stored> value;
        std::exception_ptr failure;
    };

    void take_result(Work& work) override {
        auto& call = static_cast<Call&>(work);
        value_ = std::move(call.value);
        failure_ = std::move(call.failure);
    }

    F function_;
    Semaphore::Permit permit_;
    std::optional<Stored> value_;
    std::exception_ptr failure_;
};

// g++ 12 copies a temporary lambda inside a co_await bit by bit and destroys both (task.h). One
// whose captures have trivial destructors is safe; another must have a name, and is copied from it.
template <typename F>
constexpr bool survives_co_await() {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    using Function = std::remove_cvref_t<F>;
    const bool is_lambda = spelling_of<Function>().contains("<lambda");
    return std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<Function> ||
           !is_lambda;
#else
    return true;
#endif
}

template <typename F>
    requires std::is_invocable_v<std::remove_cvref_t<F>&>
Offload<std::remove_cvref_t<F>> offload(F&& function, Semaphore::Permit permit = {}) {
    static_assert(
        survives_co_await<F>(),
        "g++ 12 destroys the captures of a lambda twice when it is written inside co_await:"
        " give it a name first (auto work = [...] {...}; co_await offload(work)),"
        " or make it a tiderace::unique_function");
    return Offload<std::remove_cvref_t<F>>(std::forward<F>(function), std::move(permit));
}

}  // namespace tiderace::task
