// Internal. Inline commands: a line of words, for people with telnet: SET name "two words"
//
// Spaces separate words. "Double quotes" know \n \r \t \b \a \xHH and a backslash before
// any other character; 'single quotes' know \' alone. A closing quote ends its word.
#pragma once

#include <string>
#include <vector>

#include "tiderace/base/bytes.h"

namespace tiderace::resp {

struct Range {
    std::uint32_t offset;
    std::uint32_t bytes;
};

// A page in a browser can make the browser connect to any port of its machine or network, and
// chooses much of what it sends there: the lines of an HTTP request, or the session ticket of a TLS
// handshake. The first line of both is detected here, so that nothing behind it is executed.
//
// Bytes that no person types, perhaps before the line is whole: TLS begins with 0x16 0x03 and may
// hold no end of a line; STUN begins with NUL.
bool has_control_bytes(ByteView line);
// Whether a reader can decide once `byte` is there: it ends the line, or is such a control byte.
bool ends_inline(char byte);
// "METHOD target HTTP/1.1" with any method, because a page chooses it; POST as the first word,
// which is no command; "Name:".
bool is_http(ByteView text, const std::vector<Range>& words);

// Appends the words of `line` to `text`, and where each lies in it to `words`. False: a quote is
// not closed, or followed by something else than a space.
bool split_inline(ByteView line, std::string& text, std::vector<Range>& words);

}  // namespace tiderace::resp
