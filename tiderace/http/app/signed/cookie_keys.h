// CookieKeys: signs the values of cookies, so that a client cannot make up or change one.
//
//   const CookieKeys keys({read_secret("cookie.key"), read_secret("cookie.key.old")});
//   app.get<"/">([&](Cookies cookies) {
//       const auto theme = keys.get(cookies, "theme");       // nullopt: none, or not signed by us
//       …
//       return Response().cookie({.name = "theme", .value = keys.sign("theme", "dark")});
//   });
//
//   dark.<HMAC-SHA-256 of the name, a zero byte and the value, in hexadecimal>
//
// The client can read the value, and send an old one again: what has to be secret or to end on the
// server belongs into a Session. The name is signed with it, so that the value of one cookie is
// worth nothing in another. Keys are rotated by putting a new one first: it signs from then on, and
// the others still verify.
//
// Owner    The program; handlers borrow it.
// Thread   Any, at once: constant.
// Errors   A key of fewer than key_bytes_min bytes, and no key at all, are the program's fault:
//          they abort.
// Keywords: signed cookie, HMAC, key rotation
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/http/app/cookies.h"
#include "tiderace/http/app/signed/signing_keys.h"

namespace tiderace::http {

class CookieKeys final {
  public:
    static constexpr std::size_t key_bytes_min = SigningKeys::key_bytes_min;

    // The newest first. Random bytes, as `openssl rand -hex 32` makes them.
    explicit CookieKeys(std::vector<std::string> keys);

    // For Cookie::value, under this name alone.
    std::string sign(std::string_view name, std::string_view value) const;
    // The signed value: a part of `text`. Takes as long for a wrong signature as for a right one.
    std::optional<std::string_view> verify(std::string_view name, std::string_view text) const;
    std::optional<std::string_view> get(const Cookies& cookies, std::string_view name) const;

  private:
    SigningKeys keys_;
};

}  // namespace tiderace::http
