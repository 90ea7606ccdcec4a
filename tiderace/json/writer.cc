#include "tiderace/json/writer.h"

#include "tiderace/base/calendar.h"
#include "tiderace/base/check.h"
#include "tiderace/json/value.h"

namespace tiderace::json {
namespace {

// What is handed through the calls of a list or a map.
struct Items {
    TextOut& out;
    const Type& type;
    std::size_t depth;
    const Type* key = nullptr;  // of a map
    bool first = true;

    void comma() {
        if (!first) out.put(',');
        first = false;
    }
};

// An empty optional of an object; in a list or a map it is null, since its place counts there.
bool is_left_out(const void* value, const Type& type) {
    if (type.kind == Kind::checked) return is_left_out(value, *type.checked->value);
    return type.kind == Kind::optional && type.optional->get(value) == nullptr;
}

void write_object(TextOut& out, const void* value, const ObjectShape& shape, std::size_t depth) {
    void* members[members_max];
    shape.addresses(const_cast<void*>(value), members);  // read only: see ObjectShape
    char before = '{';
    for (std::size_t i = 0; i < shape.members.size(); ++i) {
        const Member& member = shape.members[i];
        if (is_left_out(members[i], *member.type)) continue;
        out.member(before, member.name);
        before = ',';
        write_value(out, members[i], *member.type, depth);
    }
    if (before == '{') out.put('{');
    out.put('}');
}

void write_list(TextOut& out, const void* value, const ListShape& shape, std::size_t depth) {
    out.put('[');
    Items items{out, *shape.element, depth};
    shape.each(value, &items, [](void* context, const void* element) {
        Items& to = *static_cast<Items*>(context);
        to.comma();
        write_value(to.out, element, to.type, to.depth);
    });
    out.put(']');
}

// A name is a text, so integers stand in quotes.
void write_key(TextOut& out, MapKey key, const Type& type) {
    if (type.kind == Kind::text) return out.string(key.text);
    if (type.kind == Kind::enumeration) {
        for (const EnumName& known : type.enumeration->names) {
            if (known.value == key.number) return out.string(known.name);
        }
        out.replaced();  // its number: other keys without a name have others
    }
    out.put('"');
    if (type.is_signed)
        out.integer(key.number);
    else
        out.integer(static_cast<std::uint64_t>(key.number));
    out.put('"');
}

void write_map(TextOut& out, const void* value, const MapShape& shape, std::size_t depth) {
    out.put('{');
    Items items{out, *shape.value, depth, shape.key};
    shape.each(value, &items, [](void* context, MapKey key, const void* mapped) {
        Items& to = *static_cast<Items*>(context);
        to.comma();
        write_key(to.out, key, *to.key);
        to.out.put(':');
        write_value(to.out, mapped, to.type, to.depth);
    });
    out.put('}');
}

void write_unknown(TextOut& out) {
    out.null();
    out.replaced();
}

void write_variant(TextOut& out, const void* value, const VariantShape& shape, std::size_t depth) {
    const std::size_t index = shape.index(value);
    // A variant that an exception left without a value.
    if (index >= shape.alternatives.size()) return write_unknown(out);
    const Alternative& alternative = shape.alternatives[index];
    if (!is_tagged(shape)) {
        return write_value(out, alternative.get(value), *alternative.type, depth);
    }
    out.put('{');
    out.string(tag_of(*alternative.type));
    out.put(':');
    write_value(out, alternative.get(value), *alternative.type, depth);
    out.put('}');
}

void write_integer(TextOut& out, const void* value, const Type& type) {
    const std::int64_t read = load_integer(value, type.bytes, type.is_signed);
    if (type.is_signed)
        out.integer(read);
    else
        out.integer(static_cast<std::uint64_t>(read));
}

void write_enumeration(TextOut& out, const void* value, const Type& type) {
    const std::int64_t read = load_integer(value, type.bytes, type.is_signed);
    for (const EnumName& known : type.enumeration->names) {
        if (known.value == read) return out.string(known.name);
    }
    write_unknown(out);  // a number that was cast, and has no name
}

void write_converted(TextOut& out, const void* value, const ConvertShape& shape,
                     std::size_t depth) {
    Items inside{out, *shape.json, depth};
    shape.write(value, &inside, [](void* context, const void* json) {
        const Items& to = *static_cast<Items*>(context);
        write_value(to.out, json, to.type, to.depth);
    });
}

void write_any(TextOut& out, const Value& value, std::size_t depth) {
    if (const Array* array = value.array()) return write_value(out, array, type_of<Array>, depth);
    if (const Object* object = value.object()) {
        return write_value(out, object, type_of<Object>, depth);
    }
    if (const std::string* text = value.string()) return out.string(*text);
    if (const auto boolean = value.as<bool>()) return out.boolean(*boolean);
    if (const auto integer = value.as<std::int64_t>()) return out.integer(*integer);
    if (const auto natural = value.as<std::uint64_t>()) return out.integer(*natural);
    if (const auto number = value.as<double>()) return out.number(*number);
    out.null();
}

void write_time(TextOut& out, const void* value, const Type& type) {
    char room[rfc3339_bytes_max];
    const std::string_view text =
        write_rfc3339(room, load_integer(value, 8, true), type.time->per_second);
    if (text.empty()) return write_unknown(out);
    out.put('"');
    out.put(text);
    out.put('"');
}

}  // namespace

void write_value(TextOut& out, const void* value, const Type& type, std::size_t depth) {
    // A struct may reach itself through a pointer.
    if (depth == write_depth_max) return write_unknown(out);
    switch (type.kind) {
        case Kind::boolean:
            return out.boolean(*static_cast<const bool*>(value));
        case Kind::integer:
            return write_integer(out, value, type);
        case Kind::number:
            if (type.bytes == sizeof(float)) return out.number(*static_cast<const float*>(value));
            return out.number(*static_cast<const double*>(value));
        case Kind::text:
            return out.string(*static_cast<const std::string*>(value));
        case Kind::text_view:
            return out.string(*static_cast<const std::string_view*>(value));
        case Kind::enumeration:
            return write_enumeration(out, value, type);
        case Kind::time:
            return write_time(out, value, type);
        case Kind::list:
            return write_list(out, value, *type.list, depth + 1);
        case Kind::map:
            return write_map(out, value, *type.map, depth + 1);
        case Kind::object:
            return write_object(out, value, *type.object, depth + 1);
        case Kind::variant:
            return write_variant(out, value, *type.variant, depth + 1);
        case Kind::checked:
            return write_value(out, value, *type.checked->value, depth);
        case Kind::convert:
            return write_converted(out, value, *type.convert, depth);
        case Kind::any:
            return write_any(out, *static_cast<const Value*>(value), depth);
        case Kind::optional:
            if (const void* inner = type.optional->get(value)) {
                return write_value(out, inner, *type.optional->value, depth);
            }
            return out.null();
    }
}

void Writer::before_value() {
    // objects_ and started_ hold one bit for each open level: is it an object, has it a member yet?
    const std::uint64_t level = open_ == 0 ? 0 : std::uint64_t{1} << (open_ - 1);
    TR_CHECK(open_ > 0 || !has_value_, "a JSON text is one value");
    TR_CHECK((objects_ & level) == 0 || after_key_, "a member needs a key before its value");
    if ((objects_ & level) == 0 && (started_ & level) != 0) out_.put(',');
    started_ |= level;
    after_key_ = false;
    has_value_ = true;
}

Writer& Writer::begin(char c, bool is_object) {
    before_value();
    TR_CHECK(open_ < open_max, "too many objects and arrays are open");
    const std::uint64_t level = std::uint64_t{1} << open_++;
    objects_ = is_object ? objects_ | level : objects_ & ~level;
    started_ &= ~level;
    out_.put(c);
    return *this;
}

Writer& Writer::end(char c, bool is_object) {
    TR_CHECK(open_ > 0, "nothing is open");
    const bool object_is_open = (objects_ >> (open_ - 1) & 1) != 0;
    TR_CHECK(object_is_open == is_object && !after_key_, "ends what is not open");
    --open_;
    out_.put(c);
    return *this;
}

Writer& Writer::key(std::string_view name) {
    TR_CHECK(open_ > 0 && (objects_ >> (open_ - 1) & 1) != 0, "a key stands in an object");
    TR_CHECK(!after_key_, "a key after a key");
    const std::uint64_t level = std::uint64_t{1} << (open_ - 1);
    if ((started_ & level) != 0) out_.put(',');
    started_ |= level;
    after_key_ = true;
    out_.string(name);
    out_.put(':');
    return *this;
}

Writer& Writer::null() {
    before_value();
    out_.null();
    return *this;
}

}  // namespace tiderace::json
