#include "tiderace/base/sha1.h"

#include <bit>

namespace tiderace {
namespace {

// The function and the constant of one round (RFC 3174, 5).
std::uint32_t mix_of_round(unsigned round, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    if (round < 20) return ((b & c) | (~b & d)) + 0x5A827999U;
    if (round < 40) return (b ^ c ^ d) + 0x6ED9EBA1U;
    if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCU;
    return (b ^ c ^ d) + 0xCA62C1D6U;
}

}  // namespace

void Sha1Message::absorb(const unsigned char* block) {
    std::array<std::uint32_t, 80> words;
    for (unsigned i = 0; i < 16; ++i) words[i] = HashBlocks::word(block, i);
    // This rotation is the difference between SHA-1 and SHA-0.
    for (unsigned i = 16; i < 80; ++i) {
        words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    auto [a, b, c, d, e] = state_;
    for (unsigned i = 0; i < 80; ++i) {
        const std::uint32_t next = std::rotl(a, 5) + mix_of_round(i, b, c, d) + e + words[i];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    state_ = {state_[0] + a, state_[1] + b, state_[2] + c, state_[3] + d, state_[4] + e};
}

void Sha1Message::add(ByteView bytes) {
    blocks_.add(bytes, [this](const unsigned char* block) { absorb(block); });
}

Sha1 Sha1Message::end() {
    blocks_.end([this](const unsigned char* block) { absorb(block); });
    return HashBlocks::digest(state_);
}

Sha1 sha1(ByteView bytes) {
    Sha1Message message;
    message.add(bytes);
    return message.end();
}

}  // namespace tiderace
