// Internal. shared_function: a callable whose copies are one, for options that several loops call.
//
// std::function would bring <functional> into every file of an application, which costs its
// compiler a tenth of a second.
//
// Owner    Its copies together.
// Thread   Copies may be called by several threads at once if the callable may.
// Errors   Calling an empty one aborts.
// Memory   One allocation for all copies.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/unique_function.h"

namespace tiderace {

template <typename Signature>
class shared_function;

template <typename R, typename... Args>
class shared_function<R(Args...)> {
  public:
    shared_function() = default;
    shared_function(std::nullptr_t) {}

    template <typename F>
        requires(!std::same_as<std::remove_cvref_t<F>, shared_function> &&
                 std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
    shared_function(F&& callable)  // NOLINT: stands for the callable
        : callable_(std::make_shared<unique_function<R(Args...)>>(std::forward<F>(callable))) {}

    R operator()(Args... args) const {
        TR_CHECK(callable_ != nullptr, "call of an empty function");
        return (*callable_)(std::forward<Args>(args)...);
    }
    explicit operator bool() const { return callable_ != nullptr; }
    bool operator==(std::nullptr_t) const { return callable_ == nullptr; }

  private:
    std::shared_ptr<unique_function<R(Args...)>> callable_;
};

}  // namespace tiderace
