// type_of<T>: the Type of a C++ type, made by the compiler.
//
//   C++                                            in a template
//   bool; integers; float, double                  true; 12; 1.5
//   std::string, std::string_view, const char*     text
//   enum class E { red, green }                    text: red
//   std::chrono::sys_time of any duration          a time, for the filter `date`
//   vector, deque, list, set, array, span          a list, for {% for %}
//   map, unordered_map with text keys              a map: {{ map.key }}, {% for k, v in map %}
//   optional, unique_ptr, shared_ptr, T*           the value, or nothing
//   plain struct                                   an object with its members (base/members.h)
//   text::Value, text::Map, text::List             what is in it (text/value.h)
//   text::SafeHtml                                 HTML that is shown as it is by {{ x | safe }}
//
// Thread   Any; constants.
// Errors   A type that has no row above is a compile error with one readable sentence.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/enum_names.h"
#include "tiderace/base/members.h"
#include "tiderace/text/access.h"
#include "tiderace/text/type.h"

namespace tiderace::text {

template <typename T>
consteval Type describe();

template <typename T>
inline constexpr Type type_of = describe<T>();

template <typename T>
Ref ref_to(const T& value) {
    return {&type_of<T>, std::addressof(value)};
}

template <typename T>
consteval auto printed_type() {
    return std::string_view(__PRETTY_FUNCTION__);
}
// `Post` of `blog::Post`.
template <typename T>
consteval std::string_view type_name() {
    std::string_view text = printed_type<T>();
    text = text.substr(0, text.rfind(']'));
    return members::last_name(text.substr(0, text.ends_with('>') ? text.find('<') : text.size()));
}

namespace access {

template <typename T, typename... M, std::size_t... index>
consteval auto members(TypeList<M...>, std::index_sequence<index...>) {
    return std::array<Member, sizeof...(M)>{
        Member{member_names<T>[index], &type_of<M>, address<T, index>}...};
}
template <typename T>
inline constexpr auto member_table =
    members<T>(MemberTypes<T>(), std::make_index_sequence<member_count<T>>());

}  // namespace access

template <typename T>
consteval Type describe_container() {
    static_assert(
        std::is_lvalue_reference_v<decltype(*std::declval<const T&>().begin())>,
        "template: a list of values that it makes when asked (std::vector<bool>) cannot be "
        "referred to; use std::deque<bool>");
    if constexpr (MapLike<T>) {
        return {.kind = Kind::map,
                .element = &type_of<typename T::mapped_type>,
                .size = access::size<T>,
                .each = access::each<T>,
                .find = access::find<T>};
    } else {
        return {.kind = Kind::list,
                .element = &type_of<std::remove_cv_t<typename T::value_type>>,
                .size = access::size<T>,
                .each = access::each<T>};
    }
}

template <typename T>
consteval Type describe() {
    if constexpr (SelfDescribed<T>) {
        return T::template_type();
    } else if constexpr (TextLike<T>) {
        return {.kind = Kind::text, .text = access::text<T>};
    } else if constexpr (std::same_as<T, bool>) {
        return {.kind = Kind::boolean};
    } else if constexpr (std::is_arithmetic_v<T> && !CharacterLike<T>) {
        return {.kind = std::integral<T> ? Kind::integer : Kind::number,
                .bytes = sizeof(T),
                .is_signed = std::is_signed_v<T>};
    } else if constexpr (std::is_enum_v<T>) {
        static_assert(NamedEnum<T>, "template: give the enum a fixed underlying type (enum class)");
        return {.kind = Kind::text, .text = access::text<T>};
    } else if constexpr (TimeLike<T>) {
        return {.kind = Kind::time, .seconds = access::seconds<T>};
    } else if constexpr (MapLike<T> || ListLike<T>) {
        return describe_container<T>();
    } else if constexpr (PointerLike<T>) {
        return {.kind = Kind::optional,
                .element = &type_of<std::remove_cvref_t<decltype(*std::declval<const T&>())>>,
                .get = access::get<T>};
    } else {
        static_assert(
            PlainStruct<T>,
            "template: a value of this type cannot be shown; see tiderace/text/type_of.h");
        return {.kind = Kind::object,
                .bytes = sizeof(T),
                .name = type_name<T>(),
                .members = access::member_table<T>};
    }
}

}  // namespace tiderace::text
