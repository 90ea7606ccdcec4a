// Text for HTML, safe between tags and inside quoted attributes.
//
// `& < > " '` become references. What a reader cannot see is made visible: a control character
// shows as its picture (U+2400…), a character that turns the direction of text round it as U+FFFD,
// and so does a byte that is not UTF-8. So a file named "exe.<RLO>gpj" cannot pose as a picture.
//
// Thread   Any; no state.
// Errors   False, and nothing appended, when it does not fit.
// Memory   None but the caller's, and the text that is returned.
// Keywords: XSS
#pragma once

#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

inline constexpr std::size_t html_growth_max = 6;  // "&quot;" for one byte

bool append_html(BoundedText& out, ByteView text);
std::string html_text(ByteView text);

}  // namespace tiderace::http::wire
