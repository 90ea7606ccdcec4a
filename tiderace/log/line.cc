#include "tiderace/log/line.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "tiderace/base/ascii.h"
#include "tiderace/base/utf8.h"

namespace tiderace::log {
namespace {

constexpr bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

// True when each of the eight bytes is plain. A borrow may also mark the byte above a
// marked one, which is harmless: the bytes are then checked one by one.
bool all_plain(std::uint64_t bytes) {
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    constexpr std::uint64_t tops = 0x8080808080808080ULL;
    const auto has = [&](std::uint64_t byte) {
        const std::uint64_t difference = bytes ^ (ones * byte);
        return (difference - ones) & ~difference;
    };
    const std::uint64_t controls = (bytes - ones * 0x20) & ~bytes;
    return ((bytes | controls | has(0x7f) | has('"') | has('\\')) & tops) == 0;
}

std::size_t plain_length(ByteView bytes) {
    std::size_t length = 0;
    for (std::uint64_t word = 0; bytes.size() - length >= sizeof word; length += sizeof word) {
        std::memcpy(&word, bytes.data() + length, sizeof word);
        if (!all_plain(word)) break;
    }
    while (length < bytes.size() && is_plain(static_cast<unsigned char>(bytes[length]))) ++length;
    return length;
}

// The letter after the backslash, 0 where there is none.
constexpr char short_escape(unsigned char byte) {
    switch (byte) {
        case '"':
        case '\\':
            return static_cast<char>(byte);
        case '\n':
            return 'n';
        case '\r':
            return 'r';
        case '\t':
            return 't';
        default:
            return 0;
    }
}

}  // namespace

Line& Line::number(double value) {
    const auto [end, failure] = std::to_chars(at_, end_, value);
    if (failure == std::errc{} && !full_) {
        at_ = end;
    } else {
        full_ = true;
    }
    return *this;
}

std::size_t Line::plain(ByteView bytes) {
    const std::size_t length = plain_length(bytes);
    const std::size_t room = static_cast<std::size_t>(end_ - at_);
    const std::size_t taken = std::min(length, room);
    if (taken != 0) std::memcpy(at_, bytes.data(), taken);
    at_ += taken;
    if (taken < length) full_ = true;
    return length;
}

// Plain bytes as they are, some as a backslash and a letter; `other` writes what begins with any
// other byte and returns how many bytes that was, 0 where it does not fit.
template <typename Other>
void Line::escaped(ByteView bytes, Other&& other) {
    while (!full_ && !bytes.empty()) {
        bytes.remove_prefix(plain(bytes));
        if (full_ || bytes.empty()) break;
        std::size_t used = 1;
        const auto byte = static_cast<unsigned char>(bytes.front());
        if (const char letter = short_escape(byte); letter != 0) {
            const std::array<char, 2> escape{'\\', letter};
            raw(ByteView(escape.data(), escape.size()));
        } else {
            used = other(bytes);
            if (used == 0) break;
        }
        bytes.remove_prefix(used);
    }
}

Line& Line::text(ByteView bytes) {
    escaped(bytes, [this](ByteView rest) -> std::size_t {
        const auto byte = static_cast<unsigned char>(rest.front());
        const std::array<char, 4> escape{'\\', 'x', hex_digits[byte >> 4], hex_digits[byte & 15]};
        raw(ByteView(escape.data(), escape.size()));
        return 1;
    });
    return *this;
}

void Line::unicode_escape(char32_t unit) {
    const std::array<char, 6> escape{'\\',
                                     'u',
                                     hex_digits[unit >> 12 & 15],
                                     hex_digits[unit >> 8 & 15],
                                     hex_digits[unit >> 4 & 15],
                                     hex_digits[unit & 15]};
    raw(ByteView(escape.data(), escape.size()));
}

// Returns the bytes of the character that was written, 0 where it does not fit.
std::size_t Line::unicode_escapes(ByteView bytes) {
    const Utf8Char point = first_utf8_char(bytes);
    if (!point.valid) {
        unicode_escape(0xfffd);
        return 1;
    }
    if (point.code < 0x10000) {
        unicode_escape(point.code);
        return point.size;
    }
    if (!fits(2 * escaped_byte_bytes_max)) return 0;  // both surrogates or none
    unicode_escape(0xd800 + ((point.code - 0x10000) >> 10));
    unicode_escape(0xdc00 + ((point.code - 0x10000) & 0x3ff));
    return point.size;
}

Line& Line::json(ByteView bytes) {
    escaped(bytes, [this](ByteView rest) { return unicode_escapes(rest); });
    return *this;
}

}  // namespace tiderace::log
