// ASCII: classes of characters, small and capital letters, blanks around a text, numbers in digits.
//
// The same in every locale. A byte above 0x7F is in no class and has one case.
//
// Thread   Any: pure functions.
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tiderace/base/bytes.h"

namespace tiderace {

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_letter_or_digit(char c) {
    return is_letter(c) || is_digit(c);
}
// isspace() of the C locale.
constexpr bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
// What RFC 9110, 5.6.3, has around values: OWS.
constexpr bool is_ows(char c) {
    return c == ' ' || c == '\t';
}
constexpr bool is_control_character(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}
// RFC 9110, 5.6.2: methods, names of fields and of parameters.
constexpr bool is_token_character(char c) {
    return is_letter_or_digit(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
}
// A letter or digit of an identifier, as C++, SQL and JavaScript have them: each byte of UTF-8 that
// is not ASCII counts.
constexpr bool is_identifier_character(char c) {
    return is_letter_or_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

constexpr char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}
constexpr char to_upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c;
}
std::string lower_case(std::string_view text);
// Letters in either case are the same; of other bytes, each is itself alone.
bool equals_ignoring_case(ByteView a, ByteView b);
inline bool starts_with_ignoring_case(ByteView text, ByteView prefix) {
    return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}
inline bool ends_with_ignoring_case(ByteView text, ByteView suffix) {
    return text.size() >= suffix.size() &&
           equals_ignoring_case(text.substr(text.size() - suffix.size()), suffix);
}

// Without the characters of a class at either end.
template <auto is_in_class>
constexpr ByteView trim(ByteView text) {
    while (!text.empty() && is_in_class(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_in_class(text.back())) text.remove_suffix(1);
    return text;
}
constexpr ByteView trim_ows(ByteView text) {
    return trim<is_ows>(text);
}

// All of the text is a number that T can hold; nothing before or after it.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, value);
    return fault == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

inline constexpr std::string_view hex_digits = "0123456789abcdef";
inline constexpr std::string_view capital_hex_digits = "0123456789ABCDEF";
// Two digits for each byte.
std::string hex_text(std::span<const unsigned char> bytes);
inline std::string hex_text(ByteView bytes) {
    return hex_text(std::span(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}
// The bytes again; "" where there is another character.
std::string bytes_of_hex(std::string_view digits);
// 0 to 15; -1: no hexadecimal digit of either case.
constexpr int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}
// "%2F" for '/' (RFC 3986, 2.1).
constexpr std::array<char, 3> percent_escape(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return {'%', capital_hex_digits[byte >> 4], capital_hex_digits[byte & 15]};
}
inline void append_percent_escape(std::string& out, char c) {
    const std::array escape = percent_escape(c);
    out.append(escape.data(), escape.size());
}

}  // namespace tiderace
