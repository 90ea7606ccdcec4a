// Internal. Whether a pattern and a handler can be a route: each fault is one sentence of the
// compiler.
//
// Thread   Any; constants.
#pragma once

#include <cstddef>

#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/results.h"
#include "tiderace/http/route/pattern.h"

namespace tiderace::http::app_parts {

// The checks below stop at the first fault, whose sentence is the only error: what has one is
// not compiled any further.
template <typename F>
consteval bool is_shared_function() {
    if constexpr (!HasSignature<F>) {
        static_assert(HasSignature<F>,
                      "a handler is a function or a lambda whose parameters have types:"
                      " no `auto`");
        return false;
    } else if constexpr (!SignatureOf<F>::constant) {
        static_assert(SignatureOf<F>::constant,
                      "a handler is shared by all loops and called as const: no `mutable`"
                      " lambda; keep what changes in a state (App::state)");
        return false;
    } else {
        return SignatureOf<F>::is_well_made;
    }
}
template <typename F>
consteval bool is_handler() {
    if constexpr (!is_shared_function<F>()) {
        return false;
    } else {
        using Signature = SignatureOf<F>;
        constexpr bool waits_for_body =
            Signature::body != BodyUse::streamed || is_task<typename Signature::Result>;
        static_assert(Signature::is_known,
                      "a handler cannot take a parameter of this type;"
                      " tiderace/http/app/arguments.h lists the types that it can");
        static_assert(Signature::body_arguments <= 1, "one argument of a handler takes the body");
        constexpr bool owns = !borrows<typename Signature::Result>;
        static_assert(owns,
                      "a handler returns a value: a reference, a std::string_view or a"
                      " std::span may refer to what is gone; return a std::string, or a copy");
        static_assert(waits_for_body,
                      "a handler that takes its body as it comes is a coroutine:"
                      " return a Task");
        return Signature::is_known && Signature::body_arguments <= 1 && waits_for_body && owns;
    }
}
template <route::PatternText pattern>
consteval bool is_pattern() {
    constexpr route::PatternFault fault = route::check_pattern(pattern);
    constexpr bool has_slash = fault != route::PatternFault::no_slash;
    constexpr bool has_brace = fault == route::PatternFault::brace_in_literal;
    static_assert(has_slash, "a pattern begins with '/'");
    static_assert(!has_brace,
                  "a parameter is a whole segment of the pattern, as in \"/users/{id}\"");
    static_assert(fault == route::PatternFault::none || !has_slash || has_brace,
                  "the pattern is not valid; see tiderace/http/route/pattern.h");
    return fault == route::PatternFault::none;
}
// `prefix_parameters`: of the path before the pattern.
template <route::PatternText pattern, typename F, std::size_t prefix_parameters>
consteval bool fits() {
    if constexpr (!is_pattern<pattern>() || !is_shared_function<F>()) {
        return false;
    } else {
        using Signature = SignatureOf<F>;
        constexpr std::size_t named = route::count_parameters(pattern) + prefix_parameters;
        constexpr bool by_value = !Signature::refers_to_parameters;
        static_assert(by_value,
                      "a parameter of the path: take it by value, as `int` or `std::string`,"
                      " not by reference");
        // A type that nothing can be passed for is the fault; the number follows from it.
        constexpr bool fits_in_number = named == Signature::path_parameters || !Signature::is_known;
        static_assert(!by_value || fits_in_number,
                      "the parameters of the pattern and of the handler (numbers, enums,"
                      " strings) differ in number");
        return by_value && fits_in_number;
    }
}

}  // namespace tiderace::http::app_parts
