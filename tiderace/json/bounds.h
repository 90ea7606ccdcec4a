// Internal. CheckedBounds: what a checked type (checked.h) allows, as numbers for documents.
//
// Thread   Any; values.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "tiderace/base/language.h"

namespace tiderace::json {

struct CheckedBounds {
    enum class Kind : std::uint8_t { none, integers, naturals, numbers, length };

    Kind kind = Kind::none;
    std::int64_t low = 0;  // integers
    std::int64_t high = 0;
    std::uint64_t least = 0;  // naturals (unsigned ones), length
    std::uint64_t most = 0;
    double minimum = 0;  // numbers
    double maximum = 0;
};

// A program's own checked type has no bounds, only a text (CheckedShape::expected).
template <typename T>
consteval CheckedBounds bounds_of() {
    CheckedBounds bounds;
    if constexpr (requires {
                      T::minimum;
                      T::maximum;
                  }) {
        using Value = std::remove_const_t<decltype(T::minimum)>;
        if constexpr (std::floating_point<Value>) {
            bounds = {
                .kind = CheckedBounds::Kind::numbers, .minimum = T::minimum, .maximum = T::maximum};
        } else if constexpr (std::signed_integral<Value>) {
            bounds = {.kind = CheckedBounds::Kind::integers, .low = T::minimum, .high = T::maximum};
        } else {
            bounds = {
                .kind = CheckedBounds::Kind::naturals, .least = T::minimum, .most = T::maximum};
        }
    } else if constexpr (requires {
                             T::length_min;
                             T::length_max;
                         }) {
        bounds = {
            .kind = CheckedBounds::Kind::length, .least = T::length_min, .most = T::length_max};
    }
    return bounds;
}

}  // namespace tiderace::json
