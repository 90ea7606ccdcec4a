// Percent-encoding (RFC 3986 section 2.1): what an escape means, and how a file's name becomes a
// segment of a link.
//
// Thread   Any; no state.
// Memory   None: the output goes to the caller's BoundedText.
// Keywords: percent-encoding, URL encoding, %2F
#pragma once

#include <optional>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {

// The byte that the escape at the front of `text` ("%2F…") stands for; nullopt when it is not one.
constexpr std::optional<unsigned char> decode_escape(ByteView text) {
    if (text.size() < 3 || text[0] != '%') return std::nullopt;
    const int high = hex_value(text[1]);
    const int low = hex_value(text[2]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<unsigned char>(high << 4 | low);
}

// "%2F" for '/'. False, and nothing appended, when it does not fit.
bool append_escape(BoundedText& out, char c);

// Appends `segment` so that it stands for exactly these bytes in a link: "a b/c" -> "a%20b%2Fc".
// False, and nothing appended, when it does not fit. A relative link that begins with such a
// segment needs "./" before it, or a ':' in the segment would read as a scheme.
bool append_path_segment(BoundedText& out, ByteView segment);

// As above, but '/' stays: for a whole canonical path, in a Location field or a link.
bool append_path(BoundedText& out, ByteView path);

// A URI or a relative reference as a program has it: what cannot stand in one is escaped, line
// breaks among it, and its escapes stay. "/a b%2f#x" -> "/a%20b%2f#x".
inline constexpr std::size_t uri_growth_max = 3;
bool append_uri_reference(BoundedText& out, ByteView text);

}  // namespace tiderace::http::wire
