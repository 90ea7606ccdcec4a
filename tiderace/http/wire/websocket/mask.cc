#include "tiderace/http/wire/websocket/mask.h"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace tiderace::http::wire {
namespace {

#if defined(__SSE2__)
constexpr std::size_t block_bytes = 16;
using Key = __m128i;
Key widen(std::uint32_t word) {
    return _mm_set1_epi32(static_cast<int>(word));
}
void mask_block(const char* in, char* out, Key key) {
    const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_xor_si128(data, key));
}
#elif defined(__aarch64__) && defined(__ARM_NEON)
constexpr std::size_t block_bytes = 16;
using Key = uint8x16_t;
Key widen(std::uint32_t word) {
    return vreinterpretq_u8_u32(vdupq_n_u32(word));
}
void mask_block(const char* in, char* out, Key key) {
    const uint8x16_t data = vld1q_u8(reinterpret_cast<const std::uint8_t*>(in));
    vst1q_u8(reinterpret_cast<std::uint8_t*>(out), veorq_u8(data, key));
}
#else
constexpr std::size_t block_bytes = 8;
using Key = std::uint64_t;
Key widen(std::uint32_t word) {
    return Key{word} << 32 | word;
}
void mask_block(const char* in, char* out, Key key) {
    std::uint64_t data;
    std::memcpy(&data, in, sizeof data);
    data ^= key;
    std::memcpy(out, &data, sizeof data);
}
#endif

}  // namespace

// In place, too: each block is read before it is written.
void apply_websocket_mask(ByteView bytes, WebSocketMask mask, char* out) {
    const char* in = bytes.data();
    std::size_t left = bytes.size();
    if (left >= block_bytes) {
        std::uint32_t word;  // in memory order, so that it fits either endianness
        std::memcpy(&word, mask.key.data(), sizeof word);
        const Key key = widen(word);
        for (; left >= block_bytes; left -= block_bytes, in += block_bytes, out += block_bytes) {
            mask_block(in, out, key);
        }
    }
    // Blocks are a multiple of four long: the key stands where it stood.
    for (std::size_t i = 0; i < left; ++i) {
        out[i] = static_cast<char>(static_cast<unsigned char>(in[i]) ^ mask.key[i % 4]);
    }
}

}  // namespace tiderace::http::wire
