// FromRequest<T>: makes an argument of the application's own type of what the request brings.
//
//   template <>
//   struct tiderace::http::FromRequest<Member> {
//       static Task<std::expected<Member, Redirect>> from(Session session, Users& users) { … }
//   };
//   app.get<"/settings">([](Member member) { return member.name; });   // or the Redirect
//
// The parameters of `from` are found as a handler's are, other FromRequest types among them. It
// returns a T, a std::expected<T, E> whose error is the answer, or a Task of one. Handlers and
// middleware take a T by value, and so does a WebSocket where `from` is no task.
//
//   request -> what needs no task, from left to right -> the tasks, from left to right -> handler
//
// So a body that cannot be read is answered before any task begins. What `from` returns may hold
// views of the request: they are valid as long as a handler's own.
//
// Owner    The handler that takes the value.
// Thread   The loop's.
// Errors   What `from` throws is answered as if the handler had thrown it.
#pragma once

#include <cstddef>
#include <expected>
#include <type_traits>
#include <variant>
#include <vector>

#include "tiderace/http/app/call.h"
#include "tiderace/http/app/from_request/signature.h"
#include "tiderace/http/app/results.h"
#include "tiderace/task/task.h"

namespace tiderace::http::app_parts {

template <typename T>
concept HasFrom = requires {
    requires std::is_function_v<std::remove_pointer_t<decltype(&FromRequest<T>::from)>>;
};

// Without a fit `from`, one that needs nothing: is_well_made_argument has reported it.
template <typename T>
struct FromSignature : SignatureOf<T (*)()> {};
template <HasFrom T>
struct FromSignature<T> : SignatureOf<decltype(&FromRequest<T>::from)> {};

// What a Task<R> or a function hands over.
template <typename R>
struct ValueOf {
    using Type = R;
};
template <typename R>
struct ValueOf<task::Task<R>> {
    using Type = R;
};

template <typename R, typename T>
inline constexpr bool makes = std::is_same_v<R, T>;
template <typename T, typename E>
inline constexpr bool makes<std::expected<T, E>, T> = true;

template <typename T>
struct FromCheck {
    template <typename... P>
    struct With {
        static constexpr bool takes_itself = (std::is_same_v<std::remove_cvref_t<P>, T> || ...);
    };
};

// The first fault's sentence is the only error.
template <typename T>
consteval bool is_well_made() {
    static_assert(HasFrom<T>,
                  "FromRequest<T> needs one public static function `from`, whose parameters have"
                  " types: no `auto`");
    if constexpr (HasFrom<T>) {
        using Signature = FromSignature<T>;
        using Result = typename Signature::Result;
        constexpr bool returns = makes<typename ValueOf<Result>::Type, T>;
        static_assert(returns,
                      "FromRequest<T>::from returns a T, a std::expected<T, E> whose error is the"
                      " answer, or a Task of one");
        constexpr bool takes_itself =
            Signature::template Arguments<FromCheck<T>::template With>::takes_itself;
        static_assert(!takes_itself, "FromRequest<T>::from cannot take the T that it makes");
        if constexpr (returns && !takes_itself) {
            static_assert(Signature::is_known,
                          "FromRequest<T>::from cannot take a parameter of this type;"
                          " tiderace/http/app/arguments.h lists what it can take");
            constexpr bool owns = std::is_same_v<typename ValueOf<Result>::Type, T> ||
                                  !borrows<typename ValueOf<Result>::Type>;
            static_assert(owns,
                          "FromRequest<T>::from answers with a value: a std::string_view or a"
                          " std::span may refer to what is gone; return a std::string, or a copy");
            if constexpr (Signature::is_known && owns) return Signature::is_well_made;
        }
    }
    return false;
}

template <FromRequested T>
inline constexpr bool is_well_made_argument<T> = is_well_made<T>();
template <FromRequested T>
inline constexpr BodyUse body_use<T> = FromSignature<T>::body;
template <FromRequested T>
inline constexpr std::size_t body_arguments_of<T> = FromSignature<T>::body_arguments;
template <FromRequested T>
inline constexpr std::size_t path_parameters_of<T> = FromSignature<T>::path_parameters;
template <FromRequested T>
inline constexpr bool is_view_of_request<T> = FromSignature<T>::takes_views;
template <FromRequested T>
inline constexpr bool waits_for<T> =
    FromSignature<T>::waits || is_task<typename FromSignature<T>::Result>;

template <FromRequested T>
struct PagesInArgument<T> {
    static void list(std::vector<PageUse>& uses) {
        using Result = typename ValueOf<typename FromSignature<T>::Result>::Type;
        using Error = decltype(error_of(static_cast<Result*>(nullptr)));
        FromSignature<T>::template Arguments<PagesOf<Error>::template With>::list(uses);
    }

  private:
    static std::monostate error_of(void*);
    template <typename E>
    static E error_of(std::expected<T, E>*);
};

}  // namespace tiderace::http::app_parts
