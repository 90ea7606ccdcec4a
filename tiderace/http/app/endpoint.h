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

#include <expected>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/http/app/arguments.h"
#include "tiderace/http/app/call.h"
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

template <typename T>
inline constexpr bool is_task = false;
template <typename T>
inline constexpr bool is_task<task::Task<T>> = true;

// A result that is a coroutine, or may hold one: it reads its arguments when the handler has
// returned.
template <typename T>
inline constexpr bool runs_on = is_task<T>;
template <typename T>
inline constexpr bool runs_on<task::Generator<T>> = true;
template <>
inline constexpr bool runs_on<Events> = true;
template <>
inline constexpr bool runs_on<Reply> = true;  // its body may be a generator
template <typename T>
inline constexpr bool runs_on<std::optional<T>> = runs_on<T>;
template <typename T, typename E>
inline constexpr bool runs_on<std::expected<T, E>> = runs_on<T> || runs_on<E>;
template <typename... T>
inline constexpr bool runs_on<std::variant<T...>> = (runs_on<T> || ...);

// What the arguments need of the body, taken together.
template <typename... A>
consteval BodyUse most_of() {
    BodyUse most = BodyUse::none;
    ((most = body_use<A> > most ? body_use<A> : most), ...);
    return most;
}

// Whether something can be passed for a parameter of this type. A reference to a class is a state,
// unless its Argument says what is wrong with it.
template <typename A>
concept KnownArgument =
    (std::is_lvalue_reference_v<A> && std::is_class_v<std::remove_cvref_t<A>>) ||
    requires { sizeof(Argument<A>); };

// The parameters and the result of a function object that has one operator().
template <typename F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <typename R, typename... A>
struct SignatureOf<R (*)(A...)> {
    using Plain = SignatureOf;
    using Result = R;
    template <template <typename...> typename To>
    using Arguments = To<A...>;
    static constexpr bool constant = true;
    static constexpr std::size_t body_arguments =
        (std::size_t{0} + ... + (body_use<A> == BodyUse::none ? 0 : 1));
    static constexpr BodyUse body = most_of<A...>();
    static constexpr std::size_t path_parameters =
        (std::size_t{0} + ... + (PathParameter<A> ? 1 : 0));
    static constexpr bool refers_to_parameters =
        ((std::is_reference_v<A> && PathParameter<std::remove_cvref_t<A>>) || ...);
    static constexpr bool takes_views = (is_view_of_request<A> || ...);
    static constexpr bool is_known = (KnownArgument<A> && ...);
};
template <typename R, typename F, typename... A>
struct SignatureOf<R (F::*)(A...) const> : SignatureOf<R (*)(A...)> {};
template <typename R, typename F, typename... A>
struct SignatureOf<R (F::*)(A...)> : SignatureOf<R (*)(A...)> {
    static constexpr bool constant = false;
};
template <typename R, typename... A>
struct SignatureOf<R (*)(A...) noexcept> : SignatureOf<R (*)(A...)> {};
template <typename R, typename F, typename... A>
struct SignatureOf<R (F::*)(A...) const noexcept> : SignatureOf<R (*)(A...)> {};
template <typename R, typename F, typename... A>
struct SignatureOf<R (F::*)(A...) noexcept> : SignatureOf<R (F::*)(A...)> {};

template <typename F>
concept HasSignature = std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); };

template <typename Signature>
inline constexpr EndpointKind kind_of{
    .body = Signature::body,
    .keeps_views = runs_on<typename Signature::Result> && Signature::takes_views,
    .list_pages = PagesIn<typename Signature::Result>::list,
    .describe =
        Signature::template Arguments<ShapeOf<typename Signature::Result>::template With>::list,
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
                    endpoint.finish(call, Argument<A>::pass(std::get<i>(found))...);
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
