#include "tiderace/http/wire/sha256_block.h"

#include <bit>
#include <cstddef>

#include "tiderace/base/hash_blocks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tiderace::http::wire {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
alignas(16) constexpr std::array<std::uint32_t, 64> sha256_constants{
    0x428A2F98U, 0x71374491U, 0xB5C0FBCFU, 0xE9B5DBA5U, 0x3956C25BU, 0x59F111F1U, 0x923F82A4U,
    0xAB1C5ED5U, 0xD807AA98U, 0x12835B01U, 0x243185BEU, 0x550C7DC3U, 0x72BE5D74U, 0x80DEB1FEU,
    0x9BDC06A7U, 0xC19BF174U, 0xE49B69C1U, 0xEFBE4786U, 0x0FC19DC6U, 0x240CA1CCU, 0x2DE92C6FU,
    0x4A7484AAU, 0x5CB0A9DCU, 0x76F988DAU, 0x983E5152U, 0xA831C66DU, 0xB00327C8U, 0xBF597FC7U,
    0xC6E00BF3U, 0xD5A79147U, 0x06CA6351U, 0x14292967U, 0x27B70A85U, 0x2E1B2138U, 0x4D2C6DFCU,
    0x53380D13U, 0x650A7354U, 0x766A0ABBU, 0x81C2C92EU, 0x92722C85U, 0xA2BFE8A1U, 0xA81A664BU,
    0xC24B8B70U, 0xC76C51A3U, 0xD192E819U, 0xD6990624U, 0xF40E3585U, 0x106AA070U, 0x19A4C116U,
    0x1E376C08U, 0x2748774CU, 0x34B0BCB5U, 0x391C0CB3U, 0x4ED8AA4AU, 0x5B9CCA4FU, 0x682E6FF3U,
    0x748F82EEU, 0x78A5636FU, 0x84C87814U, 0x8CC70208U, 0x90BEFFFAU, 0xA4506CEBU, 0xBEF9A3F7U,
    0xC67178F2U,
};

std::array<std::uint32_t, 64> schedule(const unsigned char* block) {
    std::array<std::uint32_t, 64> words;
    for (std::size_t i = 0; i < 16; ++i) words[i] = HashBlocks::word(block, i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t x = words[i - 15];
        const std::uint32_t y = words[i - 2];
        words[i] = words[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) + words[i - 7] +
                   (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10));
    }
    return words;
}

}  // namespace

void absorb_in_cpp(Sha256State& state, const unsigned char* block) {
    const auto words = schedule(block);
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                  ((e & f) ^ (~e & g)) + sha256_constants[i] + words[i];
        const std::uint32_t two =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d,
             state[4] + e, state[5] + f, state[6] + g, state[7] + h};
}

#if defined(__x86_64__)

namespace {

// Intel 64 and IA-32 Architectures Software Developer's Manual, CPUID: leaf 7, EBX bit 29; what the
// code below uses beside it came with SSSE3 and SSE4.1, leaf 1, ECX bits 9 and 19.
bool has_sha_instructions() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned ssse3_and_sse41 = 1U << 9 | 1U << 19;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & ssse3_and_sse41) != ssse3_and_sse41) {
        return false;
    }
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
}

// The instructions hold the state in two registers, as words (a, b, e, f) and (c, d, g, h), and the
// message in registers of four words. SHA256RNDS2 does two rounds.
[[gnu::target("sha,sse4.1,ssse3")]] void absorb_in_registers(Sha256State& state,
                                                             const unsigned char* block) {
    const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    auto* const halves = reinterpret_cast<__m128i*>(state.data());
    const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(halves), 0xB1);
    const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(halves + 1), 0x1B);
    const __m128i abef_before = _mm_alignr_epi8(cdab, efgh, 8);
    const __m128i cdgh_before = _mm_blend_epi16(efgh, cdab, 0xF0);
    __m128i abef = abef_before;
    __m128i cdgh = cdgh_before;
    __m128i words[4];
    const auto* const input = reinterpret_cast<const __m128i*>(block);
    const auto* const constants = reinterpret_cast<const __m128i*>(sha256_constants.data());
#pragma GCC unroll 16
    for (std::size_t four = 0; four < 16; ++four) {
        __m128i& now = words[four % 4];
        if (four < 4) {
            now = _mm_shuffle_epi8(_mm_loadu_si128(input + four), big_endian);
        } else {
            const __m128i last = words[(four + 3) % 4];
            const __m128i seven_before = _mm_alignr_epi8(last, words[(four + 2) % 4], 4);
            now = _mm_sha256msg1_epu32(now, words[(four + 1) % 4]);
            now = _mm_sha256msg2_epu32(_mm_add_epi32(now, seven_before), last);
        }
        const __m128i sum = _mm_add_epi32(now, _mm_load_si128(constants + four));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
    }
    const __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1B);
    const __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xB1);
    _mm_storeu_si128(halves, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128(halves + 1, _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace

Sha256Absorb absorb_by_instructions() {
    return has_sha_instructions() ? absorb_in_registers : nullptr;
}

#else

Sha256Absorb absorb_by_instructions() {
    return nullptr;
}

#endif

}  // namespace tiderace::http::wire
