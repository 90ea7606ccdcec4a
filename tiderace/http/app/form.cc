#include "tiderace/http/app/form.h"

#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include "tiderace/base/calendar.h"
#include "tiderace/base/utf8.h"
#include "tiderace/http/wire/query.h"
#include "tiderace/json/text.h"

namespace tiderace::http::app_parts {
namespace {

using json::Faults;
using json::Kind;
using json::Type;

// A text that stands for no value of its type, cut for the message between two characters.
std::string shown(ByteView text) {
    constexpr std::size_t bytes_max = 40;
    return "\"" + std::string(whole_characters(text, bytes_max)) +
           (text.size() > bytes_max ? "…\"" : "\"");
}

bool read_boolean(ByteView text, void* to) {
    // "on" is what a browser sends for a ticked box (HTML, 4.10.5.1.15).
    const bool yes = text == "true" || text == "1" || text == "on";
    *static_cast<bool*>(to) = yes;
    return yes || text == "false" || text == "0" || text == "off";
}

template <typename T>
bool read_whole(ByteView text, T& value) {
    const char* const end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, value);
    return fault == std::errc{} && stop == end && !text.empty();
}

bool read_integer(ByteView text, void* to, const Type& type) {
    const unsigned spare = 64 - type.bytes * 8u;
    if (type.is_signed) {
        std::int64_t value = 0;
        const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> spare;
        if (!read_whole(text, value) || value > most || value < -most - 1) return false;
        json::store_integer(to, type.bytes, static_cast<std::uint64_t>(value));
        return true;
    }
    std::uint64_t value = 0;
    if (!read_whole(text, value) || value > ~std::uint64_t{0} >> spare) return false;
    json::store_integer(to, type.bytes, value);
    return true;
}

bool read_number(ByteView text, void* to, const Type& type) {
    // from_chars also reads "inf" and "nan", which no JSON has.
    if (text.find_first_not_of("0123456789+-.eE") != ByteView::npos) return false;
    return type.bytes == sizeof(float) ? read_whole(text, *static_cast<float*>(to))
                                       : read_whole(text, *static_cast<double*>(to));
}

bool read_enumeration(ByteView text, void* to, const Type& type) {
    for (const EnumName& known : type.enumeration->names) {
        if (known.name != text) continue;
        json::store_integer(to, type.bytes, static_cast<std::uint64_t>(known.value));
        return true;
    }
    return false;
}

bool read_scalar(ByteView text, void* to, const Type& type);

bool read_converted(ByteView text, void* to, const json::ConvertShape& shape) {
    struct Inside {
        ByteView text;
        const Type& json;
    } inside{text, *shape.json};
    std::string reason;  // the message names what is expected, as for all values of a form
    return shape.read(
               to, &inside,
               [](void* context, void* json) {
                   const Inside& in = *static_cast<Inside*>(context);
                   return read_scalar(in.text, json, in.json);
               },
               reason) == json::ConvertShape::Outcome::done;
}

bool read_scalar(ByteView text, void* to, const Type& type) {
    switch (type.kind) {
        case Kind::boolean:
            return read_boolean(text, to);
        case Kind::integer:
            return read_integer(text, to, type);
        case Kind::number:
            return read_number(text, to, type);
        case Kind::text:
            static_cast<std::string*>(to)->assign(text);
            return is_utf8(text);
        case Kind::enumeration:
            return read_enumeration(text, to, type);
        case Kind::time: {
            const auto ticks = read_rfc3339(text, type.time->per_second);
            if (ticks) json::store_integer(to, 8, static_cast<std::uint64_t>(*ticks));
            return ticks.has_value();
        }
        case Kind::checked:
            return read_scalar(text, to, *type.checked->value) &&
                   (type.checked->holds == nullptr || type.checked->holds(to));
        case Kind::convert:
            return read_converted(text, to, *type.convert);
        case Kind::optional:
            return read_scalar(text, type.optional->make(to), *type.optional->value);
        default:
            break;
    }
    return false;
}

// A browser sends nothing for a box that is not ticked, so a boolean that is missing is false.
bool may_be_unsent(const Type& type) {
    if (type.kind == Kind::optional || type.kind == Kind::boolean) return true;
    if (type.kind == Kind::convert) return may_be_unsent(*type.convert->json);
    return type.kind == Kind::checked &&
           (type.checked->may_be_missing || may_be_unsent(*type.checked->value));
}

const Type& inside(const Type& type) {
    return type.kind == Kind::checked ? inside(*type.checked->value) : type;
}

// Whether a list keeps the rules of its type, and of each type inside that one.
bool fits(const Type& type, const void* value) {
    if (type.kind != Kind::checked) return true;
    const json::CheckedShape& checked = *type.checked;
    return (checked.holds == nullptr || checked.holds(value)) && fits(*checked.value, value);
}

bool holds_empty_text(const Type& type) {
    if (type.kind != Kind::checked) return type.kind == Kind::text;
    const Type& value = *type.checked->value;
    if (value.kind != Kind::text || type.checked->holds == nullptr) return holds_empty_text(value);
    const std::string empty;
    return type.checked->holds(&empty);
}

// A browser sends each field of a form, whether it was filled in or not.
bool left_empty_is_missing(const Type& type) {
    if (type.kind == Kind::optional) return !holds_empty_text(*type.optional->value);
    if (type.kind != Kind::checked || !type.checked->may_be_missing) return false;
    const Type& value = *type.checked->value;
    return inside(value).kind != Kind::boolean && !holds_empty_text(value);
}

// One object while its pairs come.
class PairWalk {
  public:
    PairWalk(void* object, const Type& type)
        : shape_(*type.object), counts_(shape_.members.size()) {
        shape_.addresses(object, members_);
    }

    void take(const wire::QueryPair& pair) {
        for (std::size_t i = 0; i < shape_.members.size(); ++i) {
            if (shape_.members[i].name == pair.name) return read(i, pair.value);
        }
    }
    Faults finish(const void* object) {
        for (std::size_t i = 0; i < shape_.members.size(); ++i) check(i);
        // The program's own check may rely on each member being valid by itself.
        if (faults_.empty() && shape_.validate != nullptr) shape_.validate(object, faults_);
        return std::move(faults_);
    }
    void add_fault(json::Fault fault) {
        // A request can have a thousand faults, and the answer lists all that are kept.
        if (faults_.size() < json::faults_max) faults_.push_back(std::move(fault));
    }

  private:
    void read(std::size_t i, ByteView text) {
        const json::Member& member = shape_.members[i];
        const Type& type = inside(*member.type);
        const std::size_t index = counts_[i]++;
        if (type.kind == Kind::list && type.list->fixed == 0) {
            // The member's default goes with the first value that is sent.
            if (index == 0) type.list->clear(members_[i]);
            const Type& element = *type.list->element;
            if (!read_scalar(text, type.list->add(members_[i], index), element)) {
                unexpected(std::string(member.name) + "[" + std::to_string(index) + "]", element,
                           text);
            }
            return;
        }
        // As in JSON: of two values, readers before and behind us might each take another one.
        if (index > 0)
            return add_fault({.path = std::string(member.name), .problem = "appears twice"});
        if (text.empty() && left_empty_is_missing(*member.type)) {
            if (type.kind == Kind::optional) type.optional->clear(members_[i]);
            return;  // a Default keeps its value
        }
        if (!read_scalar(text, members_[i], *member.type)) {
            unexpected(std::string(member.name), *member.type, text);
        }
    }
    // Checks that are possible only at the end: members that did not come, and the length of a
    // list.
    void check(std::size_t i) {
        const json::Member& member = shape_.members[i];
        const Type& type = *member.type;
        if (inside(type).kind == Kind::list) {
            if (!fits(type, members_[i]) && (counts_[i] > 0 || !may_be_unsent(type)))
                unexpected(std::string(member.name), type, {});
            return;
        }
        if (counts_[i] == 0 && !may_be_unsent(type)) {
            add_fault({.path = std::string(member.name), .problem = "is required"});
        }
    }
    void unexpected(std::string path, const Type& type, ByteView text) {
        if (type.kind == Kind::optional) {
            return unexpected(std::move(path), *type.optional->value, text);  // "or null" is JSON's
        }
        add_fault({.path = std::move(path),
                   .problem = "expected " + json::expected_text(type),
                   .found = text.data() == nullptr ? ""
                            : is_utf8(text)        ? shown(text)
                                                   : "a text that is not UTF-8"});
    }

    const json::ObjectShape& shape_;
    std::vector<std::size_t> counts_;
    Faults faults_;
    void* members_[members_max];
};

}  // namespace

Faults read_pairs(ByteView text, void* value, const Type& type) {
    PairWalk walk(value, type);
    // Decoding only shortens, so that this room is enough and the loop ends with the text.
    std::string storage(text.size(), '\0');
    wire::QueryPairs pairs(text, storage);
    std::size_t count = 0;
    while (const auto pair = pairs.next()) {
        // Each pair is compared with all members, so the pairs are what bounds the work.
        if (++count > pairs_max) {
            walk.add_fault(
                {.problem = "there are more than " + std::to_string(pairs_max) + " values"});
            break;
        }
        walk.take(*pair);
    }
    return walk.finish(value);
}

bool Call::read_query(void* value, const json::Type& type) {
    const json::Faults faults = read_pairs(exchange.request().query, value, type);
    if (!faults.empty()) fail_pairs(400, "the query cannot be read", faults);
    return faults.empty();
}

bool Call::read_form(void* value, const json::Type& type) {
    if (!body_is("application/x-www-form-urlencoded")) return false;
    const json::Faults faults = read_pairs(body, value, type);
    if (!faults.empty()) fail_pairs(422, "the form is not what is expected", faults);
    return faults.empty();
}

}  // namespace tiderace::http::app_parts
