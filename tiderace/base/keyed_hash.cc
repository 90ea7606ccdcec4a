#include "tiderace/base/keyed_hash.h"

#include <array>
#include <bit>
#include <cstring>

#include "tiderace/base/random.h"

namespace tiderace {
namespace {

struct State {
    std::uint64_t a, b, c, d;

    void mix(int rounds) {
        for (int i = 0; i < rounds; ++i) {
            a += b;
            c += d;
            b = std::rotl(b, 13) ^ a;
            d = std::rotl(d, 16) ^ c;
            a = std::rotl(a, 32);
            c += b;
            a += d;
            b = std::rotl(b, 17) ^ c;
            d = std::rotl(d, 21) ^ a;
            c = std::rotl(c, 32);
        }
    }
    void take(std::uint64_t word, int rounds) {
        d ^= word;
        mix(rounds);
        a ^= word;
    }
};

// Little-endian, whatever the machine is: the same key gives the same hash everywhere.
std::uint64_t word_of(const char* bytes, std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, count);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

}  // namespace

std::uint64_t sip_hash(ByteView bytes, const SipKey& key, int rounds, int last_rounds) {
    State state{key.first ^ 0x736f6d6570736575, key.second ^ 0x646f72616e646f6d,
                key.first ^ 0x6c7967656e657261, key.second ^ 0x7465646279746573};
    const std::uint64_t length = static_cast<std::uint64_t>(bytes.size()) << 56;
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) state.take(word_of(bytes.data(), 8), rounds);
    state.take(word_of(bytes.data(), bytes.size()) | length, rounds);
    state.c ^= 0xff;
    state.mix(last_rounds);
    return state.a ^ state.b ^ state.c ^ state.d;
}

KeyedHash::KeyedHash() {
    std::array<unsigned char, sizeof key_> random;
    secure_random(random);
    std::memcpy(&key_, random.data(), sizeof key_);
}

}  // namespace tiderace
