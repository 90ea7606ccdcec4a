// Results: what a handler may return, and what it becomes.
//
//   std::string, const char* (a literal)         text/plain
//   Response                                     as it is
//   Problem                                      application/problem+json
//   Redirect                                     its status and Location
//   std::optional<T>                             T, or 404
//   std::expected<T, E>                          T, or E (a Problem, a Response …)
//   std::variant<T…>                             the one that it holds
//   Created<T>                                   201, Location, and T as JSON
//   Generator<std::string>                       a body made while it is sent, text/plain
//   Events                                       text/event-stream
//   void, std::monostate                         204
//   File                                         a file of the disk (http/app/file.h)
//   PageOf<name, T>, Page                        a template with a value (http/app/pages/page.h)
//   Json<T>, any other type that has a JSON form application/json
//   Task<T>                                      T, later
//
// A reference, a std::string_view and a std::span do not compile, because what they refer to may be
// gone before it is sent.
//
// Thread   The loop's.
// Keywords: return value, JSON response
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/http/app/arguments.h"
#include "tiderace/http/app/problem.h"
#include "tiderace/http/app/stream.h"
#include "tiderace/json.h"
#include "tiderace/task/task.h"

namespace tiderace::text {
struct Type;
}

namespace tiderace::http::app_parts {

// A template that a handler shows values of a type with.
struct PageUse {
    std::string_view name;
    const text::Type* type;  // nullptr: any template, known when it is shown
};

// The pages in a result: it may be one, or hold one.
template <typename R>
struct PagesIn {
    static void list(std::vector<PageUse>& uses) {
        if constexpr (requires { R::use(); }) uses.push_back(R::use());
    }
};
template <typename... R>
struct PagesInAny {
    static void list(std::vector<PageUse>& uses) { (PagesIn<R>::list(uses), ...); }
};
template <typename T>
struct PagesIn<task::Task<T>> : PagesIn<T> {};
template <typename T>
struct PagesIn<std::optional<T>> : PagesIn<T> {};
template <typename T, typename E>
struct PagesIn<std::expected<T, E>> : PagesInAny<T, E> {};
template <typename... T>
struct PagesIn<std::variant<T...>> : PagesInAny<T...> {};
// The pages of an argument that answers; most have none.
template <typename A>
struct PagesInArgument {
    static void list(std::vector<PageUse>&) {}
};
template <typename R>
struct PagesOf {
    template <typename... A>
    struct With {
        static void list(std::vector<PageUse>& uses) {
            (PagesInArgument<A>::list(uses), ...);
            PagesIn<R>::list(uses);
        }
    };
};

void answer_text(Exchange& exchange, std::string text);
void answer_text(Exchange& exchange, std::string_view lasting);
void answer_json(Exchange& exchange, std::string text);
void answer_stream(Exchange& exchange, task::Generator<std::string> pieces);
void answer_events(Exchange& exchange, Events events);

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_expected = false;
template <typename T, typename E>
inline constexpr bool is_expected<std::expected<T, E>> = true;
template <typename T>
inline constexpr bool is_variant = false;
template <typename... T>
inline constexpr bool is_variant<std::variant<T...>> = true;
template <typename T>
inline constexpr bool is_created = false;
template <typename T>
inline constexpr bool is_created<Created<T>> = true;
template <typename T>
inline constexpr bool is_json = false;
template <typename T>
inline constexpr bool is_json<Json<T>> = true;

// Refers to what the function that returns it has on its stack, or may change before it is sent.
template <typename R>
inline constexpr bool borrows = std::is_reference_v<R> || std::is_same_v<R, std::string_view>;
template <typename T, std::size_t size>
inline constexpr bool borrows<std::span<T, size>> = true;
template <typename T>
inline constexpr bool borrows<task::Task<T>> = borrows<T>;
template <typename T>
inline constexpr bool borrows<std::optional<T>> = borrows<T>;
template <typename T, typename E>
inline constexpr bool borrows<std::expected<T, E>> = borrows<T> || borrows<E>;
template <typename... T>
inline constexpr bool borrows<std::variant<T...>> = (borrows<T> || ...);
template <typename T>
inline constexpr bool borrows<Json<T>> = borrows<T>;
template <typename T>
inline constexpr bool borrows<Created<T>> = borrows<T>;

template <typename T>
concept AnswersItself = requires(T result, Exchange& exchange, task::Runner& runner) {
    std::move(result).answer(exchange, runner);
};

template <typename T>
void answer(Exchange& exchange, task::Runner& runner, T&& result);

template <typename T>
void answer_wrapped(Exchange& exchange, task::Runner& runner, T&& result) {
    using R = std::remove_cvref_t<T>;
    if constexpr (is_optional<R>) {
        if (!result) return exchange.respond_status(404);
        answer(exchange, runner, *std::forward<T>(result));
    } else if constexpr (is_expected<R>) {
        if (!result) return answer(exchange, runner, std::forward<T>(result).error());
        if constexpr (std::is_void_v<typename R::value_type>) {
            exchange.respond_status(204);
        } else {
            answer(exchange, runner, *std::forward<T>(result));
        }
    } else {
        std::visit([&](auto& held) { answer(exchange, runner, std::move(held)); }, result);
    }
}

template <typename T>
void answer(Exchange& exchange, task::Runner& runner, T&& result) {
    using R = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<R, std::string>) {
        answer_text(exchange, std::string(std::forward<T>(result)));
    } else if constexpr (std::is_convertible_v<T&&, std::string_view>) {
        answer_text(exchange, std::string_view(result));
    } else if constexpr (std::is_same_v<R, Response>) {
        exchange.respond(std::move(result));
    } else if constexpr (AnswersItself<R>) {
        std::move(result).answer(exchange, runner);
    } else if constexpr (std::is_same_v<R, Problem>) {
        exchange.respond(result.response());
    } else if constexpr (std::is_same_v<R, Redirect>) {
        exchange.respond(Response(result.status).header("Location", result.to));
    } else if constexpr (std::is_same_v<R, std::monostate>) {
        exchange.respond_status(204);
    } else if constexpr (is_optional<R> || is_expected<R> || is_variant<R>) {
        answer_wrapped(exchange, runner, std::forward<T>(result));
    } else if constexpr (is_created<R>) {
        exchange.respond(Response(201)
                             .header("Location", result.location)
                             .body("application/json", json::write(result.value)));
    } else if constexpr (is_json<R>) {
        answer_json(exchange, json::write(*result));
    } else if constexpr (std::is_same_v<R, task::Generator<std::string>>) {
        answer_stream(exchange, std::move(result));
    } else if constexpr (std::is_same_v<R, Events>) {
        answer_events(exchange, std::move(result));
    } else {
        answer_json(exchange, json::write(result));
    }
}

}  // namespace tiderace::http::app_parts
