// What an App holds: its scopes, routes, states and hosts.
//
// Owner    App.
// Thread   As App.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/app/call.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/middleware.h"
#include "tiderace/http/app/pages/error_page.h"
#include "tiderace/http/route/placed_pattern.h"
#include "tiderace/http/wire/method.h"

namespace tiderace::http::app_parts {

// Where middleware hangs: the App (the first), a group, a route with middleware of its own.
struct ScopeEntry {
    std::uint32_t parent = 0;
    std::uint32_t host = 0;
    std::string prefix = {};  // the whole of it
    std::vector<Middleware> middleware = {};
    ErrorPage error_page = {};
    bool asks_nobody = false;  // no middleware around it runs before its handlers
};

struct RouteEntry {
    std::string pattern;
    route::Place place;
    wire::Method method;
    std::uint32_t scope;
    std::unique_ptr<Endpoint> endpoint;
};

struct StateEntry {
    const void* key;
    shared_function<std::shared_ptr<void>(core::EventLoop&)> make;
    void* shared;
};

template <typename S, typename F>
StateEntry state_entry(F make) {
    constexpr bool makes = requires(const F& f, core::EventLoop& loop) {
        { f(loop) } -> std::convertible_to<std::shared_ptr<S>>;
    };
    static_assert(makes,
                  "a state is made by a function of core::EventLoop& that returns a std::unique_ptr"
                  " or std::shared_ptr of it, called as const");
    StateEntry entry{.key = state_key<S>, .make = {}, .shared = nullptr};
    if constexpr (makes) {
        entry.make = [make = std::move(make)](core::EventLoop& loop) {
            std::shared_ptr<S> made = make(loop);
            return std::shared_ptr<void>(std::move(made));
        };
    }
    return entry;
}

struct HostEntry;  // app.cc, so that files with routes do not compile the router

}  // namespace tiderace::http::app_parts
