// Internal. ready_rule: makes a middleware of a check of readiness. The check takes what middleware
// takes and returns bool or Task<bool>; false is 503.
//
// Owner    The App.
// Thread   Any loop's, at once.
// Errors   What the check throws is answered with 500, and logged.
// Keywords: readiness probe, health check, 503
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "tiderace/http/app/middleware.h"
#include "tiderace/http/app/problem.h"

namespace tiderace::http::app_parts {

inline std::optional<Problem> ready_or_503(bool ready) {
    if (ready) return std::nullopt;
    return Problem{.status = 503, .detail = "a check of readiness failed"};
}

template <typename F>
struct ReadyNow {
    template <typename... A>
    struct With {
        F check;
        std::optional<Problem> operator()(A... each) const {
            return ready_or_503(check(std::forward<A>(each)...));
        }
    };
};
template <typename F>
struct ReadyLater {
    template <typename... A>
    struct With {
        F check;
        task::Task<std::optional<Problem>> operator()(A... each) const {
            co_return ready_or_503(co_await check(std::forward<A>(each)...));
        }
    };
};

template <typename F>
Middleware ready_rule(F check) {
    using Signature = SignatureOf<F>;
    using Result = typename Signature::Result;
    static_assert(std::is_same_v<Result, bool> || std::is_same_v<Result, task::Task<bool>>,
                  "a check of readiness returns bool or Task<bool>");
    using Kind = std::conditional_t<is_task<Result>, ReadyLater<F>, ReadyNow<F>>;
    using Rule = typename Signature::template Arguments<Kind::template With>;
    return Middleware(Rule{std::move(check)});
}

}  // namespace tiderace::http::app_parts
