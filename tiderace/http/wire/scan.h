// Internal. Scan: the first byte that ends a token, a target or a field value, sixteen bytes at a
// time.
//
//   find_first<TokenEnd>(bytes, from)    the index of the first byte at or after `from` that the
//                                        class stops at; bytes.size() when there is none
//
// A class is written once, over a Block of bytes, and once as a table look-up; SSE2 (every x86-64)
// and NEON (every arm64) give the block, other machines take the table. The tail shorter than a
// block is read by a block that ends where the view ends, so nothing past the view is ever touched.
// AVX2 was measured and left out: heads have short pieces, and it was not faster on them.
//
// Thread   Any: pure functions.
// Memory   None.
// Keywords: SIMD, SSE2, NEON
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/byte_block.h"
#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire::scan {

#if TR_HAS_BYTE_BLOCK
using Block = ByteBlock;
#endif

// The classes. `stops` is exact for one byte; `candidates` may stop at more bytes than that
// where the exact test is expensive (see `exact`), and never at fewer.
struct ValueEnd {  // controls but HT, and DEL: what no field value may hold
    static constexpr bool exact = true;
    static constexpr bool stops(char c) { return !is(value_byte, c); }
    template <typename B>
    static std::uint64_t candidates(B block) {
        return (block.at_most(0x1f).without(block.equal('\t')) | block.equal(0x7f)).bits();
    }
};

struct TargetEnd {  // all but visible ASCII, and '#'
    static constexpr bool exact = true;
    static constexpr bool stops(char c) { return !is(target_byte, c); }
    template <typename B>
    static std::uint64_t candidates(B block) {
        // 0x21..0x7e become 0x00..0x5d.
        return (block.minus(0x21).at_most(0x5d).without(block.equal('#'))).inverted_bits();
    }
};

struct TokenEnd {  // all but tchar; of tchar's rarer bytes it makes candidates
    static constexpr bool exact = false;
    static constexpr bool stops(char c) { return !is(token_byte, c); }
    template <typename B>
    static std::uint64_t candidates(B block) {
        const B letters = block.with_bits(0x20).minus('a').at_most('z' - 'a');
        const B digits = block.minus('0').at_most(9);
        return (letters | digits | block.equal('-')).inverted_bits();
    }
};

template <typename Class>
std::size_t find_first_portable(ByteView bytes, std::size_t from) {
    while (from < bytes.size() && !Class::stops(bytes[from])) ++from;
    return from;
}

#if TR_HAS_BYTE_BLOCK
// Candidates at or after `from`: from a whole block, or the view's last block shifted so that its
// lowest bit is the byte at `from`. Needs bytes.size() >= width and from < bytes.size().
template <typename B, typename Class>
std::uint64_t candidates_at(ByteView bytes, std::size_t from) {
    if (from + B::width <= bytes.size()) {
        return Class::candidates(B::load(bytes.data() + from));
    }
    const std::size_t last = bytes.size() - B::width;
    return Class::candidates(B::load(bytes.data() + last)) >> ((from - last) * B::bits_per_byte);
}

template <typename B, typename Class>
std::size_t find_first_in_blocks(ByteView bytes, std::size_t from) {
    if (bytes.size() < B::width) return find_first_portable<Class>(bytes, from);
    while (from < bytes.size()) {
        const std::uint64_t found = candidates_at<B, Class>(bytes, from);
        if (found == 0) {
            from += B::width;
            continue;
        }
        from += static_cast<unsigned>(std::countr_zero(found)) / B::bits_per_byte;
        if (Class::exact || Class::stops(bytes[from])) return from;
        ++from;
    }
    return bytes.size();
}
#endif

template <typename Class>
inline std::size_t find_first(ByteView bytes, std::size_t from) {
#if TR_HAS_BYTE_BLOCK
    return find_first_in_blocks<Block, Class>(bytes, from);
#else
    return find_first_portable<Class>(bytes, from);
#endif
}

}  // namespace tiderace::http::wire::scan
