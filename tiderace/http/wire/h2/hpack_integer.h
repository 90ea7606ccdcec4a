// HPACK's integers: a prefix in the low bits of a byte, then seven bits in each further byte (RFC
// 7541, section 5.1).
//
// Thread   Any: pure functions.
// Errors   A number of more than four further bytes is refused, though its value may be small:
//          nothing that HPACK counts is that large, and no encoder writes it so.
// Memory   None.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiderace::http::wire {

struct HpackInteger {
    bool valid;
    std::uint32_t value;
    const char* end;  // of its bytes
};

// Before a text stands its length, behind a bit that says whether it is in Huffman code (RFC 7541,
// 5.2).
namespace hpack_text {
inline constexpr std::uint8_t huffman_bit = 0x80;
inline constexpr unsigned prefix = 7;
}  // namespace hpack_text

namespace hpack_integer {
inline constexpr unsigned further_bytes_max = 4;
// A byte and that many further ones.
inline constexpr std::size_t bytes_max = 1 + further_bytes_max;
inline constexpr std::uint32_t value_max = (1U << 7 * further_bytes_max) - 1;

// The number whose first byte is at[0]; at < end. `prefix` is in bits, 4 to 7.
inline HpackInteger read(const char* at, const char* end, unsigned prefix) {
    const std::uint32_t mask = (1U << prefix) - 1;
    std::uint32_t value = static_cast<unsigned char>(*at++) & mask;
    if (value < mask) [[likely]] {
        return {true, value, at};
    }
    for (unsigned i = 0; i < further_bytes_max && at != end; ++i) {
        const auto byte = static_cast<unsigned char>(*at++);
        value += (byte & 0x7fU) << 7 * i;
        if ((byte & 0x80U) == 0) return {true, value, at};
    }
    return {false, 0, at};
}

// `pattern` is what stands above the prefix. Returns the end of what it wrote: at most bytes_max.
// `value` is at most value_max.
inline char* write(char* to, std::uint8_t pattern, unsigned prefix, std::uint32_t value) {
    const std::uint32_t mask = (1U << prefix) - 1;
    if (value < mask) [[likely]] {
        *to++ = static_cast<char>(pattern | value);
        return to;
    }
    *to++ = static_cast<char>(pattern | mask);
    value -= mask;
    while (value >= 0x80) {
        *to++ = static_cast<char>(0x80U | (value & 0x7fU));
        value >>= 7;
    }
    *to++ = static_cast<char>(value);
    return to;
}
}  // namespace hpack_integer

}  // namespace tiderace::http::wire
