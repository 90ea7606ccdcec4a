// PasswordFile: the users with access, for basic authentication.
//
// Lines are as htpasswd writes them, NAME:HASH, with hashes that crypt(3) knows and that are slow
// to guess: bcrypt ($2a$ $2b$ $2y$), SHA-2 ($5$ $6$), yescrypt ($y$ $gy$), scrypt ($7$). MD5,
// DES, unsalted SHA-1 and plain text are refused when the file is read.
//
// Thread   verify is const and may run on many threads at once. It is slow by design (milliseconds
//          to a second, by the hash): never on a loop.
// Errors   A file that cannot be read, or a line that cannot be used, named by its number.
// Limits   password_file_bytes_max, password_bytes_max, pipe_wait_default.
// Memory   verify takes and gives back about 32 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/file_or_pipe.h"
#include "tiderace/base/result.h"
#include "tiderace/base/units.h"

namespace tiderace::server {

inline constexpr std::size_t password_file_bytes_max = 1_MiB;
inline constexpr std::size_t password_bytes_max = 512;  // a longer one is wrong without a look

class PasswordFile {
  public:
    // Each source is NAME:PASSWORD, hashed here with a random salt, or the path of a file of lines.
    static Result<PasswordFile> load(std::span<const std::string> sources,
                                     Duration pipe_wait_max = pipe_wait_default);
    // The lines of one file; `path` is for errors only.
    static Result<PasswordFile> parse(std::string_view text, std::string_view path);

    // True when the name is known and the password is its own. An unknown name costs the time of
    // one of the known hashes, always the same one for the same name, so that neither the time nor
    // its change reveals which names are known.
    bool verify(std::string_view user, std::string_view password) const;

    // Whether the same passwords of the same users are known; salts count.
    bool operator==(const PasswordFile& other) const { return entries_ == other.entries_; }
    std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        std::string user;
        std::string hash;
        bool operator==(const Entry&) const = default;
    };

    PasswordFile();
    Result<> add_lines(std::string_view text, std::string_view path);
    Result<> add(Entry entry, const std::string& place);
    bool is_right(std::string_view user, std::string_view password) const;
    const Entry* find(std::string_view user) const;
    const Entry& decoy(std::string_view user) const;

    std::vector<Entry> entries_;
    std::uint64_t decoy_seed_ = 0;
};

}  // namespace tiderace::server
