// Internal. Field: one typed key and value of a record, made by field("peer", address).
//
// Owner    Owns nothing: key and text are views that live as long as the logging call.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "tiderace/base/bytes.h"

namespace tiderace::log {

struct Field {
    std::string_view key;
    std::variant<ByteView, std::int64_t, std::uint64_t, double, bool> value;
};

template <typename T>
concept FieldValue = std::is_arithmetic_v<T> || std::convertible_to<const T&, ByteView>;

template <FieldValue T>
Field field(std::string_view key, const T& value) {
    if constexpr (std::same_as<T, bool>) {
        return {key, value};
    } else if constexpr (std::floating_point<T>) {
        return {key, static_cast<double>(value)};
    } else if constexpr (std::signed_integral<T>) {
        return {key, static_cast<std::int64_t>(value)};
    } else if constexpr (std::unsigned_integral<T>) {
        return {key, static_cast<std::uint64_t>(value)};
    } else {
        return {key, ByteView(value)};
    }
}

}  // namespace tiderace::log
