// Routes: what an App and its groups have in common: a function for each method.
//
//   app.get<"/users/{id}">(handler);
//   app.post<"/users">(handler, rate_limit({.per_minute = 5}));      middleware of this route alone
//
// Errors   An impossible pattern, and a handler that does not fit it, do not compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/http/app/checks/route_checks.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/middleware.h"
#include "tiderace/http/route/pattern.h"
#include "tiderace/http/route/placed_pattern.h"
#include "tiderace/http/wire/method.h"

namespace tiderace::http {
namespace app_parts {

// Declared in <tiderace/websocket.h>, which a program with WebSockets includes.
template <typename F>
class SocketEndpointOf;
template <typename F>
using SocketOptions = typename SocketEndpointOf<F>::Options;
}  // namespace app_parts

// Self::scope() is where they go (group.h). `prefix_parameters`: of the path before the patterns.
template <typename Self, std::size_t prefix_parameters>
class Routes {
  public:
    template <route::RoutePattern pattern, typename F, typename... M>
    Self& get(F handler, M... middleware) {
        return add<pattern>(wire::Method::get, handler, middleware...);
    }
    template <route::RoutePattern pattern, typename F, typename... M>
    Self& post(F handler, M... middleware) {
        return add<pattern>(wire::Method::post, handler, middleware...);
    }
    template <route::RoutePattern pattern, typename F, typename... M>
    Self& put(F handler, M... middleware) {
        return add<pattern>(wire::Method::put, handler, middleware...);
    }
    template <route::RoutePattern pattern, typename F, typename... M>
    Self& patch(F handler, M... middleware) {
        return add<pattern>(wire::Method::patch, handler, middleware...);
    }
    // DELETE, which C++ keeps for itself.
    template <route::RoutePattern pattern, typename F, typename... M>
    Self& del(F handler, M... middleware) {
        return add<pattern>(wire::Method::delete_, handler, middleware...);
    }
    // Every method that has no route of its own.
    template <route::RoutePattern pattern, typename F, typename... M>
    Self& any(F handler, M... middleware) {
        return add<pattern>(wire::Method::other, handler, middleware...);
    }
    // A WebSocket; <tiderace/websocket.h> describes its handler and options. Its request is a GET,
    // or an extended CONNECT of HTTP/2.
    //   app.ws<"/chat">(chat, {.message_bytes_max = 4_KiB}, basic_auth(…));
    template <route::RoutePattern pattern, typename F, typename... M>
    Self& ws(F handler, app_parts::SocketOptions<F> options = {}, M... middleware) {
        if constexpr (app_parts::fits<pattern.text, F, prefix_parameters>()) {
            add_endpoint(
                wire::Method::get, placed(pattern), app_parts::SignatureOf<F>::path_parameters,
                Owned(new app_parts::SocketEndpointOf<F>(std::move(handler), std::move(options))),
                middleware...);
        }
        return self();
    }
    template <route::RoutePattern pattern, typename F, typename... M>
        requires(!requires { sizeof(app_parts::SocketEndpointOf<F>); })
    void ws(F, M...) {
        static_assert(!sizeof(F), "app.ws needs #include <tiderace/websocket.h>");
    }
    template <typename M>
        requires(!std::convertible_to<M, Middleware>)
    Self& use(const M&) {
        static_assert(std::convertible_to<M, Middleware>,
                      "a middleware is a function, or one of tiderace/http/app/ready_middleware.h;"
                      " its parameters have types: no `auto`");
        return self();
    }
    // The pattern is a template argument: these are the sentence for a program that passes one.
    template <typename... A>
    Self& get(std::string_view, const A&...) {
        return not_a_template<A...>();
    }
    template <typename... A>
    Self& post(std::string_view, const A&...) {
        return not_a_template<A...>();
    }
    template <typename... A>
    Self& put(std::string_view, const A&...) {
        return not_a_template<A...>();
    }
    template <typename... A>
    Self& patch(std::string_view, const A&...) {
        return not_a_template<A...>();
    }
    template <typename... A>
    Self& del(std::string_view, const A&...) {
        return not_a_template<A...>();
    }
    template <typename... A>
    Self& any(std::string_view, const A&...) {
        return not_a_template<A...>();
    }
    template <typename... A>
    Self& ws(std::string_view, const A&...) {
        return not_a_template<A...>();
    }
    // For patterns that the program makes. The parameters are counted when it serves.
    template <typename F, typename... M>
    Self& route(wire::Method method, route::PlacedPattern pattern, F handler, M... middleware) {
        return add(method, std::move(pattern), handler, middleware...);
    }

  private:
    // From the start, because one of the endpoint's own type is much to compile for each route.
    using Owned = std::unique_ptr<app_parts::Endpoint>;

    Self& self() { return static_cast<Self&>(*this); }

    template <typename... A>
    Self& not_a_template() {
        static_assert(sizeof...(A) == SIZE_MAX,
                      "the pattern is a template argument, as in app.get<\"/x\">(handler);"
                      " App::route takes one that the program makes");
        return self();
    }

    template <std::size_t size>
    static route::PlacedPattern placed(const route::RoutePattern<size>& pattern) {
        return {std::string(pattern.view()), pattern.place()};
    }

    // A program has one of each of these for each of its routes: they do little.
    template <route::RoutePattern pattern, typename F, typename... M>
    Self& add(wire::Method method, F& handler, M&... middleware) {
        if constexpr (app_parts::fits<pattern.text, F, prefix_parameters>())
            add(method, placed(pattern), handler, middleware...);
        return self();
    }
    template <typename F, typename... M>
    Self& add(wire::Method method, route::PlacedPattern pattern, F& handler, M&... middleware) {
        if constexpr (app_parts::is_handler<F>()) {
            add_endpoint(method, std::move(pattern), app_parts::SignatureOf<F>::path_parameters,
                         Owned(new app_parts::EndpointOf<F>(std::move(handler))), middleware...);
        }
        return self();
    }
    template <typename... M>
    void add_endpoint(wire::Method method, route::PlacedPattern pattern, std::size_t parameters,
                      Owned endpoint, M&... middleware) {
        constexpr bool are_middleware = (std::convertible_to<M, Middleware> && ...);
        static_assert(are_middleware,
                      "behind the handler stands middleware: a function, or one of"
                      " tiderace/http/app/ready_middleware.h, as in time_limit(5s)");
        std::vector<Middleware> own;
        if constexpr (are_middleware) (own.push_back(Middleware(std::move(middleware))), ...);
        self().scope().add(method, std::move(pattern), parameters, std::move(endpoint),
                           std::move(own));
    }
};

}  // namespace tiderace::http
