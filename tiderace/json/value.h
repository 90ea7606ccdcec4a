// Value: any JSON value, for texts whose shape a program does not know.
//
//     const auto event = json::read<json::Value>(text);
//     if (!event) return event.error().message();
//     const json::Value& action = (*event)["repository"]["stars"];   // null where there is none
//     const std::int64_t stars = action.as<std::int64_t>().value_or(0);
//
//     json::Object answer{{"ok", true}, {"tags", json::Array{"a", "b"}}};
//     answer["stars"] = stars;
//     return json::write(answer);           // {"ok":true,"stars":3,"tags":["a","b"]}
//
// It may be a member of a struct, whose other members are known. json::read<T>(value) reads a T
// from it, once the program has seen which T it is.
//
// Integers from -2^63 to 2^64-1 stay exact; other numbers are doubles (RFC 8259, 6). Members of an
// object are sorted by name.
//
// Thread   As other values: one at a time, or several that only read.
// Errors   Reading never fails: an absent value, or one of another kind, is null or nothing. A text
//          with the same name twice in an object is refused by json::read.
// Limits   json::Options: each element and each member counts as one of elements_max.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/base/language.h"

namespace tiderace::json {

class Value;
using Array = std::vector<Value>;
using Object = std::map<std::string, Value, std::less<>>;

template <typename T>
concept ValueInteger = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                       !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                       !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;
template <typename T>
concept ValueNumber = std::same_as<T, double> || std::same_as<T, float>;

class Value {
  public:
    Value() = default;  // null
    Value(std::nullptr_t) {}
    template <typename T>
        requires std::same_as<T, bool>  // a pointer is no bool
    Value(T value) : data_(value) {}
    template <ValueInteger T>
    Value(T value) {
        // One form for each number, so that equal ones compare equal.
        if (std::in_range<std::int64_t>(value))
            data_ = static_cast<std::int64_t>(value);
        else
            data_ = static_cast<std::uint64_t>(value);
    }
    template <ValueNumber T>
    Value(T value) : data_(double{value}) {}
    Value(const char* text) : data_(std::string(text)) {}
    Value(std::string_view text) : data_(std::string(text)) {}
    Value(std::string text) : data_(std::move(text)) {}
    Value(Array array) : data_(std::move(array)) {}
    Value(Object object) : data_(std::move(object)) {}

    bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
    // The value as a bool, an integer, a float, a double or a std::string; nothing: it is another
    // kind of value, or a number that T cannot hold. A double takes each number, rounded.
    template <typename T>
    std::optional<T> as() const;
    // nullptr: it is another kind of value.
    const std::string* string() const { return std::get_if<std::string>(&data_); }
    const Array* array() const { return std::get_if<Array>(&data_); }
    Array* array() { return std::get_if<Array>(&data_); }
    const Object* object() const { return std::get_if<Object>(&data_); }
    Object* object() { return std::get_if<Object>(&data_); }

    // A member, an element; null where there is none, or where it is no object or array.
    const Value& operator[](std::string_view member) const;
    const Value& operator[](std::size_t element) const;

    friend bool operator==(const Value&, const Value&) = default;

  private:
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
                 Object>
        data_;
};

template <typename T>
std::optional<T> Value::as() const {
    static_assert(
        std::same_as<T, bool> || ValueInteger<T> || ValueNumber<T> || std::same_as<T, std::string>,
        "json: Value::as takes a bool, an integer, a float, a double or a std::string; "
        "json::read<T>(value) reads all other types");
    const auto* integer = std::get_if<std::int64_t>(&data_);
    const auto* natural = std::get_if<std::uint64_t>(&data_);
    if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
        if (const T* value = std::get_if<T>(&data_)) return *value;
    } else if constexpr (ValueInteger<T>) {
        if (integer != nullptr && std::in_range<T>(*integer)) return static_cast<T>(*integer);
        if (natural != nullptr && std::in_range<T>(*natural)) return static_cast<T>(*natural);
    } else {
        if (integer != nullptr) return static_cast<T>(*integer);
        if (natural != nullptr) return static_cast<T>(*natural);
        const auto* number = std::get_if<double>(&data_);
        constexpr double most = std::numeric_limits<T>::max();
        // The conversion of a larger double to float would be undefined behaviour or infinity.
        const bool fits =
            std::same_as<T, double> || (number != nullptr && *number >= -most && *number <= most);
        if (number != nullptr && fits) return static_cast<T>(*number);
    }
    return std::nullopt;
}

}  // namespace tiderace::json
