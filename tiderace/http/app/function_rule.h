// Internal. FunctionRule, FunctionFilter: the layers (http/layer.h) that are made of a function.
//
// Owner    SiteLoop.
// Thread   The loop's; the function is shared by all loops and called as const.
// Errors   As a handler's.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/layer.h"

namespace tiderace::http {
namespace app_parts {

template <typename F>
concept AnswerFunction = std::is_invocable_v<const F&, const Request&, Response&>;

template <typename T>
inline constexpr bool is_void_expected = false;
template <typename E>
inline constexpr bool is_void_expected<std::expected<void, E>> = true;
// It answers, or leaves a value for the functions behind it.
template <typename T>
inline constexpr bool is_leaving = false;
template <typename T, typename E>
    requires(!std::is_void_v<T> && !std::is_same_v<E, Refusal>)
inline constexpr bool is_leaving<std::expected<T, E>> = true;
template <typename T>
inline constexpr bool is_late = false;
template <typename T>
inline constexpr bool is_late<std::expected<T, Refusal>> = true;

// The status that a rule's result may become: 0 for any (a Problem), or none.
inline constexpr int no_refusal = -1;
template <typename T>
inline constexpr int refusal_of = no_refusal;
template <>
inline constexpr int refusal_of<Problem> = 0;
template <>
inline constexpr int refusal_of<Redirect> = 303;
template <typename T>
inline constexpr int refusal_of<std::optional<T>> = refusal_of<T>;
template <typename T, typename E>
inline constexpr int refusal_of<std::expected<T, E>> = refusal_of<E>;

// Answers what a function returned. False: it let the request pass.
template <typename T>
bool answer_unless_passed(Exchange& exchange, task::Runner& runner, T&& result) {
    using R = std::remove_cvref_t<T>;
    static_assert(is_optional<R> || is_void_expected<R> || is_late<R> || is_leaving<R>,
                  "a middleware returns nothing, a std::optional or a std::expected<T, E>,"
                  " or a Task of one");
    if constexpr (is_late<R> && !is_void_expected<R>) {
        if (result) return answer_unless_passed(exchange, runner, *std::forward<T>(result));
        answer(exchange, runner, std::forward<T>(result).error());
    } else if constexpr (is_leaving<R>) {
        using Value = typename R::value_type;
        static_assert(std::is_class_v<Value> && !PathParameter<Value>,
                      "a middleware leaves a value of a class of its own, which handlers take as"
                      " `const User&`");
        if (result) {
            exchange.attach(core::make_ref<Left<Value>>(*std::forward<T>(result)));
            return false;
        }
        answer(exchange, runner, std::forward<T>(result).error());
    } else if constexpr (is_optional<R>) {
        if (!result) return false;
        answer(exchange, runner, *std::forward<T>(result));
    } else {
        if (result) return false;
        answer(exchange, runner, std::forward<T>(result).error());
    }
    return true;
}

// A rule's task: goes on with the request, or answers it.
template <typename T>
class RuleInvocation final : public InvocationBase<T> {
  public:
    using InvocationBase<T>::InvocationBase;

  private:
    void answer_value(Exchange& exchange, task::Runner& runner) override {
        exchange.set_deadline(Instant::max());  // it was the rule's
        if constexpr (!std::is_void_v<T>) {
            if (answer_unless_passed(exchange, runner, this->take_value())) return;
        }
        exchange.resume();
    }
};

// Whether F may be made a FunctionRule; the sentence of what keeps it is the only error.
template <typename F>
consteval bool is_rule() {
    using Signature = SignatureOf<F>;
    if constexpr (!Signature::is_well_made) return false;
    static_assert(Signature::constant, "a middleware is shared by all loops: no `mutable` lambda");
    static_assert(Signature::path_parameters == 0,
                  "a middleware takes no path parameters: it may stand before several routes");
    static_assert(Signature::body_arguments == 0, "a middleware leaves the body to the handler");
    constexpr bool is_known = Signature::path_parameters != 0 || Signature::is_known;
    static_assert(is_known,
                  "a middleware cannot take a parameter of this type;"
                  " tiderace/http/app/arguments.h lists those that it can");
    constexpr bool owns = !borrows<typename Signature::Result>;
    static_assert(owns,
                  "a middleware answers with a value: a reference, a std::string_view or a"
                  " std::span may refer to what is gone; return a std::string, or a copy");
    return Signature::constant && Signature::path_parameters == 0 &&
           Signature::body_arguments == 0 && is_known && owns;
}

template <typename F>
class FunctionRule final : public AccessRule {
  public:
    using Signature = SignatureOf<F>;
    using Result = typename Signature::Result;

    FunctionRule(std::shared_ptr<const F> function, const LayerPlace& place)
        : function_(std::move(function)),
          runner_(&place.runner),
          states_(&place.states),
          timeout_(place.timeout) {}

    Verdict check(Exchange& exchange) override {
        if constexpr ((runs_on<Result> || Signature::waits) && Signature::takes_views) {
            exchange.pin();
        }
        Call call{exchange, *runner_, *states_, "a middleware", deadline_of(exchange)};
        return typename Signature::template Arguments<With>().check(*this, call);
    }

  private:
    Instant deadline_of(Exchange& exchange) const {
        return moment_after(exchange.loop().now(), timeout_);
    }
    template <typename... A>
    struct With {
        Verdict check(const FunctionRule& rule, Call& call) const {
            Verdict verdict = Verdict::answered;
            answer_problems(call.exchange, [&] {
                [[maybe_unused]] std::tuple<FoundFor<A>...> found{find_argument<A>(call)...};
                [&]<std::size_t... i>(std::index_sequence<i...> all) {
                    if (!(std::get<i>(found).has_value() && ...)) return;
                    if constexpr (Signature::waits) {
                        using One = RuleInvocation<LateResult<Result>>;
                        One::template run<One>(call, call_when_come<Result, A...>(
                                                         *rule.function_, std::move(found), all));
                        verdict = Verdict::later;
                    } else {
                        verdict = rule.run(call, Argument<A>::pass(std::get<i>(found))...);
                    }
                }(std::index_sequence_for<A...>());
            });
            return verdict;
        }
    };
    template <typename... Values>
    Verdict run(Call& call, Values&&... values) const {
        if constexpr (std::is_void_v<Result>) {
            (*function_)(std::forward<Values>(values)...);
            return Verdict::pass;
        } else if constexpr (is_task<Result>) {
            using One = RuleInvocation<typename Result::value_type>;
            One::template run<One>(call, (*function_)(std::forward<Values>(values)...));
            return Verdict::later;
        } else {
            const bool answered = answer_unless_passed(
                call.exchange, call.runner, (*function_)(std::forward<Values>(values)...));
            return answered ? Verdict::answered : Verdict::pass;
        }
    }

    std::shared_ptr<const F> function_;
    task::Runner* runner_;
    const States* states_;
    Duration timeout_;
};

template <typename F>
class FunctionFilter final : public ResponseFilter {
  public:
    explicit FunctionFilter(std::shared_ptr<const F> function) : function_(std::move(function)) {}
    void filter(Exchange& exchange, Response& response) override {
        (*function_)(exchange.request(), response);
    }

  private:
    std::shared_ptr<const F> function_;
};

}  // namespace app_parts
}  // namespace tiderace::http
