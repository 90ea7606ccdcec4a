// Internal. ByteBlock: sixteen bytes that are compared at once, by SSE2 (every x86-64) or NEON
// (every arm64). Elsewhere TR_HAS_BYTE_BLOCK is 0 and there is none: look at one byte after
// another.
//
//   const ByteBlock block = ByteBlock::load(at);
//   const std::uint64_t found = (block.equal('"') | block.at_most(0x1f)).bits();
//   if (found != 0) at += std::countr_zero(found) / ByteBlock::bits_per_byte;
//
// Thread   Any: pure functions.
// Memory   None.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "tiderace/base/language.h"

namespace tiderace {

#if defined(__SSE2__)
struct ByteBlock {
    static constexpr std::size_t width = 16;
    static constexpr unsigned bits_per_byte = 1;
    __m128i v;

    static ByteBlock load(const char* at) {
        return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))};
    }
    static ByteBlock of(std::uint64_t first, std::uint64_t last) {
        return {_mm_set_epi64x(static_cast<long long>(last), static_cast<long long>(first))};
    }
    static ByteBlock fill(unsigned char c) { return {_mm_set1_epi8(static_cast<char>(c))}; }
    ByteBlock equal(unsigned char c) const { return {_mm_cmpeq_epi8(v, fill(c).v)}; }
    ByteBlock at_most(unsigned char c) const {
        return {_mm_cmpeq_epi8(_mm_min_epu8(v, fill(c).v), v)};
    }
    ByteBlock minus(unsigned char c) const { return {_mm_sub_epi8(v, fill(c).v)}; }
    ByteBlock with_bits(unsigned char c) const { return {_mm_or_si128(v, fill(c).v)}; }
    ByteBlock operator|(ByteBlock other) const { return {_mm_or_si128(v, other.v)}; }
    ByteBlock without(ByteBlock other) const { return {_mm_andnot_si128(other.v, v)}; }
    std::uint64_t bits() const { return static_cast<unsigned>(_mm_movemask_epi8(v)); }
    std::uint64_t inverted_bits() const { return bits() ^ 0xffff; }
};
#define TR_HAS_BYTE_BLOCK 1
#elif defined(__aarch64__) && defined(__ARM_NEON)
struct ByteBlock {
    static constexpr std::size_t width = 16;
    static constexpr unsigned bits_per_byte = 4;
    uint8x16_t v;

    static ByteBlock load(const char* at) {
        return {vld1q_u8(reinterpret_cast<const std::uint8_t*>(at))};
    }
    static ByteBlock of(std::uint64_t first, std::uint64_t last) {
        return {vcombine_u8(vcreate_u8(first), vcreate_u8(last))};
    }
    static ByteBlock fill(unsigned char c) { return {vdupq_n_u8(c)}; }
    ByteBlock equal(unsigned char c) const { return {vceqq_u8(v, fill(c).v)}; }
    ByteBlock at_most(unsigned char c) const { return {vcleq_u8(v, fill(c).v)}; }
    ByteBlock minus(unsigned char c) const { return {vsubq_u8(v, fill(c).v)}; }
    ByteBlock with_bits(unsigned char c) const { return {vorrq_u8(v, fill(c).v)}; }
    ByteBlock operator|(ByteBlock other) const { return {vorrq_u8(v, other.v)}; }
    ByteBlock without(ByteBlock other) const { return {vbicq_u8(v, other.v)}; }
    // NEON has no move-mask: narrowing by four bits leaves four bits for each byte.
    std::uint64_t bits() const {
        return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0);
    }
    std::uint64_t inverted_bits() const { return ~bits(); }
};
#define TR_HAS_BYTE_BLOCK 1
#else
#define TR_HAS_BYTE_BLOCK 0
#endif

#if TR_HAS_BYTE_BLOCK
// A text of 1 to 16 bytes as a block of these bytes alone, some of them more than once, and in no
// order: to see whether it has a byte of a kind. Nothing outside of the text is read.
inline ByteBlock block_of_short(const char* at, std::size_t bytes) {
    const auto load = [&]<typename Word>(std::size_t from, Word word) {
        std::memcpy(&word, at + from, sizeof word);
        return word;
    };
    if (bytes >= 8)
        return ByteBlock::of(load(0, std::uint64_t{}), load(bytes - 8, std::uint64_t{}));
    std::uint64_t word = 0;
    if (bytes >= 4) {
        word = load(0, std::uint32_t{}) | std::uint64_t{load(bytes - 4, std::uint32_t{})} << 32;
    } else {
        const auto byte = [&](std::size_t from) {
            return std::uint64_t{load(from, std::uint8_t{})};
        };
        word = (byte(0) | byte(bytes / 2) << 8 | byte(bytes - 1) << 16 | byte(0) << 24);
        word |= word << 32;
    }
    return ByteBlock::of(word, word);
}
#endif

}  // namespace tiderace
