// Convert: JSON for a type that json::read and json::write do not know, or know in another way.
//
//     template <>
//     struct tiderace::json::Convert<Money> {
//         static std::string write(const Money& money) { return money.text(); }
//         static std::optional<Money> read(const std::string& text) { return Money::parse(text); }
//         static std::string expected() { return "an amount such as \"12.50 EUR\""; }
//     };
//
// What write() returns is written in its place: any type that json::write takes, so also a struct,
// a list or a json::Value. read() gets the same type. It returns a std::optional<Money>, or a
// std::expected<Money, std::string> whose error names what is wrong. expected() may be left out.
//
// A Money is then a member, an element or a body as any other type is; queries, forms and OpenAPI
// see what write() returns. read() is called for each one that a peer sends: it bounds its work.
//
// Thread   The caller's of json::read or json::write; several at once.
// Errors   A Convert without one of its functions is a compile error with one readable sentence.
#pragma once

#include <type_traits>
#include <utility>

#include "tiderace/base/language.h"

namespace tiderace::json {

// Specialized by programs, before the type is read or written for the first time.
template <typename T>
struct Convert;

template <typename T>
concept HasConvert = requires { sizeof(Convert<T>); };

template <typename T>
using JsonOf = std::remove_cvref_t<decltype(Convert<T>::write(std::declval<const T&>()))>;

template <typename T>
concept ConvertsBothWays = requires(const T& value, JsonOf<T> json) {
    { static_cast<bool>(Convert<T>::read(std::move(json))) };
    T(*Convert<T>::read(std::move(json)));
};

}  // namespace tiderace::json
