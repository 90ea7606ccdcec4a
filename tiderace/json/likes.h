// Internal. Concepts that say which type is what for JSON. Containers are known by what they can
// do, so that their headers need not be included here.
//
// Thread   Any; constants.
#pragma once

#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>

#include "tiderace/base/enum_names.h"

namespace tiderace::json {

template <typename T>
concept CharacterLike =
    std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t> || std::same_as<T, long double>;
template <typename T>
concept CheckedLike = requires { typename T::json_value; };
template <typename T>
concept TimeLike = requires(T time) {
    typename T::clock;
    time.time_since_epoch().count();
};
template <typename T>
concept MapKeyLike = std::same_as<T, std::string> || NamedEnum<T> ||
                     (std::integral<T> && !std::same_as<T, bool> && !CharacterLike<T>);
template <typename T>
concept MapLike = requires(T map, typename T::key_type key) {
    typename T::key_compare;  // ordered: a peer that chooses keys could flood a hash table
    requires MapKeyLike<typename T::key_type>;
    map.try_emplace(key);
};
template <typename T>
concept ArrayLike = requires(T array) {
    typename T::value_type;
    std::tuple_size<T>::value;
    array.data();
};
template <typename T>
concept ListLike = requires(T list) {
    typename T::value_type;
    list.emplace_back();
    list.clear();
    list.begin() == list.end();
};
template <typename T>
concept OptionalLike = requires(T optional) {
    typename T::value_type;
    optional.has_value();
    optional.emplace();
    optional.reset();
};
template <typename T>
concept OwnerLike = requires(T owner) {
    typename T::element_type;
    owner.release();
    owner.get();
};
template <typename T>
concept VariantLike = requires(const T variant) {
    variant.valueless_by_exception();
    variant.index();
};

}  // namespace tiderace::json
