// UTF-8 (RFC 3629), one character at a time, for text that is shown to people: a file's name or a
// peer's words, where broken bytes must not pass and must not swallow their neighbours.
//
// Thread   Any; no state.
// Memory   None.
#pragma once

#include <cstddef>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

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

// Appends `text` with what is not plain replaced, or, when it does not fit, nothing, and says
// false. `is_plain(char)`: the byte is copied as it is; `append_char(out, bytes, Utf8Char)` appends
// the replacement of one other character, or returns false if it does not fit.
bool append_escaped(BoundedText& out, ByteView text, auto is_plain, auto append_char) {
    const std::size_t start = out.size();
    while (!text.empty()) {
        std::size_t plain = 0;
        while (plain < text.size() && is_plain(text[plain])) ++plain;
        bool fits = out.append(text.substr(0, plain));
        text.remove_prefix(plain);
        if (fits && !text.empty()) {
            const Utf8Char read = first_utf8_char(text);
            fits = append_char(out, text.substr(0, read.size), read);
            text.remove_prefix(read.size);
        }
        if (!fits) {
            out.shrink_to(start);
            return false;
        }
    }
    return true;
}

}  // namespace tiderace::http::wire
