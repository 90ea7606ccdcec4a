#include "tiderace/password/hasher.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <optional>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/random.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/task/offload.h"

namespace tiderace::password {
namespace {

struct Costs {
    std::size_t memory;
    unsigned passes;
    bool operator==(const Costs&) const = default;
};

// Takes `mark` and a number from the front. nullopt: they are not there.
std::optional<unsigned> take_number(std::string_view& text, std::string_view mark) {
    if (!text.starts_with(mark)) return std::nullopt;
    text.remove_prefix(mark.size());
    unsigned number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

// nullopt: it is no hash of Argon2id.
std::optional<Costs> costs_of(std::string_view hash) {
    if (hash.size() >= crypto_pwhash_STRBYTES) return std::nullopt;
    const auto kibibytes = take_number(hash, "$argon2id$v=19$m=");
    const auto passes = kibibytes ? take_number(hash, ",t=") : std::nullopt;
    if (!passes) return std::nullopt;
    return Costs{std::size_t{*kibibytes} * 1'024, *passes};
}

// One that no password has, with these costs. Random bytes in place of a hash cost nothing to make.
std::string nobodys_hash(const Options& options) {
    const auto random_text = [](std::string& to, std::size_t bytes) {
        std::array<unsigned char, 32> random;
        secure_random(random);
        std::array<char, 64> text;
        to += '$';
        to += sodium_bin2base64(text.data(), text.size(), random.data(), bytes,
                                sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    };
    std::string hash = "$argon2id$v=19$m=" + std::to_string(options.memory / 1'024) +
                       ",t=" + std::to_string(options.passes) + ",p=1";
    random_text(hash, 16);
    random_text(hash, 32);
    return hash;
}

std::string make_hash(const std::string& password, const Options& options) {
    std::array<char, crypto_pwhash_STRBYTES> text{};
    if (crypto_pwhash_str_alg(text.data(), password.data(), password.size(), options.passes,
                              options.memory, crypto_pwhash_ALG_ARGON2ID13) != 0) {
        throw std::bad_alloc();
    }
    return text.data();
}

}  // namespace

// From the call until its result, or until its task ends.
class Hasher::Turn {
  public:
    explicit Turn(Hasher& of) : counters_(&of.counters_) {
        if (counters_->tasks >= of.options_.waiting_max) {
            ++counters_->refused;
            throw TooBusy();
        }
        ++counters_->tasks;
    }
    ~Turn() { --counters_->tasks; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    Counters* counters_;
};

Hasher::Hasher(Options options)
    : options_(options), free_(options.at_once * (options.memory / 1'024)) {
    TR_CHECK(options.at_once > 0, "a Hasher makes one hash at a time, at least");
    TR_CHECK(options.memory >= crypto_pwhash_MEMLIMIT_MIN && options.memory <= hash_memory_max,
             "a hash of a password takes 8 KiB to 256 MiB");
    TR_CHECK(options.passes >= 1 && options.passes <= hash_passes_max,
             "a hash of a password takes 1 to 32 passes");
    // Chooses the code for this processor; later calls return at once.
    TR_CHECK(sodium_init() >= 0, "libsodium starts");
}

// A cheap hash has the share of ours: it takes a processor, too.
std::size_t Hasher::share_of(std::size_t memory) const {
    const std::size_t ours = options_.memory / 1'024;
    return std::clamp(memory / 1'024, ours, ours * options_.at_once);
}

task::Task<std::string> Hasher::hash(std::string password) {
    if (password.size() > password_bytes_max) throw std::length_error("a password is too long");
    const Turn turn(*this);
    auto permit = co_await free_.acquire(share_of(options_.memory));
    unique_function<std::string()> work = [password = std::move(password), options = options_] {
        return make_hash(password, options);
    };
    co_return co_await task::offload(std::move(work), std::move(permit));
}

task::Task<bool> Hasher::verify(std::string password, std::string hash) {
    if (password.size() > password_bytes_max) co_return false;
    const Turn turn(*this);
    const auto costs = costs_of(hash);
    const bool fits = costs && costs->memory <= hash_memory_max && costs->passes <= hash_passes_max;
    if (!fits) hash = nobodys_hash(options_);
    auto permit = co_await free_.acquire(share_of(fits ? costs->memory : options_.memory));
    unique_function<bool()> work = [password = std::move(password), hash = std::move(hash)] {
        return crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
    };
    const bool same = co_await task::offload(std::move(work), std::move(permit));
    co_return fits&& same;
}

bool Hasher::needs_rehash(std::string_view hash) const {
    return costs_of(hash) != Costs{options_.memory / 1'024 * 1'024, options_.passes};
}

Hasher::Counters Hasher::counters() const {
    Counters counters = counters_;
    const std::size_t all = options_.at_once * (options_.memory / 1'024);
    counters.memory_bytes = (all - free_.free()) * 1'024;
    return counters;
}

}  // namespace tiderace::password
