// Internal. Invocation: a task of the application on a request, from its start to the answer. It
// runs at once until it first waits; a client that goes away meanwhile cancels it at its await.
//
// Owner    Itself.
// Thread   The loop's.
// Errors   A Problem that it throws is answered; a TransientError that passes is answered 503 with
//          Retry-After, and anything else 500, both with a log line.
#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "tiderace/base/transient_error.h"
#include "tiderace/http/app/call.h"
#include "tiderace/http/app/results.h"
#include "tiderace/task/task.h"

namespace tiderace::http::app_parts {

// Inside a catch. False: it does not pass, or an answer has begun; it is to be thrown on.
bool answer_passing(Exchange& exchange, const TransientError& fault);

// Runs code of the application: a Problem or a TransientError that it throws is answered.
template <typename Code>
void answer_problems(Exchange& exchange, Code&& code) {
    try {
        code();
    } catch (const Problem& problem) {
        if (exchange.responded()) throw;  // a body that was sent already
        exchange.respond(problem.response());
    } catch (const TransientError& fault) {
        if (!answer_passing(exchange, fault)) throw;
    }
}

// A handler's task, from its start to the answer.
class Invocation : public task::Root, private AbandonObserver {
  public:
    static void* operator new(std::size_t bytes) { return task::FramePool::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) noexcept {
        task::FramePool::free(block, bytes);
    }

    // The task may use the exchange, which is a member and would end before it.
    ~Invocation() override { end_frame(); }

  protected:
    explicit Invocation(Call& call);

    // The handler ended with a value.
    virtual void answer_value(Exchange& exchange, task::Runner& runner) = 0;
    // It waits: from here on the client's end and the deadline cancel it.
    void watch();

    bool* ended_at_once_ = nullptr;  // while start() is on the stack

  private:
    void on_done(std::exception_ptr failure) final;
    void on_abandoned() final;

    core::Ref<Exchange> exchange_;
    task::Runner* runner_;
};

// What invocations with a value have in common.
template <typename T>
class InvocationBase : public Invocation {
  public:
    explicit InvocationBase(Call& call) : Invocation(call) {}

    // Made by a function: it ends itself.
    template <typename Self>
    static void run(Call& call, task::Task<T> task) {
        InvocationBase* const invocation = new Self(call);
        bool ended = false;
        invocation->ended_at_once_ = &ended;
        invocation->start(call.runner, std::move(task), call.deadline);
        if (!ended) invocation->watch();
    }

  protected:
    using Kept = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
    Kept&& take_value() { return std::move(*value_); }

  private:
    void keep_value(task::PromiseBase& promise) override {
        if constexpr (!std::is_void_v<T>) {
            value_.emplace(static_cast<task::Promise<T>&>(promise).take_value());
        }
    }

    std::optional<Kept> value_;
};

// A handler's.
template <typename T>
class InvocationOf final : public InvocationBase<T> {
  public:
    using InvocationBase<T>::InvocationBase;

  private:
    void answer_value(Exchange& exchange, task::Runner& runner) override {
        if constexpr (std::is_void_v<T>) {
            exchange.respond_status(204);
        } else {
            answer(exchange, runner, this->take_value());
        }
    }
};

}  // namespace tiderace::http::app_parts
