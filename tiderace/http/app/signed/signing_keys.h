// Internal. SigningKeys: HMAC-SHA-256 with several keys, the newest of which signs.
//
// Owner    What signs: CookieKeys, SignedUrls.
// Thread   Any, at once: constant.
// Errors   A key of fewer than key_bytes_min bytes, and no key at all, are the program's fault:
//          they abort.
// Keywords: HMAC, key rotation
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/language.h"

namespace tiderace::http {

class SigningKeys final {
  public:
    static constexpr std::size_t key_bytes_min = 32;
    static constexpr std::size_t signature_chars = 64;  // hexadecimal digits

    // The newest first.
    explicit SigningKeys(std::vector<std::string> keys);

    // Of `kind`, a zero byte and `text`. A signature of one kind is not valid for another kind;
    // no kind has a zero byte.
    std::string sign(std::string_view kind, std::string_view text) const;
    // A wrong signature takes as long as a right one, with every key.
    bool verify(std::string_view kind, std::string_view text, std::string_view signature) const;

  private:
    std::vector<std::string> keys_;
};

}  // namespace tiderace::http
