// Internal. FunctionOf<F>: the parameters and the result of a function, or of a function object
// that has one operator().
//
// Thread   Any; constants.
#pragma once

#include <type_traits>

#include "tiderace/base/language.h"

namespace tiderace::task {

template <typename F>
concept HasSignature = std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); };

template <typename F>
struct FunctionOf : FunctionOf<decltype(&F::operator())> {};
template <typename R, typename... A>
struct FunctionOf<R (*)(A...)> {
    using Plain = R (*)(A...);
    using Result = R;
    template <template <typename...> typename To>
    using Arguments = To<A...>;
    static constexpr bool constant = true;
};
template <typename R, typename F, typename... A>
struct FunctionOf<R (F::*)(A...) const> : FunctionOf<R (*)(A...)> {};
template <typename R, typename F, typename... A>
struct FunctionOf<R (F::*)(A...)> : FunctionOf<R (*)(A...)> {
    static constexpr bool constant = false;
};
template <typename R, typename... A>
struct FunctionOf<R (*)(A...) noexcept> : FunctionOf<R (*)(A...)> {};
template <typename R, typename F, typename... A>
struct FunctionOf<R (F::*)(A...) const noexcept> : FunctionOf<R (*)(A...)> {};
template <typename R, typename F, typename... A>
struct FunctionOf<R (F::*)(A...) noexcept> : FunctionOf<R (F::*)(A...)> {};

}  // namespace tiderace::task
