#include "examples/tidepool/names.h"

#include <sodium.h>

#include <array>
#include <cstdint>
#include <stdexcept>

namespace tidepool {
namespace {

// The library chooses its code for this processor once; later calls return at once.
void begin_sodium() {
    if (sodium_init() < 0) throw std::runtime_error("libsodium could not start");
}

}  // namespace

std::string random_word() {
    begin_sodium();
    std::array<unsigned char, 16> bits{};
    randombytes_buf(bits.data(), bits.size());
    std::array<char, 2 * bits.size() + 1> text{};
    sodium_bin2hex(text.data(), text.size(), bits.data(), bits.size());
    return text.data();
}

std::string FormNames::next() {
    std::array<char, 16> digits;
    std::uint64_t number = ++made_;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, number >>= 4) {
        *digit = "0123456789abcdef"[number & 15];
    }
    return start_ + std::string(digits.data(), digits.size());
}

std::string hash_of(std::string_view bytes) {
    // Names for contents, not for secrets: 128 bits keep two pictures apart.
    std::array<unsigned char, 16> hash{};
    crypto_generichash(hash.data(), hash.size(),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr,
                       0);
    std::array<char, 2 * hash.size() + 1> text{};
    sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
    return text.data();
}

}  // namespace tidepool
