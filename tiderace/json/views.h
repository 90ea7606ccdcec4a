// holds_view<T>(): whether a T contains a std::string_view at any depth. json::read refuses such a
// type while compiling, because the view would outlive the text.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "tiderace/base/members.h"
#include "tiderace/json/thunks.h"

namespace tiderace::json {

template <typename T, typename... Above>
consteval bool holds_view();

template <typename T>
struct ViewInVariant {
    template <typename... Above>
    static consteval bool found() {
        return false;
    }
};
template <template <typename...> typename V, typename... A>
struct ViewInVariant<V<A...>> {
    template <typename... Above>
    static consteval bool found() {
        return (holds_view<A, Above...>() || ...);
    }
};

template <typename... Above, typename... M>
consteval bool view_among(TypeList<M...>) {
    return (holds_view<M, Above...>() || ... || false);
}

// `Above` are the types around T; one that holds itself is not entered again.
template <typename T, typename... Above>
consteval bool holds_view() {
    if constexpr (std::same_as<T, std::string_view>) {
        return true;
    } else if constexpr (HasConvert<T>) {
        if constexpr (ConvertsBothWays<T>) return holds_view<JsonOf<T>, T, Above...>();
        return false;
    } else if constexpr (!std::is_class_v<T> || (std::same_as<T, Above> || ...)) {
        return false;
    } else if constexpr (CheckedLike<T>) {
        return holds_view<typename T::json_value, T, Above...>();
    } else if constexpr (MapLike<T>) {
        return holds_view<typename T::mapped_type, T, Above...>();
    } else if constexpr (OwnerLike<T>) {
        return holds_view<typename T::element_type, T, Above...>();
    } else if constexpr (ArrayLike<T> || ListLike<T> || OptionalLike<T>) {
        return holds_view<typename T::value_type, T, Above...>();
    } else if constexpr (VariantLike<T>) {
        return ViewInVariant<T>::template found<T, Above...>();
    } else if constexpr (PlainStruct<T>) {
        return view_among<T, Above...>(MemberTypes<T>());
    } else {
        return false;
    }
}

}  // namespace tiderace::json
