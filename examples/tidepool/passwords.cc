#include "examples/tidepool/passwords.h"

#include <sodium.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace tidepool {
namespace {

// OWASP's values for Argon2id: 19 MiB and two passes.
constexpr unsigned long long passes = 2;
constexpr std::size_t memory_bytes = std::size_t{19} * 1024 * 1024;

// The library chooses its code for this processor once; later calls return at once.
void begin_sodium() {
    if (sodium_init() < 0) throw std::runtime_error("libsodium could not start");
}

std::string hash_now(const std::string& password) {
    begin_sodium();
    std::array<char, crypto_pwhash_STRBYTES> text{};
    if (crypto_pwhash_str_alg(text.data(), password.data(), password.size(), passes, memory_bytes,
                              crypto_pwhash_ALG_ARGON2ID13) != 0) {
        throw std::bad_alloc();
    }
    return text.data();
}

// The hash of no member's password, compared when there is no such member.
const std::string& nobodys_hash() {
    static const std::string hash = hash_now(random_word());
    return hash;
}

}  // namespace

// From the moment a caller waits until it has its hash.
class Passwords::Turn {
  public:
    explicit Turn(std::size_t& waiting) : waiting_(waiting) {
        if (waiting_ == waiting_max) throw TooBusy();
        ++waiting_;
    }
    ~Turn() { --waiting_; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    std::size_t& waiting_;
};

tiderace::Task<std::string> Passwords::hash(std::string password) {
    const Turn turn(waiting_);
    // One at a time: each takes a processor and 19 MiB, and a flood of log-ins must leave both to
    // others.
    auto permit = co_await one_.acquire();
    auto work = [password = std::move(password)] { return hash_now(password); };
    co_return co_await tiderace::offload(work, std::move(permit));
}

tiderace::Task<bool> Passwords::matches(std::string password, std::string hash) {
    const Turn turn(waiting_);
    auto permit = co_await one_.acquire();
    auto work = [password = std::move(password), hash = std::move(hash)] {
        begin_sodium();
        const bool known = !hash.empty();
        // An unknown name takes as long as a wrong password, and so gives no name away.
        const std::string& against = known ? hash : nobodys_hash();
        const bool same =
            crypto_pwhash_str_verify(against.c_str(), password.data(), password.size()) == 0;
        return known && same;
    };
    co_return co_await tiderace::offload(work, std::move(permit));
}

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
