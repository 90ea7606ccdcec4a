// Internal. json_names<T>: what the members of a struct are called in JSON; type_name<T>: the type.
//
//     struct Event {
//         std::string event_type;
//         int retry_count;
//
//         static constexpr json::Case json_case = json::Case::camel;         // "retryCount"
//         static constexpr json::Name json_names[] = {{"event_type", "@type"}};  // comes first
//     };
//
// Without these lines they are the names of C++.
//
// Thread   Any; constants.
// Errors   A name that cannot be is a compile error with one readable sentence.
// Memory   The names, once for each struct.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/members.h"

namespace tiderace::json {

// One member's name in JSON.
struct Name {
    std::string_view member;
    std::string_view json;
};
// How the names of all members are written; `retry_count` becomes itself, `retryCount`,
// `RetryCount` or `retry-count`.
enum class Case : std::uint8_t { as_written, camel, pascal, kebab };

namespace names {

template <typename T>
concept HasTable = requires {
    requires std::same_as<std::remove_cvref_t<decltype(*std::begin(T::json_names))>, Name>;
};
template <typename T>
concept HasCase = requires { requires std::same_as<decltype(T::json_case), const Case>; };

// Calls `put` with each character of `member` as `style` writes it.
constexpr void each_character(std::string_view member, Case style, auto&& put) {
    bool upper = style == Case::pascal;
    for (const char c : member) {
        const bool is_join = c == '_' && style != Case::as_written;
        if (is_join) {
            if (style == Case::kebab) put('-');
            upper = style != Case::kebab;
            continue;
        }
        put(upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
        upper = false;
    }
}

template <typename T>
constexpr void each_character_of(std::string_view member, auto&& put) {
    if constexpr (HasTable<T>) {
        for (const Name& name : T::json_names) {
            if (name.member != member) continue;
            for (const char c : name.json) put(c);
            return;
        }
    }
    if constexpr (HasCase<T>) {
        each_character(member, T::json_case, put);
    } else {
        each_character(member, Case::as_written, put);
    }
}

template <typename T>
struct Made {
    static constexpr std::size_t size = member_count<T>;
    static constexpr std::size_t bytes = [] {
        std::size_t found = 0;
        for (const std::string_view member : member_names<T>) {
            each_character_of<T>(member, [&](char) { ++found; });
        }
        return found;
    }();
    static constexpr auto stored = [] {
        members::NameBlock<bytes, size> made;
        std::size_t at = 0;
        std::size_t next = 0;
        for (const std::string_view member : member_names<T>) {
            each_character_of<T>(member, [&](char c) { made.text[at++] = c; });
            made.ends[next++] = at;
        }
        return made;
    }();
    static constexpr auto views = members::views_of(stored);

    static constexpr bool all_are_members = [] {
        if constexpr (HasTable<T>) {
            for (const Name& name : T::json_names) {
                bool found = false;
                for (const std::string_view member : member_names<T>) {
                    found = found || member == name.member;
                }
                if (!found) return false;
            }
        }
        return true;
    }();
    static constexpr bool are_different = [] {
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (views[i] == views[j]) return false;
            }
        }
        return true;
    }();
    static constexpr bool need_no_escape = [] {
        for (const char c : std::string_view(stored.text, bytes)) {
            if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') return false;
        }
        return true;
    }();
};

template <typename T>
consteval auto of() {
    if constexpr (HasTable<T> || HasCase<T>) {
        static_assert(Made<T>::all_are_members,
                      "json: json_names gives a name to a member that the struct does not have");
        static_assert(Made<T>::are_different, "json: two members have the same name in JSON");
        static_assert(Made<T>::need_no_escape,
                      "json: a member's name in JSON has no quote, backslash or control character");
        return Made<T>::views;
    } else {
        return member_names<T>;
    }
}

}  // namespace names

template <PlainStruct T>
inline constexpr auto json_names = names::of<T>();

template <typename T>
consteval auto printed_type() {
    return std::string_view(__PRETTY_FUNCTION__);
}

// `Circle` of `geometry::Circle`, `Box` of `Box<int>`.
template <typename T>
consteval std::string_view type_name() {
    std::string_view text = printed_type<T>();
    text = text.substr(0, text.rfind(']'));
    if (text.ends_with('>')) text = text.substr(text.find("T = ") + 4);
    return members::last_name(text.substr(0, text.ends_with('>') ? text.find('<') : text.size()));
}

}  // namespace tiderace::json
