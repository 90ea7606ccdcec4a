// Internal. Endpoint: a route's handler behind one interface. EndpointOf<F>: a function whose
// arguments are found in the request, and whose result becomes the answer.
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

#include <expected>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/http/app/call.h"
#include "tiderace/http/app/checks/needs.h"
#include "tiderace/http/app/from_request/made_argument.h"
#include "tiderace/http/app/from_request/signature.h"
#include "tiderace/http/app/invocation.h"
#include "tiderace/http/app/openapi/route_shape.h"
#include "tiderace/http/app/results.h"
#include "tiderace/task/task.h"

namespace tiderace::http {
struct LayerPlace;  // http/app/function_rule.h
}

namespace tiderace::http::app_parts {

// What a handler's signature says about it; handlers of one signature share it.
struct EndpointKind {
    BodyUse body = BodyUse::none;
    bool keeps_views = false;   // of the request, past its return
    bool is_websocket = false;  // its request may be an extended CONNECT (RFC 8441), too
    // Appends the pages that it may return.
    void (*list_pages)(std::vector<PageUse>&) = nullptr;
    // Appends what it takes and returns, for documents (http/app/openapi/openapi.h).
    void (*describe)(RouteShape&) = nullptr;
    // Appends what it takes that the program has to give.
    void (*list_needs)(std::vector<Need>&) = nullptr;
};

class Endpoint {
  public:
    explicit Endpoint(const EndpointKind& kind) : kind_(&kind) {}
    virtual ~Endpoint() = default;

    const EndpointKind& kind() const { return *kind_; }
    // What it needs on each loop; nullptr: nothing. Call::part has it.
    virtual std::shared_ptr<void> make_part(LayerPlace&) const { return nullptr; }
    // Its caller answers a Problem that it throws (answer_problems).
    virtual void call(Call& call) const = 0;

  private:
    const EndpointKind* kind_;
};

// A result that is a coroutine, or may hold one: it reads its arguments when the handler has
// returned.
template <typename T>
inline constexpr bool runs_on = is_task<T>;
template <typename T>
inline constexpr bool runs_on<task::Generator<T>> = true;
template <>
inline constexpr bool runs_on<Events> = true;
template <>
inline constexpr bool runs_on<Response> = true;  // its body may be a generator
template <typename T>
inline constexpr bool runs_on<std::optional<T>> = runs_on<T>;
template <typename T, typename E>
inline constexpr bool runs_on<std::expected<T, E>> = runs_on<T> || runs_on<E>;
template <typename... T>
inline constexpr bool runs_on<std::variant<T...>> = (runs_on<T> || ...);

template <typename Signature>
inline constexpr EndpointKind kind_of{
    .body = Signature::body,
    .keeps_views =
        (runs_on<typename Signature::Result> || Signature::waits) && Signature::takes_views,
    .list_pages =
        Signature::template Arguments<PagesOf<typename Signature::Result>::template With>::list,
    .describe =
        Signature::template Arguments<ShapeOf<typename Signature::Result>::template With>::list,
    .list_needs = Signature::template Arguments<NeedsOf>::list,
};

// Routes has checked that F is a handler. A program has one for each of its routes, so all that
// does not depend on F itself is kept out of it.
template <typename F>
class EndpointOf final : public Endpoint {
  public:
    using Signature = SignatureOf<F>;
    using Result = typename Signature::Result;

    explicit EndpointOf(F&& handler)
        : Endpoint(kind_of<typename Signature::Plain>), handler_(std::move(handler)) {}

    void call(Call& call) const override { Signature::template Arguments<With>::call(*this, call); }

  private:
    template <typename... A>
    struct With {
        static void call(const EndpointOf& endpoint, Call& call) {
            if constexpr (sizeof...(A) == 0) {
                endpoint.finish(call);
            } else {
                // In braces, so that they are found from left to right.
                std::tuple found{find_argument<A>(call)...};
                [&]<std::size_t... i>(std::index_sequence<i...>) {
                    if (!(std::get<i>(found).has_value() && ...)) return;
                    if constexpr (Signature::waits) {
                        using One = InvocationOf<LateResult<Result>>;
                        One::template run<One>(
                            call, call_when_come<Result, A...>(endpoint.handler_, std::move(found),
                                                               std::index_sequence_for<A...>()));
                    } else {
                        endpoint.finish(call, Argument<A>::pass(std::get<i>(found))...);
                    }
                }(std::index_sequence_for<A...>());
            }
        }
    };
    template <typename... Values>
    void finish(Call& call, Values&&... values) const {
        if constexpr (std::is_void_v<Result>) {
            handler_(std::forward<Values>(values)...);
            call.exchange.respond_status(204);
        } else if constexpr (is_task<Result>) {
            using One = InvocationOf<typename Result::value_type>;
            One::template run<One>(call, handler_(std::forward<Values>(values)...));
        } else {
            answer(call.exchange, call.runner, handler_(std::forward<Values>(values)...));
        }
    }

    const F handler_;
};

}  // namespace tiderace::http::app_parts
