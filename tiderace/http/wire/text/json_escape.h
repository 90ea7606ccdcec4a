// Internal. Text for the inside of a JSON string (RFC 8259), without the quotes around it.
//
// The quote, the backslash and control characters are escaped; bytes that are not UTF-8 become
// U+FFFD, because a JSON text must be UTF-8. U+2028 and U+2029 are escaped too, because older
// JavaScript ends a line there, and so are angle brackets, which could end a script or begin an
// element where the text is put into a page.
//
// Thread   Any; no state.
// Errors   False, and nothing appended, when it does not fit.
// Memory   None but the caller's, and the text that is returned.
#pragma once

#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

inline constexpr std::size_t json_growth_max = 6;  // "\u0000" for one byte

bool append_json(BoundedText& out, ByteView text);
std::string json_text(ByteView text);

}  // namespace tiderace::http::wire
