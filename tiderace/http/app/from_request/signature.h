// Internal. SignatureOf<F>: what the parameters of a handler, and of the functions that make its
// arguments (FromRequest), need of a request.
//
// Thread   Any; constants.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tiderace/http/app/arguments.h"
#include "tiderace/http/app/call.h"
#include "tiderace/task/signature.h"
#include "tiderace/task/task.h"

namespace tiderace::http::app_parts {

using task::HasSignature;

template <typename T>
inline constexpr bool is_task = false;
template <typename T>
inline constexpr bool is_task<task::Task<T>> = true;

// What one argument adds; FromRequest (from_request.h) sums up the parameters of its function.
template <typename A>
inline constexpr std::size_t body_arguments_of = body_use<A> == BodyUse::none ? 0 : 1;
template <typename A>
inline constexpr std::size_t path_parameters_of = PathParameter<A> ? 1 : 0;
template <typename A>
inline constexpr bool is_well_made_argument = true;
// Its value comes from a task.
template <typename A>
inline constexpr bool waits_for = false;

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

template <typename F>
struct SignatureOf : SignatureOf<typename task::FunctionOf<F>::Plain> {
    static constexpr bool constant = task::FunctionOf<F>::constant;
};
template <typename R, typename... A>
struct SignatureOf<R (*)(A...)> : task::FunctionOf<R (*)(A...)> {
    using Plain = SignatureOf;
    static constexpr std::size_t body_arguments = (std::size_t{0} + ... + body_arguments_of<A>);
    static constexpr BodyUse body = most_of<A...>();
    static constexpr std::size_t path_parameters = (std::size_t{0} + ... + path_parameters_of<A>);
    static constexpr bool refers_to_parameters =
        ((std::is_reference_v<A> && PathParameter<std::remove_cvref_t<A>>) || ...);
    static constexpr bool takes_views = (is_view_of_request<A> || ...);
    static constexpr bool is_known = (KnownArgument<A> && ...);
    static constexpr bool is_well_made = (is_well_made_argument<A> && ...);
    static constexpr bool waits = (waits_for<A> || ...);
};
}  // namespace tiderace::http::app_parts
