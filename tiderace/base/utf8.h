// UTF-8 (RFC 3629): whether a text is that, its characters one by one, and a text that has to be
// short, cut between two of them.
//
// Overlong forms, surrogates and values above U+10FFFF are never valid.
//
// Thread   Any: pure functions. One at a time for a Utf8Validator.
// Memory   None but three bytes of the validator: what a character that was cut off still needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace {

inline constexpr ByteView utf8_replacement = "\xEF\xBF\xBD";  // U+FFFD

// True for each byte of a valid text that does not continue a character.
constexpr bool begins_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}
constexpr std::size_t count_characters(ByteView text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}
// The beginning of `text`: at most `bytes_max` of it, and no part of a character. All of it if it
// is no longer than that.
constexpr ByteView whole_characters(ByteView text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return text;
    std::size_t end = bytes_max;
    while (end > 0 && !begins_character(text[end])) --end;
    return text.substr(0, end);
}

struct Utf8Char {
    char32_t code = 0;     // U+FFFD when not valid
    std::size_t size = 0;  // bytes it takes, at least 1
    bool valid = false;    // false: surrogate, overlong, above U+10FFFF, cut off, or a stray byte
};

// The character at the front of `text`, which is not empty. What is not valid takes the bytes that
// could have begun a character, as the Unicode standard (3.9) recommends.
Utf8Char first_utf8_char(ByteView text);

// What follows a lead byte.
struct Utf8Lead {
    std::uint8_t followers = 0;  // still to come; 0: it is not a lead byte
    unsigned char low = 0x80;    // the least and the greatest that the next of them may be
    unsigned char high = 0xBF;
};

// Reports as soon as it is certain that a stream of bytes is not UTF-8. ASCII goes by sixteen bytes
// at a time; the rest byte by byte against the range that the lead byte leaves open.
class Utf8Validator {
  public:
    // The next bytes. False: whatever follows, it is not UTF-8; ask no more.
    bool take(ByteView bytes);
    // True when no character is cut off.
    bool complete() const { return lead_.followers == 0; }

  private:
    Utf8Lead lead_;
};

inline bool is_utf8(ByteView bytes) {
    Utf8Validator validator;
    return validator.take(bytes) && validator.complete();
}

}  // namespace tiderace
