// type_of<T>: the Type of a C++ type, made by the compiler.
//
//   C++                                          JSON
//   bool; integers; float, double                true; 12; 1.5 (integers are checked for range)
//   std::string; std::string_view                "text" (a view is written, never read)
//   enum class E { red, green }                  "red", or 0 with enum_as_number<E>
//   std::chrono::sys_time of s, ms, us, ns       "2026-11-22T10:30:00.250Z" (RFC 3339)
//   std::vector, deque, list; std::array         [1, 2, 3]
//   std::map<K, T>                               {"any": 1, "key": 2}; K is std::string, an integer
//                                                ({"7": 1}) or an enum ({"red": 1})
//   std::optional, std::unique_ptr               the value, or null; a member may be missing
//   std::variant                                 the value, if no two alternatives share a form
//                                                (bool, number, string, array, object); else
//                                                {"Circle": {…}}, with the type's name
//   plain struct                                 an object with its members (base/members.h),
//                                                renamed by json_case, json_names (json/names.h)
//   Range, Length, Default                       the value inside (json/checked.h)
//   json::Value                                  any value (json/value.h)
//   a type of yours with a json::Convert         what that makes of it (json/convert.h)
//
// Thread   Any; constants.
// Errors   A type that has no row above is a compile error with one readable sentence.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/members.h"
#include "tiderace/json/convert.h"
#include "tiderace/json/names.h"
#include "tiderace/json/thunks.h"
#include "tiderace/json/type.h"

namespace tiderace::json {

// Specialize as true for an enum that is a number in JSON.
template <typename E>
inline constexpr bool enum_as_number = false;

template <typename T>
consteval Type describe();

template <typename T>
inline constexpr Type type_of = describe<T>();

template <typename T, typename... M, std::size_t... index>
consteval auto describe_members(TypeList<M...>, std::index_sequence<index...>) {
    return std::array<Member, sizeof...(M)>{Member{json_names<T>[index], &type_of<M>}...};
}
template <typename T>
inline constexpr auto member_table =
    describe_members<T>(MemberTypes<T>(), std::make_index_sequence<member_count<T>>());

template <typename T>
inline constexpr ObjectShape object_shape = {type_name<T>(), member_table<T>, addresses_of<T>,
                                             validator_of<T>(), unknown_of<T>()};
template <typename T, typename Element, std::size_t fixed>
inline constexpr ListShape list_shape = {&type_of<Element>, fixed, clear_any<T>, add_to_list<T>,
                                         each_of_list<T>};
template <typename T>
inline constexpr MapShape map_shape = {&type_of<typename T::key_type>,
                                       &type_of<typename T::mapped_type>, clear_any<T>,
                                       add_to_map<T>, each_of_map<T>};
template <typename T, typename Value>
inline constexpr OptionalShape optional_shape = {&type_of<Value>, get_optional<T>,
                                                 clear_optional<T>, make_optional_value<T>};
template <typename E>
inline constexpr EnumShape enum_shape = {type_name<E>(), enum_names<E>};
template <std::int64_t per_second>
inline constexpr TimeShape time_shape = {per_second};
template <typename T>
inline constexpr CheckedShape checked_shape = {&type_of<typename T::json_value>, T::may_be_missing,
                                               check_of<T>(), expected_of<T>(), bounds_of<T>()};
template <typename T>
inline constexpr ConvertShape convert_shape = {type_name<T>(), &type_of<JsonOf<T>>,
                                               expected_of<Convert<T>>(), read_converted<T>,
                                               write_converted<T>};

template <typename T>
struct VariantOf {
    static constexpr bool is_variant = false;
};
template <template <typename...> typename V, typename... A>
    requires VariantLike<V<A...>>
struct VariantOf<V<A...>> {
    static constexpr bool is_variant = true;
    static constexpr bool holds_any = (std::same_as<A, Value> || ...);
    template <std::size_t... index>
    static consteval auto table(std::index_sequence<index...>) {
        return std::array<Alternative, sizeof...(A)>{Alternative{
            &type_of<A>, make_alternative<V<A...>, index>, get_alternative<V<A...>, index>}...};
    }
    static constexpr auto alternatives = table(std::index_sequence_for<A...>());
    static constexpr VariantShape shape = {alternatives, index_of_variant<V<A...>>};
};

template <typename T>
consteval Type describe_leaf() {
    if constexpr (std::same_as<T, bool>) {
        return {.kind = Kind::boolean, .none = nullptr};
    } else if constexpr (std::integral<T>) {
        return {.kind = Kind::integer,
                .bytes = sizeof(T),
                .is_signed = std::is_signed_v<T>,
                .none = nullptr};
    } else if constexpr (std::floating_point<T>) {
        return {.kind = Kind::number, .bytes = sizeof(T), .is_signed = true, .none = nullptr};
    } else if constexpr (enum_as_number<T>) {
        return describe_leaf<std::underlying_type_t<T>>();
    } else {
        static_assert(NamedEnum<T>, "json: give the enum a fixed underlying type (enum class)");
        static_assert(enum_names<T>.size() > 0, "json: no enumerator from 0 to enum_value_max<E>");
        return {.kind = Kind::enumeration,
                .bytes = sizeof(T),
                .is_signed = true,
                .enumeration = &enum_shape<T>};
    }
}

template <typename T>
consteval Type describe_time() {
    using Period = typename T::duration::period;
    static_assert(Period::num == 1 && sizeof(typename T::rep) == 8,
                  "json: write time points in seconds, milliseconds, microseconds or nanoseconds");
    return {.kind = Kind::time, .time = &time_shape<Period::den>};
}

template <typename T>
consteval Type describe_template() {
    if constexpr (CheckedLike<T>) {
        return {.kind = Kind::checked, .checked = &checked_shape<T>};
    } else if constexpr (TimeLike<T>) {
        return describe_time<T>();
    } else if constexpr (MapLike<T>) {
        return {.kind = Kind::map, .map = &map_shape<T>};
    } else if constexpr (ArrayLike<T>) {
        return {.kind = Kind::list,
                .list = &list_shape<T, typename T::value_type, std::tuple_size<T>::value>};
    } else if constexpr (ListLike<T>) {
        static_assert(std::is_lvalue_reference_v<decltype(*std::declval<T&>().begin())>,
                      "json: std::vector<bool> has no bool to refer to; use std::deque<bool>");
        return {.kind = Kind::list, .list = &list_shape<T, typename T::value_type, 0>};
    } else if constexpr (OptionalLike<T>) {
        return {.kind = Kind::optional, .optional = &optional_shape<T, typename T::value_type>};
    } else if constexpr (OwnerLike<T>) {
        return {.kind = Kind::optional, .optional = &optional_shape<T, typename T::element_type>};
    } else {
        static_assert(!VariantOf<T>::holds_any,
                      "json: a json::Value holds anything; put it in the place of the variant");
        return {.kind = Kind::variant, .variant = &VariantOf<T>::shape};
    }
}

template <typename T>
consteval Type describe_converted() {
    constexpr bool both = ConvertsBothWays<T>;
    static_assert(both,
                  "json: Convert<T> needs `static J write(const T&)` and "
                  "`static std::optional<T> read(const J&)`");
    if constexpr (both) {
        static_assert(!std::same_as<JsonOf<T>, T>, "json: Convert<T> writes a T as a T again");
        return {.kind = Kind::convert, .convert = &convert_shape<T>};
    }
    return {.kind = Kind::convert, .convert = nullptr};
}

template <typename T>
consteval Type describe() {
    if constexpr (HasConvert<T>) {
        return describe_converted<T>();
    } else if constexpr (std::same_as<T, Value>) {
        return {.kind = Kind::any, .none = nullptr};
    } else if constexpr (std::same_as<T, std::string>) {
        return {.kind = Kind::text, .none = nullptr};
    } else if constexpr (std::same_as<T, std::string_view>) {
        return {.kind = Kind::text_view, .none = nullptr};
    } else if constexpr ((std::is_arithmetic_v<T> && !CharacterLike<T>) || std::is_enum_v<T>) {
        return describe_leaf<T>();
    } else if constexpr (CheckedLike<T> || TimeLike<T> || MapLike<T> || ArrayLike<T> ||
                         ListLike<T> || OptionalLike<T> || OwnerLike<T> ||
                         VariantOf<T>::is_variant) {
        return describe_template<T>();
    } else {
        static_assert(!HasBaseClass<T>,
                      "json: a struct with a base class has no JSON form; make the base a member");
        static_assert(PlainStruct<T> || HasBaseClass<T>,
                      "json: this type has no JSON form; see tiderace/json/type_of.h");
        // The assertion is the only error: a type that is not a struct is not examined further.
        if constexpr (PlainStruct<T>) return {.kind = Kind::object, .object = &object_shape<T>};
        return {.kind = Kind::object, .object = nullptr};
    }
}

}  // namespace tiderace::json
