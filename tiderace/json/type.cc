#include "tiderace/json/type.h"

#include <charconv>
#include <cstring>
#include <string>
#include <system_error>

namespace tiderace::json {
namespace {

std::string integer_text(const Type& type) {
    const unsigned bits = type.bytes * 8u;
    std::string text = "an integer from ";
    if (type.is_signed) {
        const std::int64_t high = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
        return ((text += std::to_string(-high - 1)) += " to ") += std::to_string(high);
    }
    return (text += "0 to ") += std::to_string(~std::uint64_t{0} >> (64 - bits));
}

std::string enumeration_text(const EnumShape& shape) {
    std::string text = "one of ";
    bool first = true;
    for (const EnumName& known : shape.names) {
        if (!first) text += ", ";
        first = false;
        ((text += '"') += known.name) += '"';
    }
    return text;
}

std::string variant_text(const VariantShape& shape) {
    std::string text = is_tagged(shape) ? "an object with one member, called " : "";
    bool first = true;
    for (const Alternative& alternative : shape.alternatives) {
        if (!first) text += " or ";
        first = false;
        if (is_tagged(shape)) {
            ((text += '"') += tag_of(*alternative.type)) += '"';
        } else {
            text += expected_text(*alternative.type);
        }
    }
    return text;
}

}  // namespace

// By memcpy, because the member behind the pointer has a type of its own: an enum, or long long.
std::int64_t load_integer(const void* value, std::uint8_t bytes, bool is_signed) {
    switch (bytes) {
        case 1: {
            std::uint8_t read;
            std::memcpy(&read, value, 1);
            return is_signed ? static_cast<std::int8_t>(read) : std::int64_t{read};
        }
        case 2: {
            std::uint16_t read;
            std::memcpy(&read, value, 2);
            return is_signed ? static_cast<std::int16_t>(read) : std::int64_t{read};
        }
        case 4: {
            std::uint32_t read;
            std::memcpy(&read, value, 4);
            return is_signed ? static_cast<std::int32_t>(read) : std::int64_t{read};
        }
        default: {
            std::int64_t read;
            std::memcpy(&read, value, 8);
            return read;
        }
    }
}

void store_integer(void* value, std::uint8_t bytes, std::uint64_t bits) {
    switch (bytes) {
        case 1: {
            const auto stored = static_cast<std::uint8_t>(bits);
            std::memcpy(value, &stored, 1);
            return;
        }
        case 2: {
            const auto stored = static_cast<std::uint16_t>(bits);
            std::memcpy(value, &stored, 2);
            return;
        }
        case 4: {
            const auto stored = static_cast<std::uint32_t>(bits);
            std::memcpy(value, &stored, 4);
            return;
        }
        default:
            std::memcpy(value, &bits, 8);
    }
}

Form form_of(const Type& type) {
    switch (type.kind) {
        case Kind::boolean:
            return Form::boolean;
        case Kind::integer:
        case Kind::number:
            return Form::number;
        case Kind::enumeration:
            return Form::string;
        case Kind::text:
        case Kind::text_view:
        case Kind::time:
            return Form::string;
        case Kind::list:
            return Form::array;
        case Kind::map:
        case Kind::object:
            return Form::object;
        case Kind::checked:
            return form_of(*type.checked->value);
        case Kind::convert:
            return form_of(*type.convert->json);
        case Kind::optional:
        case Kind::variant:
        case Kind::any:
            break;
    }
    return Form::any;
}

std::string expected_text(const Type& type) {
    switch (type.kind) {
        case Kind::boolean:
            return "true or false";
        case Kind::integer:
            return integer_text(type);
        case Kind::number:
            return "a number";
        case Kind::text:
        case Kind::text_view:
            return "a string";
        case Kind::enumeration:
            return enumeration_text(*type.enumeration);
        case Kind::time:
            return "a time such as \"2026-11-22T10:30:00Z\"";
        case Kind::list:
            return type.list->fixed == 0 ? "an array"
                                         : "an array of " + std::to_string(type.list->fixed);
        case Kind::map:
        case Kind::object:
            return "an object";
        case Kind::optional:
            return expected_text(*type.optional->value) + " or null";
        case Kind::variant:
            return variant_text(*type.variant);
        case Kind::checked:
            return type.checked->expected != nullptr ? type.checked->expected()
                                                     : expected_text(*type.checked->value);
        case Kind::convert:
            return type.convert->expected != nullptr ? type.convert->expected()
                                                     : expected_text(*type.convert->json);
        case Kind::any:
            return "any value";
    }
    return "";
}

std::optional<MapKey> key_of(std::string_view name, const Type& type) {
    if (type.kind == Kind::text) return MapKey{.text = name};
    if (type.kind == Kind::enumeration) {
        for (const EnumName& known : type.enumeration->names) {
            if (known.name == name) return MapKey{.text = {}, .number = known.value};
        }
        return std::nullopt;
    }
    // Through a value of the key's width, so that what does not fit is not itself again.
    const auto key_in = [&](auto value) -> std::optional<MapKey> {
        const char* const end = name.data() + name.size();
        if (std::from_chars(name.data(), end, value).ec != std::errc{}) return std::nullopt;
        std::int64_t bits = 0;
        store_integer(&bits, type.bytes, static_cast<std::uint64_t>(value));
        bits = load_integer(&bits, type.bytes, type.is_signed);
        if (std::to_string(static_cast<decltype(value)>(bits)) != name) return std::nullopt;
        return MapKey{.text = {}, .number = bits};
    };
    return type.is_signed ? key_in(std::int64_t{}) : key_in(std::uint64_t{});
}

std::string_view tag_of(const Type& type) {
    switch (type.kind) {
        case Kind::boolean:
            return "boolean";
        case Kind::integer:
            return "integer";
        case Kind::number:
            return "number";
        case Kind::text:
        case Kind::text_view:
            return "text";
        case Kind::time:
            return "time";
        case Kind::list:
            return "list";
        case Kind::map:
            return "map";
        case Kind::enumeration:
            return type.enumeration->name;
        case Kind::object:
            return type.object->name;
        case Kind::checked:
            return tag_of(*type.checked->value);
        case Kind::convert:
            return type.convert->name;
        case Kind::optional:
        case Kind::variant:
        case Kind::any:
            break;
    }
    return "";
}

// The reader cannot choose between two alternatives of one form by the value alone.
bool is_tagged(const VariantShape& variant) {
    unsigned seen = 0;
    for (const Alternative& alternative : variant.alternatives) {
        const unsigned bit = 1u << static_cast<unsigned>(form_of(*alternative.type));
        if ((seen & bit) != 0) return true;
        seen |= bit;
    }
    return false;
}

}  // namespace tiderace::json
