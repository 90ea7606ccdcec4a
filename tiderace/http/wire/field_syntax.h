// Internal. Field syntax: which bytes may stand where in a field, and lists of elements (RFC 9110,
// 5.5-5.6).
//
// Thread   Any: pure functions of their arguments.
// Errors   A forbidden byte is reported by `false` or malformed(), never repaired.
// Memory   None; every view points into what was given.
// Keywords: header value, token, CRLF injection, response splitting
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/ascii.h"
#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

using tiderace::equals_ignoring_case;
using tiderace::trim_ows;

enum ByteClass : std::uint8_t {
    token_byte = 1,   // tchar: methods, field names, parameter names
    value_byte = 2,   // field-vchar, SP and HT: what a field value may hold
    target_byte = 4,  // %x21-7E without '#': a fragment is never sent
    host_byte = 8,    // unreserved and sub-delims: reg-name without its percent
    quoted_byte = 16  // qdtext: inside a quoted string, without '"' and '\'
};

namespace syntax {
constexpr bool contains(ByteView set, char c) {
    return set.find(c) != ByteView::npos;
}

constexpr std::array<std::uint8_t, 256> make_byte_classes() {
    std::array<std::uint8_t, 256> classes{};
    for (unsigned i = 0; i < 256; ++i) {
        const char c = static_cast<char>(i);
        const bool printable = i >= 0x21 && i <= 0x7e;
        const bool text = printable || i >= 0x80 || c == ' ' || c == '\t';
        unsigned mask = 0;
        if (is_token_character(c)) mask |= token_byte;
        if (text) mask |= value_byte;
        if (printable && c != '#') mask |= target_byte;
        if (is_letter_or_digit(c) || (printable && contains("-._~!$&'()*+,;=", c)))
            mask |= host_byte;
        if (text && c != '"' && c != '\\') mask |= quoted_byte;
        classes[i] = static_cast<std::uint8_t>(mask);
    }
    return classes;
}
}  // namespace syntax

inline constexpr std::array<std::uint8_t, 256> byte_classes = syntax::make_byte_classes();

constexpr bool is(ByteClass wanted, char c) {
    return (byte_classes[static_cast<unsigned char>(c)] & wanted) != 0;
}
constexpr bool all(ByteClass wanted, ByteView bytes) {
    for (const char c : bytes) {
        if (!is(wanted, c)) return false;
    }
    return true;
}

constexpr bool is_token(ByteView bytes) {
    return !bytes.empty() && all(token_byte, bytes);
}
constexpr bool is_field_value(ByteView bytes) {
    return all(value_byte, bytes);
}

// What lies between two places of `bytes` that the caller has checked: substr() would check again,
// and throw.
constexpr ByteView between(ByteView bytes, std::size_t from, std::size_t to) {
    return {bytes.data() + from, to - from};
}

// Walks the elements of a comma list. Commas inside quoted strings do not part elements; the space
// around an element is trimmed; empty elements are passed over, as RFC 9110 5.6.1.2 asks, but
// counted.
//
//   for (ListReader list(value); list.next();) use(list.element());
class ListReader {
  public:
    explicit ListReader(ByteView value) : rest_(value) {}

    // False at the end, and at a quoted string that does not end: then malformed() is true.
    bool next();
    ByteView element() const { return element_; }
    bool malformed() const { return malformed_; }
    bool had_empty() const { return had_empty_; }

  private:
    ByteView rest_;
    ByteView element_;
    bool ended_ = false;
    bool malformed_ = false;
    bool had_empty_ = false;
};

}  // namespace tiderace::http::wire
