// Query<T>, Form<T>: the query, or an urlencoded body, as a plain struct.
//
//   struct Search { std::string q; json::Default<json::Range<int, 1, 100>> page = 1;
//                   std::vector<std::string> tag; };
//   app.get<"/search">([](Query<Search> search) { return find(search->q, *search->page); });
//
// A member is a text, number, bool, enum or time, an optional of one, a type of
// tiderace/json/checked.h, or a list of these for a name that may come again. `validate()` is
// called as json::read calls it. Optionals, Default, lists (empty) and bools (false, as a box that
// is not ticked) may be missing. An optional or Default whose type holds no empty text takes an
// empty value for a missing one, because browsers send fields that were left empty. Names that the
// struct does not have are ignored.
//
// Thread   The loop's.
// Errors   Answered before the handler is called, as a Problem that names each member: 400 for a
//          query, 422 for a form; 415 for a body that is no such form; 400 for too many pairs.
// Limits   pairs_max pairs; AppOptions::body_bytes_max.
// Keywords: form, query string, urlencoded
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "tiderace/http/app/arguments.h"
#include "tiderace/json/views.h"

namespace tiderace::http {

template <typename T>
class Query {
  public:
    Query() = default;
    Query(T value) : value_(std::move(value)) {}  // NOLINT: stands for the value

    T& operator*() & { return value_; }
    const T& operator*() const& { return value_; }
    T&& operator*() && { return std::move(value_); }
    T* operator->() { return &value_; }
    const T* operator->() const { return &value_; }

  private:
    T value_{};
};

template <typename T>
class Form : public Query<T> {
  public:
    using Query<T>::Query;
};

namespace app_parts {

inline constexpr std::size_t pairs_max = 1'000;

// Reads pairs into a fresh `value`, whose type is an object of scalars and lists of scalars.
json::Faults read_pairs(ByteView pairs, void* value, const json::Type& type);

template <typename T>
consteval bool is_pair_value() {
    if constexpr (json::HasConvert<T>) {
        return is_pair_value<json::JsonOf<T>>();
    } else if constexpr (json::CheckedLike<T>) {
        return is_pair_value<typename T::json_value>();
    } else if constexpr (std::is_same_v<T, std::string> || json::TimeLike<T>) {
        return true;
    } else if constexpr (json::ListLike<T> || json::OptionalLike<T>) {
        return is_pair_value<typename T::value_type>();
    } else {
        return std::is_arithmetic_v<T> || std::is_enum_v<T>;
    }
}
template <typename... M>
consteval bool are_pair_values(TypeList<M...>) {
    return (is_pair_value<M>() && ...);
}

template <typename T>
consteval void check_pairs() {
    static_assert(PlainStruct<T>, "Query<T> and Form<T> need a plain struct");
    if constexpr (PlainStruct<T>) {
        static_assert(are_pair_values(MemberTypes<T>()),
                      "a query or form has texts, numbers, bools, enums, times, and lists of these:"
                      " no structs or maps, and std::string instead of std::string_view");
    }
}

template <typename T>
inline constexpr BodyUse body_use<Form<T>> = BodyUse::whole;

template <typename T>
struct Argument<Query<T>> {
    static std::optional<Query<T>> find(Call& call) {
        check_pairs<T>();
        std::optional<Query<T>> made(std::in_place);
        if (!call.read_query(&**made, json::type_of<T>)) made.reset();
        return made;
    }
    static Query<T> pass(std::optional<Query<T>>& found) { return std::move(*found); }
};
template <typename T>
struct Argument<Form<T>> {
    static std::optional<Form<T>> find(Call& call) {
        check_pairs<T>();
        std::optional<Form<T>> made(std::in_place);
        if (!call.read_form(&**made, json::type_of<T>)) made.reset();
        return made;
    }
    static Form<T> pass(std::optional<Form<T>>& found) { return std::move(*found); }
};

}  // namespace app_parts
}  // namespace tiderace::http
