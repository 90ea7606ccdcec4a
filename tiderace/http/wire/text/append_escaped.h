// append_escaped: a text for people, with the characters replaced that its place cannot hold.
// Broken bytes must not pass and must not swallow their neighbours.
//
// Thread   Any; no state.
// Memory   None.
#pragma once

#include <cstddef>

#include "tiderace/base/utf8.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

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
