// UTF-8 text that has to be short, cut between two characters.
#pragma once

#include <cstddef>

#include "tiderace/base/bytes.h"

namespace tiderace {

// The beginning of `text`: at most `bytes_max` of it, and no part of a character. All of it if it
// is no longer than that.
constexpr ByteView whole_characters(ByteView text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return text;
    std::size_t end = bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end);
}

}  // namespace tiderace
