#include "tiderace/http/wire/sha256.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace tiderace::http::wire {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> sha256_constants{
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

ByteView view_of(const auto& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Sha256Message::add(ByteView bytes) {
    blocks_.add(bytes, [this](const unsigned char* block) { absorb(block); });
}

Sha256 Sha256Message::end() {
    blocks_.end([this](const unsigned char* block) { absorb(block); });
    return HashBlocks::digest(state_);
}

void Sha256Message::absorb(const unsigned char* block) {
    const auto words = schedule(block);
    auto [a, b, c, d, e, f, g, h] = state_;
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
    state_ = {state_[0] + a, state_[1] + b, state_[2] + c, state_[3] + d,
              state_[4] + e, state_[5] + f, state_[6] + g, state_[7] + h};
}

Sha256 sha256(ByteView bytes) {
    Sha256Message digest;
    digest.add(bytes);
    return digest.end();
}

Sha256 hmac_sha256(ByteView key, ByteView first, ByteView second) {
    std::array<unsigned char, Sha256Message::block_bytes> padded{};
    if (key.size() > Sha256Message::block_bytes) {
        const Sha256 shortened = sha256(key);
        std::memcpy(padded.data(), shortened.data(), shortened.size());
    } else if (!key.empty()) {
        std::memcpy(padded.data(), key.data(), key.size());
    }
    for (auto& byte : padded) byte ^= 0x36;
    Sha256Message inner;
    inner.add(view_of(padded));
    inner.add(first);
    inner.add(second);
    const Sha256 hashed = inner.end();
    for (auto& byte : padded) byte ^= 0x36 ^ 0x5C;
    Sha256Message outer;
    outer.add(view_of(padded));
    outer.add(view_of(hashed));
    return outer.end();
}

}  // namespace tiderace::http::wire
