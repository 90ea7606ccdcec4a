// App: an HTTP application: routes, what handlers share, how it is served.
//
//   #include <tiderace/app.h>
//
//   int main() {
//       tiderace::http::App app;
//       app.get<"/">([] { return "hello\n"; });
//       app.get<"/square/{n}">([](int n) { return std::to_string(n * n) + "\n"; });
//       return app.serve({.listen = ":8080"});
//   }
//
// What a handler may take stands in http/app/arguments.h, what it may return in http/app/results.h,
// how a path is matched in http/route/pattern.h.
//
// Handlers are shared by all loops and called as const: what changes belongs into a state.
//
// Owner    The program; built before it serves, then constant.
// Thread   One, until it serves; then all loops read it.
// Errors   A route that cannot be (a bad pattern, hidden by another, too few parameters) does not
//          compile where the pattern is a template argument; the others are one sentence when it
//          serves.
// Limits   AppOptions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/route/router.h"

namespace tiderace::http {

struct AppOptions {
    std::uint64_t body_bytes_max = 1_MiB;  // of a body that is read whole; above: 413
    Duration handler_timeout = 30s;        // for one that waits; above: 503, and it is cancelled
    std::size_t pool_threads_max = 4;      // for offload(), of all loops
    std::size_t pool_queue_max = 1'024;
};

struct ServeOptions;  // tiderace/app.h

class App {
  public:
    App() = default;
    explicit App(AppOptions options) : options_(options) {}

    template <route::PatternText pattern, typename F>
    App& get(F handler) {
        return add<pattern>(wire::Method::get, std::move(handler));
    }
    template <route::PatternText pattern, typename F>
    App& post(F handler) {
        return add<pattern>(wire::Method::post, std::move(handler));
    }
    template <route::PatternText pattern, typename F>
    App& put(F handler) {
        return add<pattern>(wire::Method::put, std::move(handler));
    }
    template <route::PatternText pattern, typename F>
    App& patch(F handler) {
        return add<pattern>(wire::Method::patch, std::move(handler));
    }
    // DELETE, which C++ keeps for itself.
    template <route::PatternText pattern, typename F>
    App& del(F handler) {
        return add<pattern>(wire::Method::delete_, std::move(handler));
    }
    // Every method that has no route of its own.
    template <route::PatternText pattern, typename F>
    App& any(F handler) {
        return add<pattern>(wire::Method::other, std::move(handler));
    }

    // For patterns that the program makes. The parameters are counted when it serves.
    template <typename F>
    App& route(wire::Method method, std::string pattern, F handler) {
        check_handler<F>();
        return add(method, std::move(pattern), app::SignatureOf<F>::path_parameters,
                   std::make_unique<app::EndpointOf<F>>(std::move(handler)));
    }

    // Makes a state for each loop, when it starts: handlers take it as `S&`.
    //   app.state<Counters>([](core::EventLoop&) { return std::make_unique<Counters>(); });
    template <typename S, typename F>
    App& state(F make) {
        states_.push_back({app::state_key<S>,
                           [make = std::move(make)](core::EventLoop& loop) {
                               std::shared_ptr<S> made = make(loop);
                               return std::shared_ptr<void>(std::move(made));
                           },
                           nullptr});
        return *this;
    }
    // One for all loops: handlers take it as `const S&`. It outlives the App's serving.
    template <typename S>
    App& share(const S& shared) {
        states_.push_back({app::state_key<S>, {}, const_cast<S*>(&shared)});
        return *this;
    }

    // Serves until SIGTERM or SIGINT, which drain. 0: an orderly end; 1: one sentence on standard
    // error says why it could not start.
    int serve(const ServeOptions& options);

    const AppOptions& options() const { return options_; }
    // "": all routes can be. Otherwise what is wrong with the first that cannot.
    const std::string& fault() const { return fault_; }

  private:
    friend class AppLoop;

    struct Route {
        std::string pattern;
        std::unique_ptr<app::Endpoint> endpoint;
    };
    struct State {
        const void* key;
        std::function<std::shared_ptr<void>(core::EventLoop&)> make;
        void* shared;
    };

    template <typename F>
    static consteval void check_handler() {
        static_assert(app::HasSignature<F>,
                      "a handler is a function or a lambda whose parameters have types: no `auto`");
        static_assert(app::SignatureOf<F>::constant,
                      "a handler is shared by all loops and called as const: no `mutable` lambda;"
                      " keep what changes in a state (App::state)");
    }
    template <route::PatternText pattern, typename F>
    App& add(wire::Method method, F handler) {
        constexpr route::PatternFault fault = route::check_pattern(pattern.view());
        static_assert(fault != route::PatternFault::no_slash, "a pattern begins with '/'");
        static_assert(fault != route::PatternFault::brace_in_literal,
                      "a parameter is a whole segment of the pattern, as in \"/users/{id}\"");
        static_assert(fault == route::PatternFault::none,
                      "the pattern is not valid; see tiderace/http/route/pattern.h");
        check_handler<F>();
        constexpr std::size_t named = route::count_parameters(pattern.view());
        constexpr std::size_t taken = app::SignatureOf<F>::path_parameters;
        static_assert(named == taken,
                      "the pattern's parameters and those of the handler (numbers, enums, strings)"
                      " differ in number");
        return add(method, std::string(pattern.view()), taken,
                   std::make_unique<app::EndpointOf<F>>(std::move(handler)));
    }
    App& add(wire::Method method, std::string pattern, std::size_t parameters,
             std::unique_ptr<app::Endpoint> endpoint);

    AppOptions options_;
    route::Router router_;
    std::vector<Route> routes_;
    std::vector<State> states_;
    std::string fault_;
};

}  // namespace tiderace::http
