// Internal. NeedsOf: what the parameters of a function need that the program has to give: states,
// and what a middleware before it leaves (Session). App::fault() checks it before it serves.
//
// Thread   Any; built from constants.
#pragma once

#include <type_traits>
#include <vector>

#include "tiderace/http/app/arguments.h"
#include "tiderace/http/app/from_request/from_request.h"
#include "tiderace/http/layer.h"
#include "tiderace/json/names.h"

namespace tiderace::http::app_parts {

// The type of a state that is taken as `S&` or `const S&`.
template <typename S>
Need state_need() {
    using State = std::remove_const_t<S>;
    return {state_key<State>, json::type_name<State>(), std::is_const_v<S>};
}

// Most arguments need nothing but the request.
template <typename A>
struct ArgumentNeeds {
    static void list(std::vector<Need>& needs) {
        if constexpr (requires { typename Argument<A>::State; }) {
            needs.push_back(state_need<std::remove_reference_t<A>>());
        }
    }
};

template <typename... A>
struct NeedsOf {
    static void list([[maybe_unused]] std::vector<Need>& needs) {
        (ArgumentNeeds<A>::list(needs), ...);
    }
};

template <FromRequested T>
struct ArgumentNeeds<T> {
    static void list(std::vector<Need>& needs) {
        FromSignature<T>::template Arguments<NeedsOf>::list(needs);
    }
};

}  // namespace tiderace::http::app_parts
