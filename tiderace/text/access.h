// Internal. What a table (type_of.h) holds for each C++ type: the concepts that say which type is
// what, and functions of one line that look into a value. Containers are known by what they can do.
//
// Thread   Any; no state.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include "tiderace/base/enum_names.h"
#include "tiderace/base/members.h"
#include "tiderace/base/units.h"

namespace tiderace::text {

template <typename T>
concept CharacterLike =
    std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t> || std::same_as<T, long double>;
// Types that name their kind themselves: Value and SafeHtml.
template <typename T>
concept SelfDescribed = requires { T::template_type(); };
template <typename T>
concept TextLike = std::convertible_to<const T&, std::string_view> && !SelfDescribed<T>;
template <typename T>
concept TimeLike = requires(T time) {
    typename T::clock;
    time.time_since_epoch().count();
};
template <typename T>
concept MapLike = requires(const T map) {
    typename T::mapped_type;
    requires TextLike<typename T::key_type>;
    map.find(typename T::key_type());
};
template <typename T>
concept ListLike = requires(const T list) {
    typename T::value_type;
    list.begin() != list.end();
    list.size();
} && !MapLike<T> && !TextLike<T>;
template <typename T>
concept PointerLike = requires(const T pointer) {
    *pointer;
    static_cast<bool>(pointer);
} && !TextLike<T>;

namespace access {

template <typename T, std::size_t index>
const void* address(const void* object) {
    return tie_members<member_count<T>>(*static_cast<const T*>(object), [](auto&... member) {
        const void* const all[] = {std::addressof(member)...};
        return all[index];
    });
}
template <typename T>
std::string_view text(const void* value) {
    if constexpr (std::is_enum_v<T>) {
        return enum_name(*static_cast<const T*>(value));
    } else if constexpr (std::is_pointer_v<T>) {
        const T pointer = *static_cast<const T*>(value);
        return pointer ? std::string_view(pointer) : std::string_view();
    } else {
        return *static_cast<const T*>(value);
    }
}
template <typename T>
std::int64_t seconds(const void* time) {
    const auto since = static_cast<const T*>(time)->time_since_epoch();
    return std::chrono::floor<std::chrono::seconds>(since).count();
}
template <typename T>
std::size_t size(const void* container) {
    return static_cast<const T*>(container)->size();
}
using Call = bool (*)(void* context, std::string_view key, const void* element);
template <typename T>
void each(const void* container, void* context, Call call) {
    for (const auto& element : *static_cast<const T*>(container)) {
        if constexpr (MapLike<T>) {
            if (!call(context, element.first, std::addressof(element.second))) return;
        } else {
            if (!call(context, {}, std::addressof(element))) return;
        }
    }
}
template <typename T>
const void* find(const void* map, std::string_view key) {
    const T& values = *static_cast<const T*>(map);
    const auto found = [&] {
        if constexpr (requires { values.find(key); }) {
            return values.find(key);
        } else {
            return values.find(typename T::key_type(key));
        }
    }();
    return found == values.end() ? nullptr : std::addressof(found->second);
}
template <typename T>
const void* get(const void* pointer) {
    const T& value = *static_cast<const T*>(pointer);
    return value ? std::addressof(*value) : nullptr;
}

}  // namespace access
}  // namespace tiderace::text
