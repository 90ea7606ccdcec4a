// Internal. HashBlocks: a message in pieces as the blocks of 64 bytes that SHA-1 and SHA-256 hash,
// padded at its end (FIPS 180-4, 5.1.1).
//
// Thread   One at a time.
// Memory   80 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tiderace/base/bytes.h"

namespace tiderace {

class HashBlocks {
  public:
    static constexpr std::size_t bytes = 64;

    // Calls absorb(const unsigned char*) with each whole block.
    template <typename F>
    void add(ByteView message, const F& absorb) {
        bits_ += std::uint64_t{message.size()} * 8;
        while (!message.empty()) {
            const ByteView taken = message.substr(0, bytes - held_);
            std::memcpy(block_.data() + held_, taken.data(), taken.size());
            held_ += taken.size();
            message.remove_prefix(taken.size());
            if (held_ == bytes) absorb_block(absorb);
        }
    }
    // The end: a one bit, zeros, and the length in bits.
    template <typename F>
    void end(const F& absorb) {
        block_[held_++] = 0x80;
        if (held_ > bytes - 8) {
            std::memset(block_.data() + held_, 0, bytes - held_);
            absorb_block(absorb);
        }
        std::memset(block_.data() + held_, 0, bytes - held_);
        for (unsigned i = 0; i < 8; ++i) {
            block_[bytes - 1 - i] = static_cast<unsigned char>(bits_ >> (8 * i));
        }
        absorb_block(absorb);
    }

    static std::uint32_t word(const unsigned char* block, std::size_t number) {
        const unsigned char* const at = block + 4 * number;
        return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
               std::uint32_t{at[3]};
    }
    // The state, most significant bytes first.
    template <std::size_t Words>
    static std::array<std::uint8_t, 4 * Words> digest(
        const std::array<std::uint32_t, Words>& state) {
        std::array<std::uint8_t, 4 * Words> made{};
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
        }
        return made;
    }

  private:
    template <typename F>
    void absorb_block(const F& absorb) {
        absorb(block_.data());
        held_ = 0;
    }

    std::array<unsigned char, bytes> block_{};
    std::size_t held_ = 0;
    std::uint64_t bits_ = 0;
};

}  // namespace tiderace
