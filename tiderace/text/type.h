// Internal. Type and Ref: a C++ value as a template sees it, without its C++ type. type_of.h makes
// one constant for each type.
//
// Thread   Any; constants and views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::text {

struct Type;

// A value of which somebody else is the owner. Without a type: there is none (a fault was noted).
struct Ref {
    const Type* type = nullptr;
    const void* at = nullptr;
};

enum class Kind : std::uint8_t {
    nothing,  // an empty optional
    boolean,
    integer,
    number,
    text,
    html,  // text::SafeHtml
    time,
    list,
    map,
    optional,
    object,
    dynamic,  // text::Value, which knows its kind when it is rendered
};

struct Member {
    std::string_view name;
    const Type* type;
    const void* (*address)(const void* object);
};

// What is null does not apply to the kind.
struct Type {
    Kind kind = Kind::nothing;
    std::size_t bytes = 0;  // of an integer, a number or an object
    bool is_signed = false;
    std::string_view name = {};     // of an object's type, without its namespace
    const Type* element = nullptr;  // of a list, a map, an optional
    std::span<const Member> members = {};
    std::string_view (*text)(const void* value) = nullptr;
    std::int64_t (*seconds)(const void* time) = nullptr;  // since 1970
    std::size_t (*size)(const void* container) = nullptr;
    // Ends early when `call` returns false. The key is "" in a list.
    void (*each)(const void* container, void* context,
                 bool (*call)(void* context, std::string_view key, const void* element)) = nullptr;
    const void* (*find)(const void* map, std::string_view key) = nullptr;
    const void* (*get)(const void* optional) = nullptr;
    Ref (*resolve)(const void* dynamic) = nullptr;
};

inline constexpr Type nothing_type = {};
inline constexpr Ref nothing = {&nothing_type, nullptr};

// Without the optionals and dynamic values around it.
Ref plain_inside(Ref value);
inline Ref plain(Ref value) {
    const bool is_plain = value.at != nullptr && value.type != nullptr &&
                          value.type->kind != Kind::optional && value.type->kind != Kind::dynamic;
    return is_plain ? value : plain_inside(value);
}

// "a list", "a text": for messages.
std::string_view kind_text(Kind kind);

// nullptr: an object of this type has no member of that name.
const Member* find_member(const Type& object, std::string_view name);

// The text of a value that has one: numbers in their shortest form, times as
// 2026-11-22T10:30:00Z. Nothing is "". nullopt: a list, a map or an object.
inline constexpr std::size_t number_bytes_max = 40;
using NumberRoom = std::span<char, number_bytes_max>;
std::optional<std::string_view> text_of(Ref value, NumberRoom room);

// false, 0, "", an empty list or map, and nothing are false.
bool is_true(Ref value);

enum class Order : std::uint8_t { less, equal, greater, none };  // none: NaN, or kinds that differ
Order compare(Ref left, Ref right);
// Whether compare() has a meaning for them. Nothing is equal to nothing, and differs from all else.
bool comparable(Kind left, Kind right);

double number_of(Ref number);
std::int64_t integer_of(Ref integer);

// A calendar date and time of day of UTC, by the letters of strftime: %Y %m %d %H %M %S %y %e %j
// %B %b %A %a %%. False: a letter that is none of these.
bool append_time(std::string& out, std::int64_t seconds, std::string_view format);

}  // namespace tiderace::text
