// UTF-8 (RFC 3629), one character at a time, for text that is shown to people: a file's name or a
// peer's words, where broken bytes must not pass and must not swallow their neighbours.
//
// Thread   Any; no state.
// Memory   None.
#pragma once

#include <cstddef>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

inline constexpr ByteView utf8_replacement = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Char {
    char32_t code = 0;     // U+FFFD when not valid
    std::size_t size = 0;  // bytes it takes, at least 1
    bool valid = false;    // false: surrogate, overlong, above U+10FFFF, cut off, or a stray byte
};

// The character at the front of `text`, which is not empty. What is not valid takes the bytes that
// could have begun a character, as the Unicode standard (3.9) recommends.
Utf8Char first_utf8_char(ByteView text);

}  // namespace tiderace::http::wire
