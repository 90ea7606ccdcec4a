#include "tiderace/base/keyed_hash.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "tiderace/base/random.h"

namespace tiderace {
namespace {

struct State {
    std::uint64_t a, b, c, d;

    // SipRound, as in the paper of Aumasson and Bernstein; its rotations are part of the
    // definition.
    void round() {
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
    // A constant number, so that the rounds are unrolled.
    template <int Rounds>
    void mix() {
        [this]<int... I>(std::integer_sequence<int, I...>) {
            ((static_cast<void>(I), round()), ...);
        }(std::make_integer_sequence<int, Rounds>());
    }
    template <int Rounds>
    void take(std::uint64_t word) {
        d ^= word;
        mix<Rounds>();
        a ^= word;
    }
};

// Little-endian, whatever the machine is: the same key gives the same hash everywhere.
template <typename Word>
std::uint64_t word_at(const char* bytes) {
    Word word = 0;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (std::endian::native == std::endian::big) {
        word =
            sizeof word == 8 ? __builtin_bswap64(word) : static_cast<Word>(__builtin_bswap32(word));
    }
    return word;
}

// Fewer than eight bytes, zeros after them. Two reads that overlap give each byte its place.
std::uint64_t last_word(const char* bytes, std::size_t count) {
    if (count >= 4) {
        return word_at<std::uint32_t>(bytes) | word_at<std::uint32_t>(bytes + count - 4)
                                                   << (8 * (count - 4));
    }
    const auto byte = [&](std::size_t at) {
        return std::uint64_t{static_cast<unsigned char>(bytes[at])} << (8 * at);
    };
    return count == 0 ? 0 : byte(0) | byte(count / 2) | byte(count - 1);
}

}  // namespace

template <int Rounds, int LastRounds>
std::uint64_t sip_hash(ByteView bytes, const SipKey& key) {
    // The constants spell "somepseudorandomlygeneratedbytes": they keep the four words apart under
    // a key of zeros.
    State state{key.first ^ 0x736f6d6570736575, key.second ^ 0x646f72616e646f6d,
                key.first ^ 0x6c7967656e657261, key.second ^ 0x7465646279746573};
    // Its last byte, in the last word: two texts that differ by zeros at the end differ in it.
    const std::uint64_t length = static_cast<std::uint64_t>(bytes.size()) << 56;
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
        state.take<Rounds>(word_at<std::uint64_t>(bytes.data()));
    }
    state.take<Rounds>(last_word(bytes.data(), bytes.size()) | length);
    state.c ^= 0xff;
    state.mix<LastRounds>();
    return state.a ^ state.b ^ state.c ^ state.d;
}

template std::uint64_t sip_hash<1, 3>(ByteView bytes, const SipKey& key);
template std::uint64_t sip_hash<2, 4>(ByteView bytes, const SipKey& key);

KeyedHash::KeyedHash() {
    std::array<unsigned char, sizeof key_> random;
    secure_random(random);
    std::memcpy(&key_, random.data(), sizeof key_);
}

}  // namespace tiderace
