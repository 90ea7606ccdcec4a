// Internal. StateEntry: what an App makes for each loop, or shares.
//
// Owner    App.
// Thread   As App.
#pragma once

#include <concepts>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/layer.h"

namespace tiderace::http::app_parts {

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

}  // namespace tiderace::http::app_parts
