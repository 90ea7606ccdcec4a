// Base64 (RFC 4648, 4): the alphabet with '+' and '/', padded.
//
// Thread   Any: pure functions.
// Errors   nullopt: not the one spelling of any bytes. A text without its padding, with a space or
//          with bits that no byte takes is none: two spellings of one text would be two keys for
//          one lock.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace {

// 0 to 63; -1: no character of base64.
constexpr int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

constexpr std::size_t base64_bytes(std::size_t bytes) {
    return (bytes + 2) / 3 * 4;
}
// Into `out`, which has room for base64_bytes().
void write_base64(std::span<const unsigned char> bytes, char* out);

std::string base64_of(std::string_view bytes);
std::optional<std::string> read_base64(std::string_view text);

}  // namespace tiderace
