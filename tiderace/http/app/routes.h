// Routes: what an App and its groups have in common: a function for each method.
//
//   app.get<"/users/{id}">(handler);
//   app.post<"/users">(handler, rate_limit({.per_minute = 5}));      middleware of this route alone
//
// Errors   A pattern that cannot be, and a handler that does not fit it, do not compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/middleware.h"
#include "tiderace/http/route/pattern.h"
#include "tiderace/http/wire/method.h"

namespace tiderace::http {
namespace app {

// Of <tiderace/websocket.h>, which a program with WebSockets includes.
template <typename F>
class SocketEndpointOf;
template <typename F>
using SocketOptions = typename SocketEndpointOf<F>::Options;

}  // namespace app

// Self::add_route(method, pattern, parameters of the handler, endpoint, middleware) does it.
// `prefix_parameters`: of the path before the patterns.
template <typename Self, std::size_t prefix_parameters>
class Routes {
  public:
    template <route::PatternText pattern, typename F, typename... M>
    Self& get(F handler, M... middleware) {
        return add<pattern>(wire::Method::get, std::move(handler), std::move(middleware)...);
    }
    template <route::PatternText pattern, typename F, typename... M>
    Self& post(F handler, M... middleware) {
        return add<pattern>(wire::Method::post, std::move(handler), std::move(middleware)...);
    }
    template <route::PatternText pattern, typename F, typename... M>
    Self& put(F handler, M... middleware) {
        return add<pattern>(wire::Method::put, std::move(handler), std::move(middleware)...);
    }
    template <route::PatternText pattern, typename F, typename... M>
    Self& patch(F handler, M... middleware) {
        return add<pattern>(wire::Method::patch, std::move(handler), std::move(middleware)...);
    }
    // DELETE, which C++ keeps for itself.
    template <route::PatternText pattern, typename F, typename... M>
    Self& del(F handler, M... middleware) {
        return add<pattern>(wire::Method::delete_, std::move(handler), std::move(middleware)...);
    }
    // Every method that has no route of its own.
    template <route::PatternText pattern, typename F, typename... M>
    Self& any(F handler, M... middleware) {
        return add<pattern>(wire::Method::other, std::move(handler), std::move(middleware)...);
    }
    // A WebSocket; <tiderace/websocket.h> describes its handler and options. Its request is a GET,
    // or an extended CONNECT of HTTP/2.
    //   app.ws<"/chat">(chat, {.message_bytes_max = 4_KiB}, basic_auth(…));
    template <route::PatternText pattern, typename F, typename... M>
    Self& ws(F handler, app::SocketOptions<F> options = {}, M... middleware) {
        check_pattern<pattern, F>();
        return add_endpoint(
            wire::Method::get, std::string(pattern.view()),
            std::make_unique<app::SocketEndpointOf<F>>(std::move(handler), std::move(options)),
            app::SignatureOf<F>::path_parameters, std::move(middleware)...);
    }
    // For patterns that the program makes. The parameters are counted when it serves.
    template <typename F, typename... M>
    Self& route(wire::Method method, std::string pattern, F handler, M... middleware) {
        check_handler<F>();
        return add(method, std::move(pattern), std::move(handler), std::move(middleware)...);
    }

  private:
    Self& self() { return static_cast<Self&>(*this); }

    template <typename F>
    static consteval void check_handler() {
        static_assert(app::HasSignature<F>,
                      "a handler is a function or a lambda whose parameters have types: no `auto`");
        static_assert(app::SignatureOf<F>::constant,
                      "a handler is shared by all loops and called as const: no `mutable` lambda;"
                      " keep what changes in a state (App::state)");
    }
    template <route::PatternText pattern, typename F>
    static consteval void check_pattern() {
        constexpr route::PatternFault fault = route::check_pattern(pattern.view());
        static_assert(fault != route::PatternFault::no_slash, "a pattern begins with '/'");
        static_assert(fault != route::PatternFault::brace_in_literal,
                      "a parameter is a whole segment of the pattern, as in \"/users/{id}\"");
        static_assert(fault == route::PatternFault::none,
                      "the pattern is not valid; see tiderace/http/route/pattern.h");
        check_handler<F>();
        constexpr std::size_t named = route::count_parameters(pattern.view()) + prefix_parameters;
        static_assert(named == app::SignatureOf<F>::path_parameters,
                      "the parameters of the pattern and of the handler (numbers, enums, strings)"
                      " differ in number");
    }
    template <route::PatternText pattern, typename F, typename... M>
    Self& add(wire::Method method, F handler, M... middleware) {
        check_pattern<pattern, F>();
        return add(method, std::string(pattern.view()), std::move(handler),
                   std::move(middleware)...);
    }
    template <typename F, typename... M>
    Self& add(wire::Method method, std::string pattern, F handler, M... middleware) {
        return add_endpoint(method, std::move(pattern),
                            std::make_unique<app::EndpointOf<F>>(std::move(handler)),
                            app::SignatureOf<F>::path_parameters, std::move(middleware)...);
    }
    template <typename E, std::convertible_to<Middleware>... M>
    Self& add_endpoint(wire::Method method, std::string pattern, std::unique_ptr<E> endpoint,
                       std::size_t parameters, M... middleware) {
        std::vector<Middleware> own;
        (own.push_back(Middleware(std::move(middleware))), ...);
        return self().add_route(method, std::move(pattern), parameters, std::move(endpoint),
                                std::move(own));
    }
};

}  // namespace tiderace::http
