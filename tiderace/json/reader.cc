#include "tiderace/json/reader.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/base/calendar.h"
#include "tiderace/base/check.h"
#include "tiderace/base/members.h"
#include "tiderace/json/scan.h"
#include "tiderace/json/text.h"
#include "tiderace/json/type_of.h"
#include "tiderace/json/value.h"

namespace tiderace::json {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::size_t found_bytes_max = 40;  // of a string that a message quotes

// Where the walk is: one on the stack for each level.
struct Place {
    const Place* above = nullptr;
    std::string_view name;    // of a member
    std::size_t ordinal = 0;  // among the members or elements
    bool in_array = false;
};

std::string path_of(const Place* place) {
    if (place == nullptr || place->above == nullptr) return "";
    std::string path = path_of(place->above);
    if (place->in_array) return ((path += '[') += std::to_string(place->ordinal)) += ']';
    if (!path.empty()) path += '.';
    return path += place->name;
}

// Quoted by the writer's rules, so that a control character of the peer's cannot reach a log line.
std::string found_text(const element& found) {
    std::string text;
    TextOut out(text);
    switch (found.type()) {
        case element_type::ARRAY:
            return "an array";
        case element_type::OBJECT:
            return "an object";
        case element_type::STRING: {
            const std::string_view said = found.get_string().value_unsafe();
            if (said.size() > found_bytes_max) {
                return "a string of " + std::to_string(said.size()) + " bytes";
            }
            out.string(said);
            break;
        }
        case element_type::INT64:
            out.integer(std::int64_t{found.get_int64().value_unsafe()});
            break;
        case element_type::UINT64:
            out.integer(std::uint64_t{found.get_uint64().value_unsafe()});
            break;
        case element_type::DOUBLE:
            out.number(found.get_double().value_unsafe());
            break;
        case element_type::BOOL:
            out.boolean(found.get_bool().value_unsafe());
            break;
        case element_type::NULL_VALUE:
            out.null();
            break;
    }
    out.flush();
    return text;
}

Form form_of(const element& found) {
    switch (found.type()) {
        case element_type::ARRAY:
            return Form::array;
        case element_type::OBJECT:
            return Form::object;
        case element_type::STRING:
            return Form::string;
        case element_type::BOOL:
            return Form::boolean;
        case element_type::NULL_VALUE:
            return Form::any;  // fits no alternative: null stands for an empty optional alone
        case element_type::INT64:
        case element_type::UINT64:
        case element_type::DOUBLE:
            break;
    }
    return Form::number;
}

bool may_be_missing(const Type& type) {
    if (type.kind == Kind::optional) return true;
    if (type.kind == Kind::convert) return may_be_missing(*type.convert->json);
    return type.kind == Kind::checked &&
           (type.checked->may_be_missing || may_be_missing(*type.checked->value));
}

bool fits(std::int64_t value, const Type& type) {
    if (type.bytes == 8) return type.is_signed || value >= 0;
    const unsigned bits = type.bytes * 8u;
    if (!type.is_signed) return value >= 0 && value >> bits == 0;
    const std::int64_t half = std::int64_t{1} << (bits - 1);
    return value >= -half && value < half;
}

// Walks along a value and its Type. After a fault it goes on, to name them all, until there are
// faults_max. Each read function is false after a fault in its value.
//
// It recurses once for each level of the text, of which there are depth_limit at most; a Type that
// contains itself adds none without a level of the text.
class Walk {
  public:
    Walk(ByteView text, const Options& options) : text_(text), options_(options) {}

    bool read(const element& from, void* to, const Type& type, const Place& place);
    Faults take_faults() { return std::move(faults_); }

  private:
    bool read_integer(const element& from, void* to, const Type& type, const Place& place);
    bool read_number(const element& from, void* to, const Type& type, const Place& place);
    bool read_enumeration(const element& from, void* to, const Type& type, const Place& place);
    bool read_time(const element& from, void* to, const Type& type, const Place& place);
    bool read_list(const element& from, void* to, const Type& type, const Place& place);
    bool read_map(const element& from, void* to, const Type& type, const Place& place);
    bool read_object(const element& from, void* to, const Type& type, const Place& place);
    bool read_variant(const element& from, void* to, const Type& type, const Place& place);
    bool read_checked(const element& from, void* to, const Type& type, const Place& place);
    bool read_converted(const element& from, void* to, const Type& type, const Place& place);
    bool read_any(const element& from, Value& to, const Place& place);
    bool check_missing(const ObjectShape& shape, std::uint64_t seen, const Place& place);
    bool validate(const void* object, const ObjectShape& shape, const Place& place);

    bool is_full() const { return faults_.size() >= faults_max; }
    bool too_many_elements(const Place& place) {
        // One count for the whole text, because lists in lists would multiply a bound for each.
        // Reported once, because every later element would repeat it.
        if (++elements_ <= options_.elements_max) return false;
        if (elements_ == options_.elements_max + 1) {
            fault(place, "more than " + std::to_string(options_.elements_max) + " elements");
        }
        return true;
    }
    bool unexpected(const element& from, const Type& type, const Place& place) {
        return fault(place, "expected " + expected_text(type), found_text(from));
    }
    bool fault(const Place& place, std::string problem, std::string found = "");
    bool fault_in(const Place& object, std::string_view member, std::string problem);
    std::size_t offset_of_place(const Place& place) const;

    ByteView text_;
    const Options& options_;
    Faults faults_;
    std::size_t elements_ = 0;
};

// simdjson's elements do not know their place in the text. It is searched for again, and only after
// a fault, so that a sound text pays nothing for it.
std::size_t Walk::offset_of_place(const Place& place) const {
    std::vector<std::size_t> ordinals;
    for (const Place* at = &place; at->above != nullptr; at = at->above) {
        ordinals.push_back(at->ordinal);
    }
    std::reverse(ordinals.begin(), ordinals.end());
    return offset_of(text_, ordinals);
}

bool Walk::fault(const Place& place, std::string problem, std::string found) {
    if (!is_full()) {
        faults_.push_back(
            {path_of(&place), std::move(problem), std::move(found), offset_of_place(place)});
    }
    return false;
}

// A fault of a member that is not there: it stands where its object does.
bool Walk::fault_in(const Place& object, std::string_view member, std::string problem) {
    if (is_full()) return false;
    const Place place{&object, member, 0, false};
    faults_.push_back({path_of(&place), std::move(problem), "", offset_of_place(object)});
    return false;
}

bool Walk::read_integer(const element& from, void* to, const Type& type, const Place& place) {
    std::int64_t value = 0;
    // get_int64() fails above INT64_MAX: only an unsigned member of 64 bits takes those.
    if (from.get_int64().get(value) == simdjson::SUCCESS && fits(value, type)) {
        store_integer(to, type.bytes, static_cast<std::uint64_t>(value));
        return true;
    }
    std::uint64_t large = 0;
    if (type.bytes == 8 && !type.is_signed && from.get_uint64().get(large) == simdjson::SUCCESS) {
        store_integer(to, type.bytes, large);
        return true;
    }
    return unexpected(from, type, place);
}

bool Walk::read_number(const element& from, void* to, const Type& type, const Place& place) {
    double value = 0;
    if (from.get_double().get(value) != simdjson::SUCCESS) return unexpected(from, type, place);
    if (type.bytes != sizeof(float)) {
        *static_cast<double*>(to) = value;
        return true;
    }
    // The conversion of a larger double to float would be undefined behaviour or infinity.
    constexpr double most = std::numeric_limits<float>::max();
    if (value > most || value < -most) {
        return fault(place, "expected a number that a float can hold", found_text(from));
    }
    *static_cast<float*>(to) = static_cast<float>(value);
    return true;
}

bool Walk::read_enumeration(const element& from, void* to, const Type& type, const Place& place) {
    std::string_view said;
    if (from.get_string().get(said) == simdjson::SUCCESS) {
        for (const EnumName& known : type.enumeration->names) {
            if (known.name != said) continue;
            store_integer(to, type.bytes, static_cast<std::uint64_t>(known.value));
            return true;
        }
    }
    return unexpected(from, type, place);
}

bool Walk::read_time(const element& from, void* to, const Type& type, const Place& place) {
    std::string_view said;
    if (from.get_string().get(said) == simdjson::SUCCESS) {
        if (const auto ticks = read_rfc3339(said, type.time->per_second)) {
            store_integer(to, 8, static_cast<std::uint64_t>(*ticks));
            return true;
        }
    }
    return unexpected(from, type, place);
}

bool Walk::read_list(const element& from, void* to, const Type& type, const Place& place) {
    simdjson::dom::array array;
    if (from.get_array().get(array) != simdjson::SUCCESS) return unexpected(from, type, place);
    const ListShape& shape = *type.list;
    shape.clear(to);
    bool good = true;
    std::size_t index = 0;
    for (const element child : array) {
        if (is_full() || too_many_elements(place)) return false;
        if (shape.fixed != 0 && index == shape.fixed) return unexpected(from, type, place);
        const Place inner{&place, {}, index, true};
        good &= read(child, shape.add(to, index++), *shape.element, inner);
    }
    if (index < shape.fixed) return unexpected(from, type, place);
    return good;
}

bool Walk::read_map(const element& from, void* to, const Type& type, const Place& place) {
    simdjson::dom::object object;
    if (from.get_object().get(object) != simdjson::SUCCESS) return unexpected(from, type, place);
    const MapShape& shape = *type.map;
    shape.clear(to);
    bool good = true;
    std::size_t ordinal = 0;
    for (const auto field : object) {
        if (is_full() || too_many_elements(place)) return false;
        const Place inner{&place, field.key, ordinal++, false};
        const auto key = key_of(field.key, *shape.key);
        if (!key) {
            good = fault(inner, "expected a name that is " + expected_text(*shape.key));
            continue;
        }
        void* const value = shape.add(to, *key);
        good &= value != nullptr ? read(field.value, value, *shape.value, inner)
                                 : fault(inner, "appears twice");
    }
    return good;
}

// Members mostly come in the order of the struct, so the next one is tried first.
std::size_t find_member(const ObjectShape& shape, std::string_view name, std::size_t next) {
    const std::size_t count = shape.members.size();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = next + i < count ? next + i : next + i - count;
        if (shape.members[at].name == name) return at;
    }
    return count;
}

bool Walk::read_object(const element& from, void* to, const Type& type, const Place& place) {
    simdjson::dom::object object;
    if (from.get_object().get(object) != simdjson::SUCCESS) return unexpected(from, type, place);
    const ObjectShape& shape = *type.object;
    const Unknown unknown = shape.unknown.value_or(options_.unknown);
    void* members[members_max];
    shape.addresses(to, members);
    // A bit for each member, of which there are members_max (64) at most.
    std::uint64_t seen = 0;
    // Members that are not in the text keep what the struct's own declaration gives them.
    bool good = true;
    std::size_t ordinal = 0;
    std::size_t next = 0;
    for (const auto field : object) {
        if (is_full()) return false;
        const Place inner{&place, field.key, ordinal++, false};
        const std::size_t at = find_member(shape, field.key, next);
        if (at == shape.members.size()) {
            if (unknown == Unknown::refuse) good = fault(inner, "is not a known member");
            continue;
        }
        next = at + 1 < shape.members.size() ? at + 1 : 0;
        const std::uint64_t bit = std::uint64_t{1} << at;
        good &= (seen & bit) == 0 ? read(field.value, members[at], *shape.members[at].type, inner)
                                  : fault(inner, "appears twice");
        seen |= bit;
    }
    if (options_.missing == Missing::refuse) good &= check_missing(shape, seen, place);
    // validate() sees only objects without a fault.
    return good && (shape.validate == nullptr || validate(to, shape, place));
}

bool Walk::check_missing(const ObjectShape& shape, std::uint64_t seen, const Place& place) {
    bool good = true;
    for (std::size_t i = 0; i < shape.members.size(); ++i) {
        const Member& member = shape.members[i];
        if ((seen >> i & 1) != 0 || may_be_missing(*member.type)) continue;
        good = fault_in(place, member.name, "is required");
    }
    return good;
}

bool Walk::validate(const void* object, const ObjectShape& shape, const Place& place) {
    Faults said;
    shape.validate(object, said);
    for (Fault& one : said) {
        if (is_full()) break;
        const Place inner{&place, one.path, 0, false};
        const std::string path = path_of(one.path.empty() ? &place : &inner);
        faults_.push_back(
            {path, std::move(one.problem), std::move(one.found), offset_of_place(place)});
    }
    return said.empty();
}

bool Walk::read_variant(const element& from, void* to, const Type& type, const Place& place) {
    const VariantShape& shape = *type.variant;
    if (!is_tagged(shape)) {
        for (const Alternative& alternative : shape.alternatives) {
            // No two alternatives have the same form here, so the first that fits is the only one.
            if (json::form_of(*alternative.type) != form_of(from)) continue;
            return read(from, alternative.make(to), *alternative.type, place);
        }
        return unexpected(from, type, place);
    }
    simdjson::dom::object object;
    if (from.get_object().get(object) != simdjson::SUCCESS || object.size() != 1) {
        return unexpected(from, type, place);
    }
    const auto field = *object.begin();
    const Place inner{&place, field.key, 0, false};
    for (const Alternative& alternative : shape.alternatives) {
        if (tag_of(*alternative.type) != field.key) continue;
        return read(field.value, alternative.make(to), *alternative.type, inner);
    }
    return unexpected(from, type, place);
}

bool Walk::read_checked(const element& from, void* to, const Type& type, const Place& place) {
    const CheckedShape& shape = *type.checked;
    // A value of another type has its own message, and none of the range beside it.
    if (!read(from, to, *shape.value, place)) return false;
    if (shape.holds == nullptr || shape.holds(to)) return true;
    return unexpected(from, type, place);
}

bool Walk::read_converted(const element& from, void* to, const Type& type, const Place& place) {
    struct Inside {
        Walk& walk;
        const element& from;
        const Type& json;
        const Place& place;
    } inside{*this, from, *type.convert->json, place};
    std::string reason;
    const auto outcome = type.convert->read(
        to, &inside,
        [](void* context, void* json) {
            const Inside& in = *static_cast<Inside*>(context);
            return in.walk.read(in.from, json, in.json, in.place);
        },
        reason);
    if (outcome == ConvertShape::Outcome::done) return true;
    if (outcome == ConvertShape::Outcome::not_read) return false;
    if (reason.empty()) return unexpected(from, type, place);
    return fault(place, std::move(reason), found_text(from));
}

// Lists and maps read their elements through here again, with the limits that all lists have.
bool Walk::read_any(const element& from, Value& to, const Place& place) {
    switch (from.type()) {
        case element_type::ARRAY: {
            Array array;
            const bool good = read(from, &array, type_of<Array>, place);
            to = std::move(array);
            return good;
        }
        case element_type::OBJECT: {
            Object object;
            const bool good = read(from, &object, type_of<Object>, place);
            to = std::move(object);
            return good;
        }
        case element_type::STRING:
            to = from.get_string().value_unsafe();
            break;
        case element_type::INT64:
            to = std::int64_t{from.get_int64().value_unsafe()};
            break;
        case element_type::UINT64:
            to = std::uint64_t{from.get_uint64().value_unsafe()};
            break;
        case element_type::DOUBLE:
            to = from.get_double().value_unsafe();
            break;
        case element_type::BOOL:
            to = from.get_bool().value_unsafe();
            break;
        case element_type::NULL_VALUE:
            to = nullptr;
            break;
    }
    return true;
}

bool Walk::read(const element& from, void* to, const Type& type, const Place& place) {
    switch (type.kind) {
        case Kind::boolean: {
            bool value = false;
            if (from.get_bool().get(value) != simdjson::SUCCESS) break;
            *static_cast<bool*>(to) = value;
            return true;
        }
        case Kind::integer:
            return read_integer(from, to, type, place);
        case Kind::number:
            return read_number(from, to, type, place);
        case Kind::text: {
            std::string_view value;
            if (from.get_string().get(value) != simdjson::SUCCESS) break;
            static_cast<std::string*>(to)->assign(value);
            return true;
        }
        case Kind::text_view:  // it would refer to simdjson's memory, which the next text gets
            TR_CHECK(false, "json::read does not compile for a std::string_view");
            break;
        case Kind::enumeration:
            return read_enumeration(from, to, type, place);
        case Kind::time:
            return read_time(from, to, type, place);
        case Kind::list:
            return read_list(from, to, type, place);
        case Kind::map:
            return read_map(from, to, type, place);
        case Kind::object:
            return read_object(from, to, type, place);
        case Kind::variant:
            return read_variant(from, to, type, place);
        case Kind::checked:
            return read_checked(from, to, type, place);
        case Kind::convert:
            return read_converted(from, to, type, place);
        case Kind::any:
            return read_any(from, *static_cast<Value*>(to), place);
        case Kind::optional:
            if (!from.is_null()) {
                return read(from, type.optional->make(to), *type.optional->value, place);
            }
            type.optional->clear(to);
            return true;
    }
    return unexpected(from, type, place);
}

// A parser, and a copy of the text: simdjson reads up to SIMDJSON_PADDING bytes after its end.
class Parser {
  public:
    simdjson::simdjson_result<element> parse(ByteView text, std::size_t depth_max) {
        // A parser for the largest text so far; simdjson reuses its tape for smaller ones.
        if (capacity_ < text.size() || depth_max_ != depth_max) {
            // None, until all of it is there: memory may run out on the way, and the thread keeps
            // this parser for its next text.
            capacity_ = 0;
            // At least what a thread keeps, so that growing texts do not reallocate each time.
            const std::size_t bytes = std::max<std::size_t>(text.size(), parser_kept_bytes);
            copy_ = std::make_unique<std::uint8_t[]>(bytes + simdjson::SIMDJSON_PADDING);
            if (const auto error = parser_.allocate(bytes, depth_max)) return error;
            capacity_ = bytes;
            depth_max_ = depth_max;
        }
        if (!text.empty()) std::memcpy(copy_.get(), text.data(), text.size());
        std::memset(copy_.get() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
        // false: the padding is there, so simdjson makes no copy of its own.
        return parser_.parse(copy_.get(), text.size(), false);
    }
    bool is_large() const { return capacity_ > parser_kept_bytes; }

  private:
    simdjson::dom::parser parser_;
    std::unique_ptr<std::uint8_t[]> copy_;
    std::size_t capacity_ = 0;
    std::size_t depth_max_ = 0;
};

// Lends the thread's parser; a large one, and one within one (a validate() that reads), is its own.
class LentParser {
  public:
    LentParser() : parser_(kept_ ? std::move(kept_) : std::make_unique<Parser>()) {}
    ~LentParser() {
        // A large one goes: 15 times a text of megabytes would stay with each thread for ever.
        if (!parser_->is_large()) kept_ = std::move(parser_);
    }
    LentParser(const LentParser&) = delete;
    LentParser& operator=(const LentParser&) = delete;
    Parser* operator->() { return parser_.get(); }

  private:
    // Moved out while it is lent: a read within a read finds none and makes its own.
    static thread_local std::unique_ptr<Parser> kept_;
    std::unique_ptr<Parser> parser_;
};
thread_local std::unique_ptr<Parser> LentParser::kept_;

std::unexpected<Error> refuse(Error::Kind kind, std::size_t offset, std::string problem) {
    return std::unexpected(Error(kind, {Fault{"", std::move(problem), "", offset}}));
}

std::unexpected<Error> refuse_syntax(ByteView text, std::size_t depth_max,
                                     simdjson::error_code why) {
    const auto fault = first_fault(text, depth_max);
    if (!fault) return refuse(Error::Kind::syntax, 0, simdjson::error_message(why));
    return refuse(fault->too_deep ? Error::Kind::too_deep : Error::Kind::syntax, fault->offset,
                  fault->problem);
}

}  // namespace

//   size -> surrogates -> simdjson -> (integers beyond 64 bits: once more) -> Walk
//                            |                                               |
//                         syntax: scanned again by Scanner, for the place    content: all faults
std::expected<void, Error> read_value(ByteView text, void* value, const Type& type,
                                      const Options& options) {
    const std::size_t depth_max = std::min(options.depth_max, depth_limit);
    if (text.size() > options.size_bytes_max) {
        return refuse(Error::Kind::too_large, options.size_bytes_max,
                      "more than " + std::to_string(options.size_bytes_max) + " bytes");
    }
    // Before simdjson, because its versions treat half surrogates differently (decision 15).
    if (may_have_surrogates(text) && first_fault(text, depth_max)) {
        return refuse_syntax(text, depth_max, simdjson::STRING_ERROR);
    }
    LentParser parser;
    element root;
    auto error = parser->parse(text, depth_max).get(root);
    // It is JSON, so the number is one that only a double can hold.
    if (error == simdjson::NUMBER_ERROR && !first_fault(text, depth_max)) {
        error = parser->parse(with_large_integers_as_numbers(text), depth_max).get(root);
    }
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();  // no fault of the text
    if (error != simdjson::SUCCESS) return refuse_syntax(text, depth_max, error);
    // Offsets are looked up in the text as it came, not in the widened one.
    Walk walk(text, options);
    if (walk.read(root, value, type, Place{})) return {};
    return std::unexpected(Error(Error::Kind::content, walk.take_faults()));
}

}  // namespace tiderace::json
