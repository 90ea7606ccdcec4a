// Internal. The few functions of one line that a table (type_of.h) holds for each C++ type, and the
// concepts that say which type is what. Containers are known by what they can do, so that their
// headers need not be included here.
//
// Thread   Any; no state.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiderace/base/members.h"
#include "tiderace/json/fault.h"
#include "tiderace/json/type.h"

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
concept MapLike = requires(T map, std::string key) {
    typename T::key_compare;  // ordered: a peer that chooses keys could flood a hash table
    requires std::same_as<typename T::key_type, std::string>;
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

template <typename T>
void addresses_of(void* object, void** out) {
    tie_members<member_count<T>>(*static_cast<T*>(object), [out](auto&... member) mutable {
        ((*out++ = const_cast<void*>(static_cast<const void*>(std::addressof(member)))), ...);
    });
}

template <typename T>
void add_faults_of(const void* object, Faults& faults) {
    auto said = static_cast<const T*>(object)->validate();
    if constexpr (std::same_as<decltype(said), Faults>) {
        for (Fault& fault : said) faults.push_back(std::move(fault));
    } else if (said) {
        faults.push_back({.problem = std::string(*said)});
    }
}
template <typename T>
consteval auto validator_of() {
    using Validate = void (*)(const void*, Faults&);
    if constexpr (requires(const T value) { value.validate(); }) {
        return Validate(&add_faults_of<T>);
    } else {
        return Validate(nullptr);
    }
}

template <typename T>
consteval std::optional<Unknown> unknown_of() {
    // A constant; a member of that name and another type is JSON as any other.
    if constexpr (requires {
                      requires std::same_as<decltype(T::unknown_members), const Unknown>;
                  }) {
        return T::unknown_members;
    } else {
        return std::nullopt;
    }
}

template <typename T>
void clear_any(void* container) {
    if constexpr (requires(T value) { value.clear(); }) static_cast<T*>(container)->clear();
}
template <typename T>
void* add_to_list(void* list, std::size_t index) {
    if constexpr (ArrayLike<T>) {
        return static_cast<T*>(list)->data() + index;
    } else {
        return std::addressof(static_cast<T*>(list)->emplace_back());
    }
}
template <typename T>
void each_of_list(const void* list, void* context, void (*call)(void*, const void*)) {
    for (const auto& element : *static_cast<const T*>(list)) call(context, std::addressof(element));
}

template <typename T>
void* add_to_map(void* map, std::string_view key) {
    const auto [at, is_new] = static_cast<T*>(map)->try_emplace(std::string(key));
    return is_new ? std::addressof(at->second) : nullptr;
}
template <typename T>
void each_of_map(const void* map, void* context,
                 void (*call)(void*, std::string_view, const void*)) {
    for (const auto& [key, value] : *static_cast<const T*>(map)) {
        call(context, key, std::addressof(value));
    }
}

template <typename T>
const void* get_optional(const void* optional) {
    const T& value = *static_cast<const T*>(optional);
    return value ? std::addressof(*value) : nullptr;
}
template <typename T>
void clear_optional(void* optional) {
    static_cast<T*>(optional)->reset();
}
template <typename T>
void* make_optional_value(void* optional) {
    if constexpr (OwnerLike<T>) {
        static_cast<T*>(optional)->reset(new typename T::element_type());
        return static_cast<T*>(optional)->get();
    } else {
        return std::addressof(static_cast<T*>(optional)->emplace());
    }
}

template <typename T, std::size_t index>
void* make_alternative(void* variant) {
    return std::addressof(static_cast<T*>(variant)->template emplace<index>());
}
template <typename T, std::size_t index>
const void* get_alternative(const void* variant) {
    return get_if<index>(static_cast<const T*>(variant));
}
template <typename T>
std::size_t index_of_variant(const void* variant) {
    return static_cast<const T*>(variant)->index();
}

template <typename T>
bool holds_checked(const void* value) {
    return T::holds(*static_cast<const typename T::json_value*>(value));
}
template <typename T>
consteval auto check_of() {
    using Check = bool (*)(const void*);
    if constexpr (requires { &T::holds; })
        return Check(&holds_checked<T>);
    else
        return Check(nullptr);
}
template <typename T>
consteval auto expected_of() {
    using Expected = std::string (*)();
    if constexpr (requires { &T::expected; })
        return Expected(&T::expected);
    else
        return Expected(nullptr);
}

}  // namespace tiderace::json
