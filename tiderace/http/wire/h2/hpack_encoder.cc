#include "tiderace/http/wire/h2/hpack_encoder.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/h2/hpack_integer.h"
#include "tiderace/http/wire/h2/hpack_static_table.h"
#include "tiderace/http/wire/h2/huffman.h"

namespace tiderace::http::wire {
namespace {

using Fault = HpackEncoder::Fault;

// A representation's first byte, and the bits in it that an index has (RFC 7541, section 6).
struct Form {
    std::uint8_t pattern;
    unsigned prefix;
};
constexpr Form indexed_form = {0x80, 7};
constexpr Form insert_form = {0x40, 6};
constexpr Form size_update_form = {0x20, 5};
constexpr Form text_form = {0x00, 4};
constexpr Form secret_form = {0x10, 4};

char* write(char* to, Form form, std::uint32_t value) {
    return hpack_integer::write(to, form.pattern, form.prefix, value);
}

using NameSet = std::uint64_t;
constexpr NameSet set_of(std::initializer_list<FieldName> names) {
    NameSet set = 0;
    for (const FieldName name : names) set |= NameSet{1} << static_cast<unsigned>(name);
    return set;
}
constexpr bool contains(NameSet set, FieldName name) {
    return (set >> static_cast<unsigned>(name) & 1U) != 0;
}

// The same on most answers, or most requests, of a connection.
constexpr NameSet repeating = set_of({
    FieldName::server,
    FieldName::date,
    FieldName::content_type,
    FieldName::content_encoding,
    FieldName::content_language,
    FieldName::vary,
    FieldName::cache_control,
    FieldName::accept_ranges,
    FieldName::allow,
    FieldName::alt_svc,
    FieldName::x_content_type_options,
    FieldName::access_control_allow_origin,
    FieldName::access_control_allow_methods,
    FieldName::access_control_allow_headers,
    FieldName::access_control_max_age,
    FieldName::user_agent,
    FieldName::accept,
    FieldName::accept_encoding,
    FieldName::accept_language,
});
// Never indexed (RFC 7541, 7.1.3): once in a table, the size of later answers would show whether a
// guess is right.
constexpr NameSet secrets = set_of({
    FieldName::set_cookie,
    FieldName::cookie,
    FieldName::authorization,
});

constexpr std::size_t name_bytes_max = 256;

// Text in the one or the other spelling; nullptr when it does not fit before `end`.
char* write_text(char* to, const char* end, ByteView text, bool try_huffman) {
    const std::size_t coded = try_huffman ? huffman::encoded_bytes(text) : text.size();
    // A tie is sent plain, so that the peer need not decode it.
    const bool shorter = coded < text.size();
    const std::size_t bytes = shorter ? coded : text.size();
    const auto room = static_cast<std::size_t>(end - to);
    if (bytes > hpack_integer::value_max || room < bytes + hpack_integer::bytes_max) return nullptr;
    const std::uint8_t pattern = shorter ? hpack_text::huffman_bit : std::uint8_t{0};
    to = hpack_integer::write(to, pattern, hpack_text::prefix, static_cast<std::uint32_t>(bytes));
    if (shorter) return to + huffman::encode(text, {to, bytes});
    if (bytes > 0) std::memcpy(to, text.data(), bytes);
    return to + bytes;
}

// A whole literal; nullptr when it does not fit.
char* write_literal(char* to, const char* end, Form form, std::uint32_t name_index, ByteView name,
                    ByteView value, bool try_huffman) {
    if (static_cast<std::size_t>(end - to) < hpack_integer::bytes_max) return nullptr;
    to = write(to, form, name_index);
    if (name_index == 0) to = write_text(to, end, name, try_huffman);
    return to == nullptr ? nullptr : write_text(to, end, value, try_huffman);
}

struct LowerName {
    std::array<char, name_bytes_max> text;
    std::size_t size = 0;  // 0: not a token, or too long
    ByteView view() const { return {text.data(), size}; }
};

LowerName lower_name(ByteView name) {
    LowerName lower;
    if (name.size() > name_bytes_max || !is_token(name)) return lower;
    std::transform(name.begin(), name.end(), lower.text.begin(), to_lower);
    lower.size = name.size();
    return lower;
}

bool valid_value(ByteView value) {
    return judge_field_value(value) == Refusal::none;
}

std::uint32_t hash_of(ByteView name, ByteView value) {
    std::uint32_t hash = 2166136261U;
    for (const ByteView text : {name, value}) {
        for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
        // No byte has that value, so "ab" + "c" and "a" + "bc" differ.
        hash = (hash ^ 0x100U) * 16777619U;
    }
    // 0 marks an empty place.
    return hash == 0 ? 1 : hash;
}

}  // namespace

HpackEncoder::HpackEncoder(std::uint32_t table_bytes_max)
    : table_(default_table_bytes),
      table_bytes_max_(table_bytes_max),
      smallest_(default_table_bytes) {
    set_table_bytes(std::min(table_bytes_max, default_table_bytes));
}

void HpackEncoder::set_peer_table_bytes_max(std::uint32_t bytes) {
    set_table_bytes(std::min(bytes, table_bytes_max_));
}

// Between two blocks the size may fall and rise again. The peer has to evict at the lowest point,
// as we did, so that one is kept (RFC 7541, 4.2).
void HpackEncoder::set_table_bytes(std::uint32_t bytes) {
    if (bytes == table_.bytes_max()) return;
    smallest_ = size_changed_ ? std::min(smallest_, bytes) : bytes;
    size_changed_ = true;
    table_.set_bytes_max(bytes);
}

// The peer's table is unknown, so the next block empties both tables.
void HpackEncoder::start_over() {
    table_.clear();
    smallest_ = 0;
    size_changed_ = true;
}

// Whether the same field was sent as text not long ago. Forgets, and errs, without harm: a wrong
// "yes" puts one field into the table too early.
bool HpackEncoder::seen_before(ByteView name, ByteView value) {
    const std::uint32_t hash = hash_of(name, value);
    return std::exchange(seen_[hash % seen_places], hash) == hash;
}

HpackEncoder::Block::Block(HpackEncoder& encoder, std::span<char> out)
    : encoder_(encoder), out_(out), insertions_before_(encoder.table_.insertions()) {
    if (!encoder.size_changed_) return;
    if (out.size() < 2 * hpack_integer::bytes_max) {
        fail(Fault::overflow);
        return;
    }
    char* to = out.data();
    const std::uint32_t size = encoder.table_.bytes_max();
    // RFC 7541, 4.2: the smallest size since the last block, then the current one.
    if (encoder.smallest_ < size) to = write(to, size_update_form, encoder.smallest_);
    to = write(to, size_update_form, size);
    size_ = static_cast<std::size_t>(to - out.data());
}

HpackEncoder::Block::~Block() {
    const bool table_changed = encoder_.table_.insertions() != insertions_before_;
    // The block was not sent, but our table holds its insertions.
    if (!finished_ && table_changed) encoder_.start_over();
}

bool HpackEncoder::Block::fail(Fault fault) {
    if (fault_ == Fault::none) fault_ = fault;
    return false;
}

ByteView HpackEncoder::Block::finish() {
    if (fault_ != Fault::none) return {};
    finished_ = true;
    encoder_.size_changed_ = false;
    return {out_.data(), size_};
}

bool HpackEncoder::Block::indexed(std::uint32_t index) {
    if (out_.size() - size_ < hpack_integer::bytes_max) return fail(Fault::overflow);
    char* const to = out_.data() + size_;
    size_ += static_cast<std::size_t>(write(to, indexed_form, index) - to);
    return true;
}

bool HpackEncoder::Block::rendered(ByteView fields) {
    if (fault_ != Fault::none) return false;
    if (fields.size() > out_.size() - size_) return fail(Fault::overflow);
    if (!fields.empty()) std::memcpy(out_.data() + size_, fields.data(), fields.size());
    size_ += fields.size();
    return true;
}

bool HpackEncoder::Block::status(int code) {
    if (fault_ != Fault::none) return false;
    if (code < 100 || code > 999) return fail(Fault::bad_status);
    if (const std::uint32_t index = hpack_static::index_of_status(code); index != 0) {
        return indexed(index);
    }
    char* const end = out_.data() + out_.size();
    const char digits[] = {static_cast<char>('0' + code / 100),
                           static_cast<char>('0' + code / 10 % 10),
                           static_cast<char>('0' + code % 10)};
    char* const to = write_literal(out_.data() + size_, end, text_form, hpack_static::status_index,
                                   {}, ByteView(digits, sizeof digits), false);
    if (to == nullptr) return fail(Fault::overflow);
    size_ = static_cast<std::size_t>(to - out_.data());
    return true;
}

// A literal, which goes into the table when `insert` and it leaves room there for others. Huffman's
// code is worth its time where a text is sent once for many answers.
bool HpackEncoder::Block::text(const HpackField& field, std::uint32_t name_index, Spelling how) {
    const std::size_t size = field.name.size() + field.value.size() + hpack_field_overhead;
    const bool insert = how.insert && 2 * size <= encoder_.table_.bytes_max();
    Form form = how.secret ? secret_form : text_form;
    if (insert) form = insert_form;
    char* const to = write_literal(out_.data() + size_, out_.data() + out_.size(), form, name_index,
                                   field.name, field.value, insert);
    if (to == nullptr) return fail(Fault::overflow);
    size_ = static_cast<std::size_t>(to - out_.data());
    // After it was written: the peer inserts it when it reads it, and a block that overflows above
    // must not leave an entry that the peer never saw.
    if (insert) encoder_.table_.insert(field);
    return true;
}

bool HpackEncoder::Block::pseudo(PseudoField field, ByteView value) {
    if (fault_ != Fault::none) return false;
    std::uint32_t name_index = 0;
    for (std::uint32_t i = 1; i < hpack_static::status_index; ++i) {
        const HpackField& entry = hpack_static::entry(i);
        if (entry.pseudo != field) continue;
        // An entry with an empty value is there for its name only.
        if (entry.value == value && !value.empty()) return indexed(i);
        if (name_index == 0) name_index = i;
    }
    // The static table has all but the one of RFC 8441.
    TR_CHECK(name_index != 0 || field == PseudoField::protocol, "not a pseudo-field of requests");
    const ByteView name = to_string(field);
    const bool insert = field != PseudoField::path;  // the others repeat
    if (insert) {
        const std::uint32_t number = encoder_.table_.find(FieldName::other, name, value);
        if (number != HpackTable::none) return indexed(hpack_static::entries + 1 + number);
    }
    if (!valid_value(value)) return fail(Fault::bad_value);
    return text({.name = name, .value = value, .pseudo = field}, name_index, {.insert = insert});
}

bool HpackEncoder::Block::field(FieldName name, ByteView value) {
    TR_CHECK(name != FieldName::other, "a field needs a name: give its text");
    if (fault_ != Fault::none) return false;
    value = trim_ows(value);
    const bool insert = contains(repeating, name);
    if (insert) {
        const std::uint32_t number = encoder_.table_.find(name, {}, value);
        if (number != HpackTable::none) return indexed(hpack_static::entries + 1 + number);
    }
    if (!valid_value(value)) return fail(Fault::bad_value);
    return text({.name = to_lower_string(name), .value = value, .id = name},
                hpack_static::index_of(name),
                {.insert = insert, .secret = contains(secrets, name)});
}

bool HpackEncoder::Block::field(ByteView name, ByteView value) {
    const FieldName id = intern_field_name(name);
    if (id != FieldName::other) return field(id, value);
    if (fault_ != Fault::none) return false;
    value = trim_ows(value);
    const LowerName lower = lower_name(name);
    if (lower.size == 0) return fail(Fault::bad_name);
    if (!valid_value(value)) return fail(Fault::bad_value);
    // A field of the program's own enters the table only when it comes again: unique values would
    // evict the useful ones.
    if (!encoder_.seen_before(lower.view(), value)) {
        return text({.name = lower.view(), .value = value}, 0, {});
    }
    const std::uint32_t number = encoder_.table_.find(FieldName::other, lower.view(), value);
    if (number != HpackTable::none) return indexed(hpack_static::entries + 1 + number);
    return text({.name = lower.view(), .value = value}, 0, {.insert = true});
}

bool HpackEncoder::Block::number(FieldName name, std::uint64_t value) {
    char digits[20];
    const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return field(name, ByteView(digits, static_cast<std::size_t>(end - digits)));
}

namespace {

bool append_literal(std::string& fields, FieldName id, ByteView lower, ByteView value) {
    value = trim_ows(value);
    if (!valid_value(value)) return false;
    const std::size_t before = fields.size();
    // An upper bound: the longer spelling of both texts, and an integer before each and for the
    // form.
    fields.resize(before + lower.size() + value.size() + 3 * hpack_integer::bytes_max);
    const Form form = contains(secrets, id) ? secret_form : text_form;
    char* const end = fields.data() + fields.size();
    char* const to = write_literal(fields.data() + before, end, form, hpack_static::index_of(id),
                                   lower, value, true);
    fields.resize(to == nullptr ? before : static_cast<std::size_t>(to - fields.data()));
    return to != nullptr;
}

}  // namespace

bool append_hpack_field(std::string& fields, FieldName name, ByteView value) {
    TR_CHECK(name != FieldName::other, "a field needs a name: give its text");
    return append_literal(fields, name, to_lower_string(name), value);
}

bool append_hpack_field(std::string& fields, ByteView name, ByteView value) {
    const LowerName lower = lower_name(name);
    return lower.size > 0 &&
           append_literal(fields, intern_field_name(lower.view()), lower.view(), value);
}

}  // namespace tiderace::http::wire
