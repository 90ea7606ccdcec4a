#include "tiderace/http/wire/entity_tag.h"

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

// etagc: visible, not a quote; bytes from 0x80 up are allowed of old.
bool is_tag_char(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x21 && byte != '"' && byte != 0x7F;
}

// Takes a tag from the front of `text`, which a backslash does not escape anything in: a list of
// tags cannot be cut like other lists.
std::optional<EntityTag> take_tag(ByteView& text) {
    EntityTag tag{.weak = text.starts_with("W/")};
    const ByteView quoted = text.substr(tag.weak ? 2 : 0);
    if (!quoted.starts_with('"')) return std::nullopt;
    std::size_t end = 1;
    while (end < quoted.size() && is_tag_char(quoted[end])) ++end;
    if (end == quoted.size() || quoted[end] != '"') return std::nullopt;
    tag.quoted = quoted.substr(0, end + 1);
    text = quoted.substr(end + 1);
    return tag;
}

void skip_ows(ByteView& text) {
    while (!text.empty() && is_ows(text.front())) text.remove_prefix(1);
}

}  // namespace

std::optional<EntityTag> parse_entity_tag(ByteView text) {
    const auto tag = take_tag(text);
    return text.empty() ? tag : std::nullopt;
}

bool same_tag(const EntityTag& a, const EntityTag& b, TagCompare compare) {
    if (compare == TagCompare::strong && (a.weak || b.weak)) return false;
    return a.quoted == b.quoted;
}

bool tag_list_matches(ByteView value, const std::optional<EntityTag>& current, TagCompare compare) {
    value = trim_ows(value);
    if (value == "*") return true;
    bool found = false;
    for (;;) {
        skip_ows(value);
        if (!value.empty() && value.front() != ',') {
            const auto tag = take_tag(value);
            // A list that is not valid matches nothing; the request is then served, or refused with
            // 412.
            if (!tag) return false;
            found = found || (current && same_tag(*tag, *current, compare));
            skip_ows(value);
        }
        if (value.empty()) return found;
        if (value.front() != ',') return false;
        value.remove_prefix(1);
    }
}

EntityTagText format_entity_tag(std::int64_t changed_nanoseconds, std::uint64_t size,
                                std::uint64_t inode) {
    EntityTagText text;
    text.add("\"").add_number(static_cast<std::uint64_t>(changed_nanoseconds), 16);
    text.add("-").add_number(size, 16);
    text.add("-").add_number(inode, 16).add("\"");
    return text;
}

EntityTagText append_to_tag(ByteView tag, ByteView suffix) {
    EntityTagText text;
    // Inside the quotes: each variant of a file needs a tag of its own (RFC 9110, 8.8.3.3).
    text.add(tag.substr(0, tag.size() - 1)).add("-").add(suffix).add("\"");
    return text;
}

}  // namespace tiderace::http::wire
