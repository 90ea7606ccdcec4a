#include "server/password_file.h"

#include <string.h>  // explicit_bzero
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>

#include "server/build_facts.h"
#include "tiderace/base/ascii.h"
#include "tiderace/base/constant_time.h"
#include "tiderace/base/random.h"

#if TIDERACE_HAVE_CRYPT && __has_include(<crypt.h>)
#include <crypt.h>
#endif

namespace tiderace::server {
namespace {

// bcrypt, SHA-256, SHA-512, yescrypt, gost-yescrypt and scrypt. Not DES, MD5 or $apr1$, which can
// be broken by trying.
constexpr std::array<std::string_view, 8> accepted_prefixes{"$2a$", "$2b$", "$2y$", "$5$",
                                                            "$6$",  "$y$",  "$gy$", "$7$"};

// crypt(3) of the password under the setting (or the whole hash); nullopt when it refuses.
std::optional<std::string> crypt_password([[maybe_unused]] std::string_view password,
                                          [[maybe_unused]] const std::string& setting) {
#if TIDERACE_HAVE_CRYPT
    const auto scratch = std::make_unique<crypt_data>();
    std::string phrase(password);
    const char* hash = crypt_r(phrase.c_str(), setting.c_str(), scratch.get());
    std::optional<std::string> result;
    // A refusal is a null pointer, or "*0" and "*1" (crypt(3)), which no hash begins with.
    if (hash && hash[0] == '$') result = hash;
    // A core dump, or memory that is used again, should not hold the password.
    explicit_bzero(phrase.data(), phrase.size());
    explicit_bzero(scratch.get(), sizeof(crypt_data));
    return result;
#else
    return std::nullopt;
#endif
}

// "$6$" and 16 random characters of crypt's own alphabet.
std::string random_setting() {
    constexpr std::string_view alphabet =
        "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::array<unsigned char, 16> bytes{};
    secure_random(bytes);
    // SHA-512, because glibc, libxcrypt, musl and FreeBSD all have it.
    std::string setting = "$6$";
    // 64 characters divide 256, so that all are equally likely.
    for (const unsigned char byte : bytes) setting += alphabet[byte % alphabet.size()];
    return setting;
}

// The digits of crypt(3): all that salts and hashes are written in.
bool is_crypt_text(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '/'; });
}

// "04" to "31": the cost of bcrypt.
bool is_cost(std::string_view text) {
    return text.size() == 2 && text[1] >= '0' && text[1] <= '9' &&
           ((text[0] == '0' && text[1] >= '4') || text[0] == '1' || text[0] == '2' ||
            (text[0] == '3' && text[1] <= '1'));
}

bool is_rounds(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Also whether crypt(3) can make such a hash. It is not tried, because a try takes as long as a
// sign-in; but a hash that it never makes would refuse its user for ever, and be no decoy.
bool is_accepted_hash(std::string_view hash) {
    const bool is_known = std::ranges::any_of(
        accepted_prefixes, [&](std::string_view prefix) { return hash.starts_with(prefix); });
    if (!is_known) return false;
    // $2y$cost$, then 22 digits of salt and 31 of hash.
    if (hash.starts_with("$2")) {
        return hash.size() == 60 && is_cost(hash.substr(4, 2)) && hash[6] == '$' &&
               is_crypt_text(hash.substr(7));
    }
    // $id$…$hash: at least a salt and a hash of 43 characters follow.
    const std::size_t last = hash.rfind('$');
    const std::string_view options = hash.substr(3, hash.find('$', 3) - 3);
    constexpr std::string_view rounds = "rounds=";
    const bool is_sha = hash.starts_with("$5$") || hash.starts_with("$6$");
    if (is_sha && options.starts_with(rounds) && !is_rounds(options.substr(rounds.size()))) {
        return false;
    }
    return std::ranges::count(hash, '$') >= 3 && hash.size() - last - 1 >= 43 &&
           is_crypt_text(hash.substr(last + 1));
}

}  // namespace

PasswordFile::PasswordFile() {
    std::array<unsigned char, sizeof decoy_seed_> bytes{};
    secure_random(bytes);
    for (const unsigned char byte : bytes) decoy_seed_ = decoy_seed_ << 8 | byte;
}

Result<PasswordFile> PasswordFile::load(std::span<const std::string> sources,
                                        Duration pipe_wait_max) {
    if (!TIDERACE_HAVE_CRYPT)
        return fail(Error(0, "check passwords", "", "this build has no crypt(3)"));
    PasswordFile file;
    for (const std::string& source : sources) {
        // A file whose path has a colon cannot be named, because it reads as USER:PASSWORD.
        const std::size_t colon = source.find(':');
        if (colon == std::string::npos) {
            // Or a pipe: `--basic-auth <(pass show site)`.
            const auto text = read_file_or_pipe(source, password_file_bytes_max,
                                                "read passwords from", pipe_wait_max);
            if (!text) return fail(text.error());
            if (auto added = file.add_lines(*text, source); !added) return fail(added.error());
            continue;
        }
        const std::string user = source.substr(0, colon);
        auto hash = crypt_password(std::string_view(source).substr(colon + 1), random_setting());
        if (!hash) return fail(Error(0, "hash the password of", user, "crypt(3) refuses it"));
        if (auto added = file.add({user, std::move(*hash)}, "the command line"); !added)
            return fail(added.error());
    }
    if (file.entries_.empty()) {
        return fail(Error(0, "read passwords", "", "there are no users, so no one could sign in"));
    }
    return file;
}

Result<PasswordFile> PasswordFile::parse(std::string_view text, std::string_view path) {
    PasswordFile file;
    if (auto added = file.add_lines(text, path); !added) return fail(added.error());
    return file;
}

// As htpasswd writes them. Empty lines, comments, the marks and line ends of Windows, and spaces
// around a name or a hash are accepted, because such files are edited by hand: a user whose name
// begins with a space would be locked out without a word.
Result<> PasswordFile::add_lines(std::string_view text, std::string_view path) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        line = trim_ows(line);
        if (line.empty() || line.starts_with('#')) continue;
        const std::string place = std::string(path) + ":" + std::to_string(number);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0) {
            return fail(Error(0, "read passwords from", place, "a line is NAME:HASH"));
        }
        // Some tools write further fields after a second colon.
        const std::string_view rest = line.substr(colon + 1);
        Entry entry{std::string(trim_ows(line.substr(0, colon))),
                    std::string(trim_ows(rest.substr(0, rest.find(':'))))};
        // No client can send such a name (basic_credentials.h). A file of UTF-16 has them, too.
        if (std::ranges::any_of(entry.user, is_control_character)) {
            return fail(Error(0, "read passwords from", place,
                              "the name has a control character; is the file UTF-8?"));
        }
        if (auto added = add(std::move(entry), place); !added) return added;
    }
    return {};
}

Result<> PasswordFile::add(Entry entry, const std::string& place) {
    if (!is_accepted_hash(entry.hash)) {
        return fail(Error(0, "read passwords from", place,
                          "the hash of " + entry.user +
                              " is not of a safe kind; make one with htpasswd -nB " + entry.user));
    }
    // One of two lines is an old password that its user believes to be replaced.
    if (find(entry.user)) {
        return fail(Error(0, "read passwords from", place, entry.user + " is there twice"));
    }
    entries_.push_back(std::move(entry));
    return {};
}

const PasswordFile::Entry* PasswordFile::find(std::string_view user) const {
    const auto found = std::ranges::find(entries_, user, &Entry::user);
    return found == entries_.end() ? nullptr : &*found;
}

const PasswordFile::Entry& PasswordFile::decoy(std::string_view user) const {
    std::uint64_t mixed = decoy_seed_;
    for (const char c : user) {
        // Any even spread will do: without the seed, clients cannot compute which hash a name gets.
        mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15ULL;
        mixed ^= mixed >> 29;
    }
    return entries_[mixed % entries_.size()];
}

bool PasswordFile::verify(std::string_view user, std::string_view password) const {
    try {
        return is_right(user, password);
    } catch (const std::bad_alloc&) {
        return false;  // on a thread of the pool nothing may be thrown; the client tries again
    }
}

bool PasswordFile::is_right(std::string_view user, std::string_view password) const {
    // crypt(3) would end the password at a NUL and take the rest for right. Answered at once, which
    // depends on the password alone and so reveals nothing of the names.
    const bool is_usable =
        password.size() <= password_bytes_max && password.find('\0') == std::string_view::npos;
    if (entries_.empty() || !is_usable) return false;
    const Entry* known = find(user);
    // An unknown user costs as much time as a known one, and always the same hash for one name.
    const Entry& entry = known ? *known : decoy(user);
    const auto hash = crypt_password(password, entry.hash);
    const bool is_equal = hash && equals_in_constant_time(entry.hash, *hash);
    return known && is_equal;
}

}  // namespace tiderace::server
