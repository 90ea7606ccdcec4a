#include "tiderace/base/sha1.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace tiderace {
namespace {

using State = std::array<std::uint32_t, 5>;
constexpr std::size_t block_bytes = 64;

std::uint32_t load_big_endian(const unsigned char* at) {
    return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
           std::uint32_t{at[3]};
}

// The function and the constant of one round (RFC 3174, 5).
std::uint32_t mix(unsigned round, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    if (round < 20) return ((b & c) | (~b & d)) + 0x5A827999U;
    if (round < 40) return (b ^ c ^ d) + 0x6ED9EBA1U;
    if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCU;
    return (b ^ c ^ d) + 0xCA62C1D6U;
}

void absorb(State& state, const unsigned char* block) {
    std::array<std::uint32_t, 80> words;
    for (unsigned i = 0; i < 16; ++i) words[i] = load_big_endian(block + 4 * std::size_t{i});
    for (unsigned i = 16; i < 80; ++i) {
        words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    auto [a, b, c, d, e] = state;
    for (unsigned i = 0; i < 80; ++i) {
        const std::uint32_t next = std::rotl(a, 5) + mix(i, b, c, d) + e + words[i];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::array<std::uint8_t, 20> sha1(ByteView bytes) {
    State state{0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U, 0xC3D2E1F0U};
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t left = bytes.size();
    for (; left >= block_bytes; left -= block_bytes, data += block_bytes) absorb(state, data);
    // The end: a one bit, zeros, and the length in bits.
    std::array<unsigned char, 2 * block_bytes> tail{};
    if (left > 0) std::memcpy(tail.data(), data, left);
    tail[left] = 0x80;
    const std::size_t tail_bytes = left < block_bytes - 8 ? block_bytes : 2 * block_bytes;
    const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
    for (unsigned i = 0; i < 8; ++i) {
        tail[tail_bytes - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
    }
    absorb(state, tail.data());
    if (tail_bytes > block_bytes) absorb(state, tail.data() + block_bytes);
    std::array<std::uint8_t, 20> digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) {
        digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
}

}  // namespace tiderace
