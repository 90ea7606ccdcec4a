// Internal. Type: a C++ type as JSON sees it, at run time. type_of.h makes one constant for each
// type; the reader, the writer and whatever describes types (OpenAPI) use it.
//
//     struct Order { int id; std::vector<Item> items; }
//
//     Type object ── members ──> {"id",    Type integer, 4 bytes, signed}
//                                {"items", Type list ── element ──> Type object of Item}
//
// The code that reads and writes is compiled once, in this library; a user's file adds only tables
// and a few functions of one line.
//
// Thread   Any; constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tiderace/base/enum_names.h"
#include "tiderace/json/bounds.h"
#include "tiderace/json/fault.h"

namespace tiderace::json {

struct Type;
class Value;  // value.h

// An integer or an enum of up to eight bytes, whichever its width.
std::int64_t load_integer(const void* value, std::uint8_t bytes, bool is_signed);
void store_integer(void* value, std::uint8_t bytes, std::uint64_t bits);

struct Member {
    std::string_view name;
    const Type* type;
};

// What a reader does with members that a struct does not have.
enum class Unknown : std::uint8_t { refuse, ignore };
// What it does where a text lacks a member whose type does not allow that.
enum class Missing : std::uint8_t { refuse, keep };

struct ObjectShape {
    std::string_view name;  // of the type, without its namespace
    std::span<const Member> members;
    // Writes the address of each member to `out`.
    void (*addresses)(void* object, void** out);
    // The type's own validate(); null where it has none.
    void (*validate)(const void* object, Faults& faults);
    // The type's own unknown_members; nothing: as Options::unknown.
    std::optional<Unknown> unknown;
};

struct ListShape {
    const Type* element;
    std::size_t fixed;  // elements of a std::array; 0: grows
    void (*clear)(void* list);
    // A new element at `index`, which is the list's size; of an array, the one that stands there.
    void* (*add)(void* list, std::size_t index);
    void (*each)(const void* list, void* context, void (*call)(void* context, const void* element));
};

// A key that is a text is in `text`; an integer or enumerator is in `number`.
struct MapKey {
    std::string_view text;
    std::int64_t number = 0;
};

struct MapShape {
    const Type* key;
    const Type* value;
    void (*clear)(void* map);
    void* (*add)(void* map, MapKey key);  // null: the key is there already
    void (*each)(const void* map, void* context,
                 void (*call)(void* context, MapKey key, const void* value));
};

// std::optional, std::unique_ptr.
struct OptionalShape {
    const Type* value;
    const void* (*get)(const void* optional);  // null: nothing in it
    void (*clear)(void* optional);
    void* (*make)(void* optional);
};

struct Alternative {
    const Type* type;
    void* (*make)(void* variant);
    const void* (*get)(const void* variant);
};

struct VariantShape {
    std::span<const Alternative> alternatives;
    std::size_t (*index)(const void* variant);
};

struct EnumShape {
    std::string_view name;
    std::span<const EnumName> names;
};

struct TimeShape {
    std::int64_t per_second;  // ticks of its duration
};

// Range, Length and Default: a value of another type at the same address.
struct CheckedShape {
    const Type* value;
    bool may_be_missing;
    bool (*holds)(const void* value);  // null: every value does
    std::string (*expected)();         // "an integer from 1 to 100"
    CheckedBounds bounds;
};

// A type with a json::Convert: a value of another type stands in the text.
struct ConvertShape {
    enum class Outcome : std::uint8_t { done, not_read, refused };

    std::string_view name;
    const Type* json;
    std::string (*expected)();  // null: what `json` expects
    // Makes a value of type `json`, has `fill` read it (false: a fault) and converts it. A refusal
    // may have a reason.
    Outcome (*read)(void* value, void* context, bool (*fill)(void* context, void* json),
                    std::string& reason);
    void (*write)(const void* value, void* context, void (*call)(void* context, const void* json));
};

enum class Kind : std::uint8_t {
    boolean,
    integer,
    number,
    text,
    text_view,  // written, never read
    enumeration,
    time,
    list,
    map,
    optional,
    variant,
    object,
    checked,
    convert,
    any,  // a json::Value
};

struct Type {
    Kind kind;
    std::uint8_t bytes = 0;  // of an integer, a number, an enumeration
    bool is_signed = false;
    union {
        const void* none = nullptr;
        const ObjectShape* object;
        const ListShape* list;
        const MapShape* map;
        const OptionalShape* optional;
        const VariantShape* variant;
        const EnumShape* enumeration;
        const TimeShape* time;
        const CheckedShape* checked;
        const ConvertShape* convert;
    };
};

// The kind of JSON value that a type is written as, for choosing an alternative of a variant.
enum class Form : std::uint8_t { boolean, number, string, array, object, any };
Form form_of(const Type& type);
// "a string", "an integer from 0 to 255": what a reader expects.
std::string expected_text(const Type& type);
// The key of a map whose name in a text is `name`; nothing: it has none of that name. Integers have
// one name each, so that "1" and "01" are not the same key twice.
std::optional<MapKey> key_of(std::string_view name, const Type& type);
// What an alternative is called where its form does not tell it from the others: {"Circle": {…}}.
std::string_view tag_of(const Type& type);
bool is_tagged(const VariantShape& variant);

}  // namespace tiderace::json
