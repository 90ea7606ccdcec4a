#include "tiderace/base/random.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#if __has_include(<sys/random.h>)
#include <sys/random.h>  // Linux and macOS; <unistd.h> has it elsewhere
#endif

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"

namespace tiderace {

Random::Random(std::uint64_t seed) {
    // splitmix64 spreads a small seed over the whole state, which must not be all zero.
    for (std::uint64_t& word : state_) {
        seed += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        word = z ^ (z >> 31);
    }
}

Random Random::with_system_seed() {
    std::array<unsigned char, sizeof(std::uint64_t)> bytes;
    secure_random(bytes);
    return Random(std::bit_cast<std::uint64_t>(bytes));
}

// xoshiro256**: fast and well spread, and foretold by a few outputs. Secrets come from
// secure_random().
std::uint64_t Random::next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

// The high half of a product instead of a remainder, which costs a division. Both favour some
// results, by less than bound / 2^64.
std::uint64_t Random::below(std::uint64_t bound) {
    TR_CHECK(bound > 0);
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
}

void secure_random(std::span<unsigned char> out) {
    while (!out.empty()) {
        // getentropy() fails with EIO above 256 bytes (getentropy(3)).
        const std::size_t piece = out.size() < 256 ? out.size() : 256;
        if (::getentropy(out.data(), piece) == 0) {
            out = out.subspan(piece);
        } else {
            TR_CHECK(errno == EINTR, "the kernel has no random generator");
        }
    }
}

std::string random_name(std::size_t bytes) {
    std::array<unsigned char, 32> random;
    const std::span part = std::span(random).first(bytes);
    secure_random(part);
    return hex_text(part);
}

}  // namespace tiderace
