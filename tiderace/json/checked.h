// Types that say in a struct's declaration what a value has to be; reading checks it.
//
//     struct Handle : json::Checked<std::string> {  // a check of your own
//         using Checked::Checked;
//         static bool holds(const std::string& value) { return !value.starts_with('-'); }
//         static std::string expected() { return "a text that does not begin with -"; }
//     };
//     struct NewUser {
//         json::Length<std::string, 1, 80> name;       // characters, or elements of a list
//         json::Range<int, 0, 150> age;                // both ends included
//         Handle handle;
//         json::Default<std::string> language = "en";  // may be missing: keeps this value
//     };
//
// Each behaves as the value inside: it converts to it, and has * and ->. Values that a program
// assigns are not checked; parsed values are.
//
// Thread   Any; values.
// Keywords: validation, 422
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/language.h"
#include "tiderace/base/utf8.h"

namespace tiderace::json {

template <typename T>
struct Checked {
    using json_value = T;
    static constexpr bool may_be_missing = false;

    T value{};

    constexpr Checked() = default;
    template <typename U>
        requires(std::constructible_from<T, U> &&
                 !std::derived_from<std::remove_cvref_t<U>, Checked>)
    constexpr Checked(U&& from) : value(std::forward<U>(from)) {}  // NOLINT: stands for the value

    constexpr operator const T&() const { return value; }  // NOLINT: stands for the value
    constexpr T& operator*() { return value; }
    constexpr const T& operator*() const { return value; }
    constexpr T* operator->() { return &value; }
    constexpr const T* operator->() const { return &value; }

    friend constexpr bool operator==(const Checked& a, const Checked& b) {
        return a.value == b.value;
    }
    template <typename U>
        requires(!std::derived_from<U, Checked>)
    friend constexpr bool operator==(const Checked& a, const U& b) {
        return a.value == b;
    }
};

std::string range_text(std::string_view what, std::string low, std::string high);
std::string length_text(bool is_text, std::size_t least, std::size_t most);
std::string number_text(double value);

template <typename T, T low, T high>
    requires std::is_arithmetic_v<T>
struct Range : Checked<T> {
    static_assert(low <= high, "json: Range<T, low, high> needs low <= high");
    using Checked<T>::Checked;
    static constexpr T minimum = low;
    static constexpr T maximum = high;

    static constexpr bool holds(const T& value) { return value >= low && value <= high; }
    static std::string expected() {
        if constexpr (std::integral<T>) {
            return range_text("an integer", std::to_string(low), std::to_string(high));
        } else {
            return range_text("a number", number_text(low), number_text(high));
        }
    }
};

template <typename T, std::size_t least, std::size_t most>
struct Length : Checked<T> {
    static_assert(least <= most, "json: Length<T, least, most> needs least <= most");
    static constexpr bool is_text = std::same_as<T, std::string>;
    using Checked<T>::Checked;
    static constexpr std::size_t length_min = least;
    static constexpr std::size_t length_max = most;

    static bool holds(const T& value) {
        std::size_t length = 0;
        if constexpr (is_text)
            length = count_characters(value);
        else
            length = value.size();
        return length >= least && length <= most;
    }
    static std::string expected() { return length_text(is_text, least, most); }
};

template <typename T>
struct Default : Checked<T> {
    static constexpr bool may_be_missing = true;
    using Checked<T>::Checked;
};

}  // namespace tiderace::json
