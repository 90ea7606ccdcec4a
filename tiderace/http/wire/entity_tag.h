// Internal. Entity tags (RFC 9110 section 8.8.3): made from a file's facts, read from fields,
// compared.
//
// Thread   Any; no state.
// Errors   nullopt or false: not a tag, or not a list of them.
// Memory   None; a parsed tag is a view into the field.
// Keywords: ETag, If-None-Match, weak validator
#pragma once

#include <cstdint>
#include <optional>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

struct EntityTag {
    bool weak = false;
    ByteView quoted;  // with its quotes: "\"abc\""
};

// Exactly one tag: `"abc"` or `W/"abc"`.
std::optional<EntityTag> parse_entity_tag(ByteView text);

enum class TagCompare : std::uint8_t {
    strong,  // both strong and the same: the bytes are the same
    weak,    // the same but for W/: the meaning is the same
};

bool same_tag(const EntityTag& a, const EntityTag& b, TagCompare compare);

// The value of If-Match or If-None-Match: "*" or a list of tags. A value that is neither, anywhere
// in it, matches nothing; so does a list when there is no current tag. "*" matches: the caller has
// something to be matched.
bool tag_list_matches(ByteView value, const std::optional<EntityTag>& current, TagCompare compare);

using EntityTagText = FixedText<76>;  // quotes, dashes, three numbers of 16 digits, a suffix
inline constexpr std::size_t tag_suffix_bytes_max = 20;

// A strong tag that changes when the file's bytes may have: "\"18a3f0c2b5e91d00-400-2f1\"". It
// contains the inode's time (st_ctim), because a writer may set back the modification time.
EntityTagText format_entity_tag(std::int64_t changed_nanoseconds, std::uint64_t size,
                                std::uint64_t inode);

// The same with `suffix` inside its quotes, for the same content in another coding:
// "\"18a3f0c2b5e91d00-400-2f1-gzip\"". `tag` is one that format_entity_tag made.
EntityTagText append_to_tag(ByteView tag, ByteView suffix);

}  // namespace tiderace::http::wire
