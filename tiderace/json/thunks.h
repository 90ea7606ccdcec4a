// Internal. The few functions of one line that a table (type_of.h) holds for each C++ type.
//
// Thread   Any; no state.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/members.h"
#include "tiderace/json/convert.h"
#include "tiderace/json/fault.h"
#include "tiderace/json/likes.h"
#include "tiderace/json/type.h"

namespace tiderace::json {

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
void* add_to_map(void* map, MapKey key) {
    using Key = typename T::key_type;
    const auto add = [&](Key made) {
        const auto [at, is_new] = static_cast<T*>(map)->try_emplace(std::move(made));
        return is_new ? std::addressof(at->second) : nullptr;
    };
    if constexpr (std::same_as<Key, std::string>) {
        return add(std::string(key.text));
    } else {
        return add(static_cast<Key>(key.number));
    }
}
template <typename T>
void each_of_map(const void* map, void* context, void (*call)(void*, MapKey, const void*)) {
    for (const auto& [key, value] : *static_cast<const T*>(map)) {
        if constexpr (std::same_as<typename T::key_type, std::string>) {
            call(context, {.text = key}, std::addressof(value));
        } else {
            call(context, {.text = {}, .number = static_cast<std::int64_t>(key)},
                 std::addressof(value));
        }
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

template <typename T>
ConvertShape::Outcome read_converted(void* value, void* context, bool (*fill)(void*, void*),
                                     std::string& reason) {
    JsonOf<T> json{};
    if (!fill(context, &json)) return ConvertShape::Outcome::not_read;
    auto made = Convert<T>::read(std::move(json));
    if (!made) {
        if constexpr (requires { made.error(); }) reason = std::move(made).error();
        return ConvertShape::Outcome::refused;
    }
    *static_cast<T*>(value) = std::move(*made);
    return ConvertShape::Outcome::done;
}
template <typename T>
void write_converted(const void* value, void* context, void (*call)(void*, const void*)) {
    const auto& json = Convert<T>::write(*static_cast<const T*>(value));
    call(context, std::addressof(json));
}

}  // namespace tiderace::json
