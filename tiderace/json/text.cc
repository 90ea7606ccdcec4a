#include "tiderace/json/text.h"

#include <charconv>
#include <cmath>
#include <type_traits>

#include "tiderace/base/ascii.h"
#include "tiderace/base/utf8.h"

namespace tiderace::json {
namespace {

constexpr std::size_t number_bytes_max = 32;

constexpr std::uint64_t each_byte(std::uint64_t byte) {
    return byte * 0x0101010101010101;
}

// Not zero if one of eight bytes is a control character, a quote, a backslash or not ASCII.
std::uint64_t special_among(std::uint64_t eight) {
    const std::uint64_t quote = eight ^ each_byte('"');
    const std::uint64_t backslash = eight ^ each_byte('\\');
    const std::uint64_t found =
        (eight - each_byte(0x20)) | (quote - each_byte(1)) | (backslash - each_byte(1)) | eight;
    return found & each_byte(0x80);
}

bool is_plain(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

bool has_special(const char* eight_bytes) {
    std::uint64_t eight;
    std::memcpy(&eight, eight_bytes, 8);
    return special_among(eight) != 0;
}

std::size_t plain_bytes(std::string_view text) {
    std::size_t at = 0;
    while (text.size() - at >= 8 && !has_special(text.data() + at)) at += 8;
    // The last eight bytes together: some of them were already found to be plain.
    const bool tail_only = text.size() >= 8 && text.size() - at < 8;
    if (tail_only && !has_special(text.data() + text.size() - 8)) return text.size();
    while (at < text.size() && is_plain(text[at])) ++at;
    return at;
}

}  // namespace

void TextOut::put_long(std::string_view text) {
    flush();
    to_.append(text);
}

void TextOut::put_long_member(char before, std::string_view name) {
    put(before);
    put('"');
    put(name);
    put(std::string_view("\":"));
}

void TextOut::escape(unsigned char c) {
    constexpr std::string_view short_ones = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (std::size_t i = 0; i < short_ones.size(); i += 2) {
        if (static_cast<unsigned char>(short_ones[i]) == c) {
            put('\\');
            return put(short_ones[i + 1]);
        }
    }
    const char text[] = {'\\', 'u', '0', '0', hex_digits[c >> 4 & 15], hex_digits[c & 15]};
    put(std::string_view(text, sizeof text));
}

void TextOut::string(std::string_view text) {
    put('"');
    while (true) {
        const std::size_t plain = plain_bytes(text);
        put(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) break;
        const auto c = static_cast<unsigned char>(text[0]);
        if (c < 0x80) {
            escape(c);
            text.remove_prefix(1);
        } else if (const Utf8Char read = first_utf8_char(text); read.valid) {
            put(text.substr(0, read.size));
            text.remove_prefix(read.size);
        } else {
            // One U+FFFD for each byte, so that the next character is read from its own start.
            put(utf8_replacement);
            exact_ = false;
            text.remove_prefix(1);
        }
    }
    put('"');
}

void TextOut::integer(std::int64_t value) {
    char* const at = room(number_bytes_max);
    used_ = static_cast<std::size_t>(std::to_chars(at, at + number_bytes_max, value).ptr - block_);
}

void TextOut::integer(std::uint64_t value) {
    char* const at = room(number_bytes_max);
    used_ = static_cast<std::size_t>(std::to_chars(at, at + number_bytes_max, value).ptr - block_);
}

// The shortest text of a number of one to three decimals, such as 97.25, which std::to_chars would
// search for. False: it is another number, and nothing is written.
bool put_few_decimals(double value, char*& at) {
    const double magnitude = std::fabs(value);
    // Below 1e12 these are at most 15 digits. Two decimals of at most 15 digits are never the same
    // double, so this one, without the zeros at its end, is the shortest.
    if (!(magnitude >= 1 && magnitude < 1e12)) return false;
    const auto thousands = static_cast<std::uint64_t>(magnitude * 1000 + 0.5);
    unsigned decimals = static_cast<unsigned>(thousands % 1000);
    if (decimals == 0 || static_cast<double>(thousands) / 1000 != magnitude) return false;
    if (value < 0) *at++ = '-';
    at = std::to_chars(at, at + 12, thousands / 1000).ptr;
    *at++ = '.';
    for (unsigned place = 100; decimals > 0; decimals %= place, place /= 10) {
        *at++ = static_cast<char>('0' + decimals / place);
    }
    return true;
}

// The fewest digits that read back the same. Readers take digits alone for an integer, which has 64
// bits at most and no negative zero; so large numbers get an exponent, and negative zero gets ".0".
template <typename T>
void TextOut::real(T value) {
    if (!std::isfinite(value)) {
        exact_ = false;
        return null();
    }
    char* at = room(number_bytes_max);
    char* const end = at + number_bytes_max;
    if constexpr (std::is_same_v<T, double>) {
        if (put_few_decimals(value, at)) {
            used_ = static_cast<std::size_t>(at - block_);
            return;
        }
    }
    const bool large = value >= T(1e15) || value <= T(-1e15);
    char* last = large ? std::to_chars(at, end, value, std::chars_format::scientific).ptr
                       : std::to_chars(at, end, value).ptr;
    if (value == 0 && std::signbit(value)) {
        *last++ = '.';
        *last++ = '0';
    }
    used_ = static_cast<std::size_t>(last - block_);
}

void TextOut::number(double value) {
    real(value);
}
void TextOut::number(float value) {
    real(value);
}

}  // namespace tiderace::json
