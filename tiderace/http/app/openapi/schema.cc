#include "tiderace/http/app/openapi/schema.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/ascii.h"

namespace tiderace::http::app_parts {
namespace {

using json::Kind;
using json::Type;
using json::Writer;

// The characters that a component's name may have (OpenAPI 3.1, 4.8.7).
std::string component_name(std::string_view text) {
    std::string name;
    for (const char c : text) {
        const bool good = is_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
        name += good ? c : '_';
    }
    return name.empty() ? "Object" : name;
}

void write_integer(Writer& out, const Type& type) {
    out.key("type").value("integer");
    if (type.is_signed && type.bytes >= 4) {
        out.key("format").value(type.bytes == 4 ? "int32" : "int64");
        return;
    }
    const unsigned bits = type.bytes * 8U;
    const std::int64_t high =
        static_cast<std::int64_t>(~std::uint64_t{0} >> (type.is_signed ? 65 - bits : 64 - bits));
    out.key("minimum").value(type.is_signed ? -high - 1 : std::int64_t{0});
    // 2^64 - 1 is above what most readers of the document take for an exact number.
    if (type.bytes < 8) out.key("maximum").value(high);
}

// Ranges replace the bounds of the C++ type.
void write_range(Writer& out, const Type& value, const json::CheckedBounds& bounds) {
    const bool is_number = value.kind == Kind::number;
    out.key("type").value(is_number ? "number" : "integer");
    if (is_number) {
        out.key("format").value(value.bytes == 4 ? "float" : "double");
    } else if (value.is_signed && value.bytes >= 4) {
        out.key("format").value(value.bytes == 4 ? "int32" : "int64");
    }
    switch (bounds.kind) {
        case json::CheckedBounds::Kind::integers:
            out.key("minimum").value(bounds.low).key("maximum").value(bounds.high);
            return;
        case json::CheckedBounds::Kind::naturals:
            out.key("minimum").value(bounds.least).key("maximum").value(bounds.most);
            return;
        default:
            out.key("minimum").value(bounds.minimum).key("maximum").value(bounds.maximum);
            return;
    }
}

// Behind the schema of the value itself.
void write_length(Writer& out, const Type& value, const json::CheckedBounds& bounds) {
    const bool is_list = value.kind == Kind::list;
    const bool is_map = value.kind == Kind::map;
    out.key(is_list ? "minItems" : is_map ? "minProperties" : "minLength").value(bounds.least);
    if (bounds.most == SIZE_MAX) return;  // none
    out.key(is_list ? "maxItems" : is_map ? "maxProperties" : "maxLength").value(bounds.most);
}

void write_list(Writer& out, const json::ListShape& shape) {
    out.key("type").value("array");
    if (shape.fixed == 0) return;
    out.key("minItems").value(std::uint64_t{shape.fixed});
    out.key("maxItems").value(std::uint64_t{shape.fixed});
}

// What the names of a map's members are; a text may be any.
void write_names(Writer& out, const Type& key) {
    if (key.kind == Kind::text) return;
    out.key("propertyNames").begin_object();
    if (key.kind == Kind::enumeration) {
        out.key("enum").begin_array();
        for (const EnumName& one : key.enumeration->names) out.value(one.name);
        out.end_array();
    } else {
        out.key("pattern").value(key.is_signed ? "^-?[0-9]+$" : "^[0-9]+$");
    }
    out.end_object();
}

}  // namespace

bool may_be_missing(const Type& type) {
    if (type.kind == Kind::convert) return may_be_missing(*type.convert->json);
    return type.kind == Kind::optional ||
           (type.kind == Kind::checked && type.checked->may_be_missing);
}

const std::string& SchemaBook::name_of(const json::ObjectShape& shape) {
    for (const Entry& entry : entries_) {
        if (entry.shape == &shape) return entry.name;
    }
    const std::string first = component_name(shape.name);
    std::string name = first;
    const auto is_taken = [&](const Entry& entry) { return entry.name == name; };
    // Two namespaces may have structs of the same name.
    for (int i = 2; std::ranges::any_of(entries_, is_taken); ++i) name = first + std::to_string(i);
    // Entered before it is written: a type may refer to itself, and finds its name here.
    entries_.push_back({&shape, std::move(name)});
    return entries_.back().name;
}

void SchemaBook::write(Writer& out, const Type& type) {
    out.begin_object();
    write_inside(out, type);
    out.end_object();
}

void SchemaBook::write_inside(Writer& out, const Type& type) {
    switch (type.kind) {
        case Kind::boolean:
            out.key("type").value("boolean");
            return;
        case Kind::integer:
            return write_integer(out, type);
        case Kind::number:
            out.key("type").value("number");
            out.key("format").value(type.bytes == 4 ? "float" : "double");
            return;
        case Kind::text:
        case Kind::text_view:
            out.key("type").value("string");
            return;
        case Kind::enumeration:
            out.key("type").value("string").key("enum").begin_array();
            for (const EnumName& one : type.enumeration->names) out.value(one.name);
            out.end_array();
            return;
        case Kind::time:
            out.key("type").value("string").key("format").value("date-time");
            return;
        case Kind::list:
            write_list(out, *type.list);
            out.key("items");
            return write(out, *type.list->element);
        case Kind::map:
            out.key("type").value("object");
            write_names(out, *type.map->key);
            out.key("additionalProperties");
            return write(out, *type.map->value);
        case Kind::optional:
            // 3.1 has no "nullable": null is a type as others are (JSON Schema 2020-12).
            out.key("anyOf").begin_array();
            write(out, *type.optional->value);
            out.begin_object().key("type").value("null").end_object().end_array();
            return;
        case Kind::variant:
            return write_variant(out, *type.variant);
        case Kind::object:
            out.key("$ref").value("#/components/schemas/" + name_of(*type.object));
            return;
        case Kind::checked:
            return write_checked(out, *type.checked);
        case Kind::convert:
            write_inside(out, *type.convert->json);
            if (type.convert->expected != nullptr) {
                out.key("description").value(type.convert->expected());
            }
            return;
        case Kind::any:  // the empty schema: each value is valid
            return;
    }
}

void SchemaBook::write_checked(Writer& out, const json::CheckedShape& shape) {
    using Bounds = json::CheckedBounds::Kind;
    const Bounds kind = shape.bounds.kind;
    if (kind == Bounds::integers || kind == Bounds::naturals || kind == Bounds::numbers) {
        return write_range(out, *shape.value, shape.bounds);
    }
    write_inside(out, *shape.value);
    if (kind == Bounds::length) return write_length(out, *shape.value, shape.bounds);
    if (shape.holds != nullptr) {
        out.key("description").value(shape.expected());  // a type of the program's own
    }
}

void SchemaBook::write_variant(Writer& out, const json::VariantShape& shape) {
    const bool tagged = json::is_tagged(shape);
    // Values that several alternatives take (3 is an integer and a number) are what oneOf would
    // refuse.
    out.key(tagged ? "oneOf" : "anyOf").begin_array();
    for (const json::Alternative& one : shape.alternatives) {
        if (!tagged) {
            write(out, *one.type);
            continue;
        }
        const std::string_view tag = json::tag_of(*one.type);
        out.begin_object().key("type").value("object").key("properties").begin_object().key(tag);
        write(out, *one.type);
        out.end_object().key("required").begin_array().value(tag).end_array();
        out.key("additionalProperties").value(false).end_object();
    }
    out.end_array();
}

void SchemaBook::write_object(Writer& out, const json::ObjectShape& shape) {
    out.begin_object().key("type").value("object").key("properties").begin_object();
    for (const json::Member& member : shape.members) {
        out.key(member.name);
        write(out, *member.type);
    }
    out.end_object().key("required").begin_array();
    for (const json::Member& member : shape.members) {
        if (!may_be_missing(*member.type)) out.value(member.name);
    }
    out.end_array().end_object();
}

void SchemaBook::write_all(Writer& out) {
    out.begin_object();
    // Writing one may add others behind it, and move all.
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const json::ObjectShape& shape = *entries_[i].shape;
        out.key(entries_[i].name);
        write_object(out, shape);
    }
    out.end_object();
}

}  // namespace tiderace::http::app_parts
