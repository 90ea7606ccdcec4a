#include "tiderace/base/ascii.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tiderace {
namespace {

// Eight bytes, with capitals of ASCII in lower case.
constexpr std::uint64_t lower_word(std::uint64_t word) {
    constexpr std::uint64_t each = 0x01'01'01'01'01'01'01'01;
    // The high bit of each byte shows what holds of its low seven: a sum stays within its byte.
    const std::uint64_t low = word & each * 0x7f;
    const std::uint64_t from_a = low + each * (0x80 - 'A');
    const std::uint64_t above_z = low + each * (0x7f - 'Z');
    const std::uint64_t capitals = (from_a ^ above_z) & ~word & each * 0x80;
    return word | capitals >> 2;
}
std::uint64_t lower_word(const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return lower_word(word);
}

// Of four to seven bytes, the first four and the last four.
std::uint64_t lower_halves(ByteView bytes) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, bytes.data(), sizeof first);
    std::memcpy(&last, bytes.data() + bytes.size() - sizeof last, sizeof last);
    return lower_word(std::uint64_t{first} << 32 | last);
}

// Without branches and tables, so that the compiler writes many digits at once.
constexpr char hex_digit(unsigned half) {
    return static_cast<char>('0' + half + (half > 9 ? 'a' - '0' - 10 : 0));
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string made(text);
    std::ranges::transform(made, made.begin(), to_lower);
    return made;
}

bool equals_ignoring_case(ByteView a, ByteView b) {
    if (a.size() != b.size()) return false;
    constexpr std::size_t word_bytes = sizeof(std::uint64_t);
    const auto same = [&](std::size_t at) {
        return lower_word(a.data() + at) == lower_word(b.data() + at);
    };
    if (a.size() >= word_bytes / 2 && a.size() < word_bytes) {
        return lower_halves(a) == lower_halves(b);
    }
    if (a.size() >= word_bytes) {
        for (std::size_t at = 0; at + word_bytes < a.size(); at += word_bytes) {
            if (!same(at)) return false;
        }
        return same(a.size() - word_bytes);  // some bytes of the last one twice, perhaps
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (to_lower(a[i]) != to_lower(b[i])) return false;
    }
    return true;
}

std::string hex_text(std::span<const unsigned char> bytes) {
    std::string text(2 * bytes.size(), '\0');
    char* at = text.data();
    for (const unsigned char byte : bytes) {
        *at++ = hex_digit(byte >> 4);
        *at++ = hex_digit(byte & 15);
    }
    return text;
}

std::string bytes_of_hex(std::string_view digits) {
    std::string bytes;
    bytes.reserve(digits.size() / 2);
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        const int high = hex_value(digits[i]);
        const int low = hex_value(digits[i + 1]);
        if (high < 0 || low < 0) return {};
        bytes += static_cast<char>(high * 16 + low);
    }
    return bytes;
}

}  // namespace tiderace
