// Internal. Names of enumerators, as the compiler prints them: enum_names<Color>[0] is {"red", 0}.
//
// For enums with a fixed underlying type (every `enum class`), and values from 0 to
// `enum_value_max<E>`, which is 63 unless specialized for the enum. What is outside has no name.
//
// Thread   Any; everything here is a constant.
// Memory   The names, once for each enum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/language.h"

namespace tiderace {

template <typename E>
inline constexpr int enum_value_max = 63;

struct EnumName {
    std::string_view name;
    std::int64_t value = 0;
};

namespace enums {

template <typename E, E... values>
consteval auto printed() {
    return std::string_view(__PRETTY_FUNCTION__);
}

// The end of the first item of `a, (f(int, int)::E)1, b`.
constexpr std::size_t item_end(std::string_view text) {
    int depth = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '(' || text[at] == '{') ++depth;
        if (text[at] == ')' || text[at] == '}') --depth;
        if (text[at] == ',' && depth == 0) return at;
    }
    return text.size();
}

// Calls `call(value, name)` for what has a name in `… values = {Color::red, (Color)1, …}]`.
constexpr void each(std::string_view text, std::size_t values, auto&& call) {
    constexpr std::string_view mark = "values = ";
    text.remove_prefix(text.find(mark) + mark.size() + 1);
    text = text.substr(0, text.find_last_of("}>"));
    for (std::size_t value = 0; value < values; ++value) {
        const std::size_t end = item_end(text);
        const std::string_view item = text.substr(0, end);
        const std::size_t colon = item.rfind(':');
        const std::string_view name = colon == item.npos ? item : item.substr(colon + 1);
        if (!name.empty() && name.find(')') == name.npos) {
            call(static_cast<std::int64_t>(value), name);
        }
        text.remove_prefix(end + 2 < text.size() ? end + 2 : text.size());
    }
}

template <typename E>
struct Names {
    static constexpr std::size_t values = enum_value_max<E> + 1;

    template <std::size_t... value>
    static consteval auto all(std::index_sequence<value...>) {
        return printed<E, static_cast<E>(value)...>();
    }
    static constexpr std::string_view text = all(std::make_index_sequence<values>());

    static constexpr std::size_t count = [] {
        std::size_t found = 0;
        each(text, values, [&](std::int64_t, std::string_view) { ++found; });
        return found;
    }();
    static constexpr std::size_t bytes = [] {
        std::size_t found = 0;
        each(text, values, [&](std::int64_t, std::string_view name) { found += name.size(); });
        return found;
    }();
    struct Block {
        char text[bytes + 1] = {};
        std::size_t ends[count + 1] = {};
        std::int64_t values[count + 1] = {};
    };
    static constexpr Block stored = [] {
        Block made;
        std::size_t at = 0;
        std::size_t next = 0;
        each(text, values, [&](std::int64_t value, std::string_view name) {
            for (const char c : name) made.text[at++] = c;
            made.values[next] = value;
            made.ends[next++] = at;
        });
        return made;
    }();
    static consteval auto views() {
        std::array<EnumName, count> made;
        std::size_t from = 0;
        for (std::size_t i = 0; i < count; ++i) {
            made[i] = {std::string_view(stored.text + from, stored.ends[i] - from),
                       stored.values[i]};
            from = stored.ends[i];
        }
        return made;
    }
};

}  // namespace enums

// True when static_cast<E>(i) is defined for every i: the underlying type is fixed.
template <typename E>
concept NamedEnum = std::is_enum_v<E> && requires { E{0}; };

template <NamedEnum E>
inline constexpr auto enum_names = enums::Names<E>::views();

// "" for a value without a name.
template <NamedEnum E>
constexpr std::string_view enum_name(E value) {
    for (const EnumName& known : enum_names<E>) {
        if (known.value == static_cast<std::int64_t>(value)) return known.name;
    }
    return {};
}

}  // namespace tiderace
