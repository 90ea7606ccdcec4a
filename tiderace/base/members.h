// Internal. Members of plain structs: their number, their names, and references to them.
//
//     struct Point { int x; int y; };
//     member_count<Point>          2
//     member_names<Point>[1]       "y"
//     MemberTypes<Point>           TypeList<int, int>
//     for_each_member(point, [](std::string_view name, auto& member) { … });
//
// A plain struct is an aggregate without base classes and without C arrays (std::array is fine), of
// at most `members_max` members that are default-constructible. JSON, forms, query strings, rows
// of a database and OpenAPI all read this one table.
//
// How: the compiler prints a template argument, so that a pointer to a member of an object that is
// never defined spells the member's name. g++ 12 and clang 19 both do; members_test.cc shows it.
//
// Thread   Any; everything here is a constant.
// Errors   A type that is no plain struct is a compile error with one readable sentence.
// Memory   The names, once for each struct.
// Keywords: reflection
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/member_ties.h"

namespace tiderace {

namespace members {

// Converts to base classes of T alone.
template <typename T>
struct AnyBase {
    template <typename B>
        requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
    operator B() const {  // NOLINT: converting is its purpose
        __builtin_unreachable();
    }
};

}  // namespace members

template <typename T>
concept HasBaseClass = std::is_aggregate_v<T> && requires { T{members::AnyBase<T>{}}; };

template <typename T>
concept PlainStruct = std::is_class_v<T> && std::is_aggregate_v<T> &&
                      !requires { typename T::value_type; } && !HasBaseClass<T>;

template <typename...>
struct TypeList {};

namespace members {

// Objects of these are named in constant expressions only and never defined, which clang reports.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

struct Anything {
    template <typename T>
    operator T() const {  // NOLINT: converting is its purpose
        __builtin_unreachable();
    }
};

template <typename T, typename... Filled>
consteval std::size_t count() {
    if constexpr (sizeof...(Filled) > members_max) {
        return sizeof...(Filled);
    } else if constexpr (requires { T{Filled{}..., Anything{}}; }) {
        return count<T, Filled..., Anything>();
    } else {
        return sizeof...(Filled);
    }
}

template <typename T>
struct Holder {
    T value;
};
template <typename T>
extern const Holder<T> nowhere;

// A function and not a constant: that would be emitted, and then `nowhere` is missed.
template <typename T, std::size_t size>
consteval auto addresses() {
    return tie_members<size>(nowhere<T>.value, [](const auto&... member) {
        return std::array<const volatile void*, sizeof...(member)>{&member...};
    });
}

template <const volatile void* address>
consteval auto printed() {
    return std::string_view(__PRETTY_FUNCTION__);
}

template <typename T, std::size_t size, std::size_t index>
inline constexpr std::string_view printed_name = printed<addresses<T, size>()[index]>();

template <typename T, std::size_t size>
consteval auto types() {
    return tie_members<size>(nowhere<T>.value,
                             []<typename... M>(const M&...) { return TypeList<M...>(); });
}

#ifdef __clang__
#pragma clang diagnostic pop
#endif

// The last identifier of what the compiler printed: `… = (& nowhere<T>.Holder<T>::value.T::x)]`.
constexpr std::string_view last_name(std::string_view text) {
    while (!text.empty() && !is_identifier_character(text.back())) text.remove_suffix(1);
    std::size_t first = text.size();
    while (first > 0 && is_identifier_character(text[first - 1])) --first;
    return text.substr(first);
}

// Only the names go into the program, not all that the compiler printed around them.
template <std::size_t bytes, std::size_t size>
struct NameBlock {
    char text[bytes + 1] = {};
    std::size_t ends[size + 1] = {};
};
// `block` has static storage.
template <std::size_t bytes, std::size_t size>
consteval auto views_of(const NameBlock<bytes, size>& block) {
    std::array<std::string_view, size> made;
    std::size_t from = 0;
    for (std::size_t i = 0; i < size; ++i) {
        made[i] = std::string_view(block.text + from, block.ends[i] - from);
        from = block.ends[i];
    }
    return made;
}

template <typename T, std::size_t size>
struct Names {
    template <std::size_t... index>
    static consteval auto block(std::index_sequence<index...>) {
        constexpr std::size_t bytes = (last_name(printed_name<T, size, index>).size() + ... + 0);
        NameBlock<bytes, size> made;
        std::size_t at = 0;
        std::size_t next = 0;
        [[maybe_unused]] const auto add = [&](std::string_view name) {
            for (const char c : name) made.text[at++] = c;
            made.ends[next++] = at;
        };
        (add(last_name(printed_name<T, size, index>)), ...);
        return made;
    }
    static constexpr auto stored = block(std::make_index_sequence<size>());
};

}  // namespace members

template <PlainStruct T>
inline constexpr std::size_t member_count = [] {
    constexpr std::size_t size = members::count<T>();
    static_assert(size <= members_max, "a plain struct may have 64 members; nest some of them");
    return size;
}();

template <PlainStruct T>
inline constexpr auto member_names = members::views_of(members::Names<T, member_count<T>>::stored);

// A TypeList of the members' types.
template <PlainStruct T>
using MemberTypes = decltype(members::types<T, member_count<T>>());

// Calls `call(name, member)` for each member in order; `value` may be const.
template <typename T>
    requires PlainStruct<std::remove_const_t<T>>
constexpr void for_each_member(T& value, auto&& call) {
    using Plain = std::remove_const_t<T>;
    tie_members<member_count<Plain>>(value, [&](auto&... member) {
        std::size_t next = 0;
        (call(member_names<Plain>[next++], member), ...);
    });
}

}  // namespace tiderace
