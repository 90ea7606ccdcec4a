// Endpoint: a route's handler behind one interface. EndpointOf<F>: a function whose arguments are
// found in the request, and whose result becomes the answer.
//
//   request -> [body read, where an argument needs it] -> arguments -> F -> result -> answer
//                                                     \-> Problem, F is not called
//
// A handler that returns a Task runs at once until it first waits. A client that goes away
// meanwhile cancels it at its await.
//
// Owner    The App. Handlers are shared by all loops and called as const.
// Thread   Any loop's, at once.
// Errors   What a handler throws is answered by the exchange: 500 and a log line. A Problem that it
//          throws is answered as if returned.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiderace/http/app/arguments.h"
#include "tiderace/http/app/call.h"
#include "tiderace/http/app/results.h"
#include "tiderace/task/task.h"

namespace tiderace::http::app {

class Endpoint {
  public:
    virtual ~Endpoint() = default;
    virtual bool takes_body() const = 0;
    // Keeps views of the request past its return.
    virtual bool keeps_views() const = 0;
    virtual void call(Call& call) const = 0;
};

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

template <typename T>
class InvocationOf final : public Invocation {
  public:
    static void run(Call& call, task::Task<T> task) {
        auto* invocation = new InvocationOf(call);  // ends itself
        bool ended = false;
        invocation->ended_at_once_ = &ended;
        invocation->start(call.runner, std::move(task), call.deadline);
        if (!ended) invocation->watch();
    }

  private:
    explicit InvocationOf(Call& call) : Invocation(call) {}

    void keep_value(task::PromiseBase& promise) override {
        if constexpr (!std::is_void_v<T>) {
            value_.emplace(static_cast<task::Promise<T>&>(promise).take_value());
        }
    }
    void answer_value(Exchange& exchange, task::Runner& runner) override {
        if constexpr (std::is_void_v<T>) {
            exchange.respond_status(204);
        } else {
            answer(exchange, runner, std::move(*value_));
        }
    }

    std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value_;
};

template <typename T>
inline constexpr bool is_task = false;
template <typename T>
inline constexpr bool is_task<task::Task<T>> = true;

// The parameters and the result of a function object that has one operator().
template <typename F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <typename R, typename... A>
struct SignatureOf<R (*)(A...)> {
    using Result = R;
    template <template <typename...> typename To>
    using Arguments = To<A...>;
    static constexpr bool constant = true;
    static constexpr bool takes_body = (app::takes_body<std::remove_cvref_t<A>> || ...);
    static constexpr std::size_t path_parameters =
        (std::size_t{0} + ... + (PathParameter<A> ? 1 : 0));
    static constexpr bool takes_views =
        ((std::is_same_v<A, std::string_view> || std::is_same_v<A, const Request&>) || ...);
};
template <typename R, typename F, typename... A>
struct SignatureOf<R (F::*)(A...) const> : SignatureOf<R (*)(A...)> {};
template <typename R, typename F, typename... A>
struct SignatureOf<R (F::*)(A...)> : SignatureOf<R (*)(A...)> {
    static constexpr bool constant = false;
};

template <typename F>
concept HasSignature = std::is_pointer_v<F> || requires { &F::operator(); };

template <typename F>
class EndpointOf final : public Endpoint {
  public:
    using Signature = SignatureOf<F>;
    using Result = typename Signature::Result;

    explicit EndpointOf(F handler) : handler_(std::move(handler)) {}

    bool takes_body() const override { return Signature::takes_body; }
    bool keeps_views() const override { return is_task<Result> && Signature::takes_views; }
    void call(Call& call) const override {
        typename Signature::template Arguments<With>().call(*this, call);
    }

  private:
    template <typename... A>
    struct With {
        void call(const EndpointOf& endpoint, Call& call) const {
            // In braces, so that they are found from left to right.
            std::tuple found{Argument<A>::find(call)...};
            std::apply(
                [&](auto&... each) {
                    if ((each.has_value() && ...))
                        endpoint.finish(call, Argument<A>::pass(each)...);
                },
                found);
        }
    };
    template <typename... Values>
    void finish(Call& call, Values&&... values) const {
        if constexpr (std::is_void_v<Result>) {
            handler_(std::forward<Values>(values)...);
            call.exchange.respond_status(204);
        } else if constexpr (is_task<Result>) {
            InvocationOf<typename Result::value_type>::run(
                call, handler_(std::forward<Values>(values)...));
        } else {
            answer(call.exchange, call.runner, handler_(std::forward<Values>(values)...));
        }
    }

    const F handler_;
};

}  // namespace tiderace::http::app
