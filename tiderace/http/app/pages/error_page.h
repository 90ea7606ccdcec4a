// Error pages of an App: how it shows errors that the library answers by itself (404, 405, 413,
// 429, 431, 500, 503 …) and the Problems of forms and handlers.
//
//   app.error_page([](const ErrorAnswer& error) {
//       return page<"error.html">(ErrorView{error.status, error.title, error.detail});
//   });
//   app.group("/shop").error_page([](const ErrorAnswer& error) -> std::optional<Response> {
//       if (error.status != 404) return std::nullopt;         // the App's page then
//       return Response().html("<h1>Not in this shop</h1>");
//   });
//
//   answer of 400 and above --> the innermost group's page --> … --> the App's --> the built-in
//
// The status and the fields of the answer stay as they are; the function gives body, type, further
// fields and cookies. It is called for clients that want a page; a client that prefers JSON gets
// application/problem+json. An answer with a body of its own is left alone, except a Problem that
// goes to a client which prefers HTML. A generator as body must not refer to the ErrorAnswer, which
// lives for the call, nor to its request. Below a group's prefix, paths without a route have the
// group's page. Requests that were refused before they could be read have the App's; their path may
// be "".
//
// Owner    The App. One copy for all loops, called as const.
// Thread   Any loop's, at once; it must not wait.
// Errors   A function that throws, or whose template cannot be shown: one line of the log, and the
//          next page, in the end the built-in one.
// Keywords: 404, 405, 500, problem+json, RFC 9457
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/pages/page.h"
#include "tiderace/http/app/problem.h"
#include "tiderace/http/app/results.h"
#include "tiderace/http/layer.h"
#include "tiderace/http/request.h"

namespace tiderace::http {

struct ErrorAnswer {
    int status;
    std::string title;   // "Not Found"
    std::string detail;  // a sentence for people, "" if there is none
    std::vector<Problem::Fault> faults;
    const Request& request;
};

// The function that an application registers. nullopt: the next page outwards.
using ErrorPage = shared_function<std::optional<Response>(const ErrorAnswer&, task::Runner&)>;

namespace app_parts {

template <typename R>
std::optional<Response> error_reply(R&& result, task::Runner& runner) {
    using T = std::remove_cvref_t<R>;
    if constexpr (is_optional<T>) {
        if (!result) return std::nullopt;
        return error_reply(*std::forward<R>(result), runner);
    } else if constexpr (is_variant<T>) {
        return std::visit([&](auto& held) { return error_reply(std::move(held), runner); }, result);
    } else if constexpr (std::is_same_v<T, Response>) {
        return std::forward<R>(result);
    } else if constexpr (std::is_base_of_v<Page, T>) {
        return std::move(result).make(runner);
    } else if constexpr (std::is_same_v<T, Problem>) {
        return result.response();
    } else {
        return Response().text(std::string(std::string_view(result)));
    }
}

template <typename T>
inline constexpr bool is_error_reply =
    std::is_same_v<T, Response> || std::is_base_of_v<Page, T> || std::is_same_v<T, Problem> ||
    std::is_convertible_v<T, std::string_view>;
template <typename T>
inline constexpr bool is_error_reply<std::optional<T>> = is_error_reply<T>;
template <typename... T>
inline constexpr bool is_error_reply<std::variant<T...>> = (is_error_reply<T> && ...);

// Whether F may be an error page; the sentence of what keeps it is the only error.
template <typename F>
consteval bool is_error_page() {
    constexpr bool is_function = std::is_invocable_v<const F&, const ErrorAnswer&>;
    static_assert(is_function,
                  "an error page is a function of const ErrorAnswer&, called as const");
    if constexpr (is_function) {
        using Made = std::invoke_result_t<const F&, const ErrorAnswer&>;
        using Result = std::remove_cvref_t<Made>;
        static_assert(
            is_error_reply<Result>,
            "an error page is a Response, a Page, a Problem, a text, or a std::optional or "
            "std::variant of these; no Task");
        constexpr bool owns = !borrows<Made> || !is_error_reply<Result>;
        static_assert(owns,
                      "an error page is a value: a reference or a std::string_view may refer to "
                      "what is gone; return a std::string, or a copy");
        return is_error_reply<Result> && owns;
    } else {
        return false;
    }
}

// With the pages that it may show, which are checked when the App starts.
struct CheckedErrorPage {
    ErrorPage show;
    std::vector<PageUse> uses;
};

template <typename F>
CheckedErrorPage error_page(F make) {
    CheckedErrorPage made;
    if constexpr (is_error_page<F>()) {
        PagesIn<std::invoke_result_t<const F&, const ErrorAnswer&>>::list(made.uses);
        made.show = [make = std::move(make)](const ErrorAnswer& error, task::Runner& runner) {
            return error_reply(make(error), runner);
        };
    }
    return made;
}

Setting::Make shown_by(ErrorPage page);

}  // namespace app_parts
}  // namespace tiderace::http
