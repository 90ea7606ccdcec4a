// Internal. Argument<T>: finds an argument that FromRequest<T> makes. call_when_come(): calls a
// handler whose arguments have to be waited for.
//
//   found on the stack -> [LateValue] -> come(), in a task -> pass() -> handler -> LateResult
//                     \-> answered                        \-> Refusal
//
// Owner    The call; the task of the handler, where it waits.
// Thread   The loop's.
#pragma once

#include <coroutine>
#include <cstddef>
#include <expected>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiderace/base/unique_function.h"
#include "tiderace/http/app/call.h"
#include "tiderace/http/app/from_request/from_request.h"
#include "tiderace/http/app/results.h"
#include "tiderace/task/task.h"

namespace tiderace::http::app_parts {

// The answer of an argument, in the handler's place.
class Refusal {
  public:
    template <typename E>
    static Refusal of(E error) {
        Refusal made;
        made.answer_ = [error = std::move(error)](Exchange& exchange,
                                                  task::Runner& runner) mutable {
            app_parts::answer(exchange, runner, std::move(error));
        };
        return made;
    }
    void answer(Exchange& exchange, task::Runner& runner) && { answer_(exchange, runner); }

  private:
    unique_function<void(Exchange&, task::Runner&)> answer_;
};

template <typename A>
using FoundFor = decltype(find_argument<A>(std::declval<Call&>()));

// A value that a task makes of what was found for it.
template <typename T, typename Found>
struct LateValue {
    Found found;
    std::optional<T> value = {};
};

// Lets an argument come, unless one before it has answered.
template <typename A, typename Found>
auto come(std::optional<Found>& found, std::optional<Refusal>& refusal) {
    if constexpr (waits_for<A>) {
        return Argument<A>::come(*found, refusal);
    } else {
        return std::suspend_never();
    }
}

template <FromRequested T>
struct Argument<T> {
    static auto find(Call& call) { return FromSignature<T>::template Arguments<With>::find(call); }
    template <typename Found>
    static T pass(std::optional<Found>& found) {
        if constexpr (waits_for<T>) {
            return std::move(*found->value);
        } else {
            return std::move(*found);
        }
    }
    template <typename Late>
    static task::Task<> come(Late& late, std::optional<Refusal>& refusal) {
        return FromSignature<T>::template Arguments<With>::come(late, refusal);
    }

  private:
    template <typename... P>
    struct With {
        using Found = std::tuple<FoundFor<P>...>;
        static constexpr auto all = std::index_sequence_for<P...>();

        static auto find(Call& call) { return find_all(call, all); }
        template <std::size_t... i>
        static auto find_all(Call& call, std::index_sequence<i...>) {
            // In braces, so that they are found from left to right.
            [[maybe_unused]] Found found{find_argument<P>(call)...};
            const bool complete = (std::get<i>(found).has_value() && ...);
            if constexpr (waits_for<T>) {
                std::optional<LateValue<T, Found>> late;
                if (complete) late.emplace(std::move(found));
                return late;
            } else {
                std::optional<T> value;
                std::optional<Refusal> refusal;
                if (complete) {
                    keep(FromRequest<T>::from(Argument<P>::pass(std::get<i>(found))...), value,
                         refusal);
                }
                if (refusal) std::move(*refusal).answer(call.exchange, call.runner);
                return value;
            }
        }
        template <typename Late>
        static task::Task<> come(Late& late, std::optional<Refusal>& refusal) {
            return come_all(late, refusal, all);
        }
        template <typename Late, std::size_t... i>
        static task::Task<> come_all(Late& late, std::optional<Refusal>& refusal,
                                     std::index_sequence<i...>) {
            (co_await app_parts::come<P>(std::get<i>(late.found), refusal), ...);
            if (refusal) co_return;
            // Named before it is awaited, because of g++ 12 (task/task.h).
            auto made = FromRequest<T>::from(Argument<P>::pass(std::get<i>(late.found))...);
            if constexpr (is_task<decltype(made)>) {
                auto result = co_await std::move(made);
                keep(std::move(result), late.value, refusal);
            } else {
                keep(std::move(made), late.value, refusal);
            }
        }
        template <typename R>
        static void keep(R result, std::optional<T>& value, std::optional<Refusal>& refusal) {
            if constexpr (std::is_same_v<R, T>) {
                value.emplace(std::move(result));
            } else if (result) {
                value.emplace(*std::move(result));
            } else {
                refusal = Refusal::of(std::move(result).error());
            }
        }
    };
};

// What a function that waited for its arguments returned, or the answer of one of them.
template <typename R>
using LateResult = std::expected<typename ValueOf<R>::Type, Refusal>;

// `function` outlives the task. The arguments were found; all of them have a value.
template <typename R, typename... A, typename F, typename Found, std::size_t... i>
task::Task<LateResult<R>> call_when_come(const F& function, Found found,
                                         std::index_sequence<i...>) {
    std::optional<Refusal> refusal;
    (co_await come<A>(std::get<i>(found), refusal), ...);
    if (refusal) co_return std::unexpected(std::move(*refusal));
    if constexpr (is_task<R>) {
        auto task = function(Argument<A>::pass(std::get<i>(found))...);
        if constexpr (std::is_void_v<typename R::value_type>) {
            co_await std::move(task);
        } else {
            auto result = co_await std::move(task);
            co_return LateResult<R>(std::in_place, std::move(result));
        }
    } else if constexpr (std::is_void_v<R>) {
        function(Argument<A>::pass(std::get<i>(found))...);
    } else {
        co_return LateResult<R>(std::in_place, function(Argument<A>::pass(std::get<i>(found))...));
    }
    if constexpr (std::is_void_v<typename ValueOf<R>::Type>) co_return LateResult<R>();
}

}  // namespace tiderace::http::app_parts
