// Internal. Place: where a Redis or Valkey server is, and the account to log in with.
//
//   redis://user:password@host:6379/0       each part but the host may be left out
//   rediss://host:6380                      over TLS (Options::security)
//   unix:/run/redis/redis.sock?db=1         a Unix socket; also user=NAME and password=TEXT
//
// Other characters are escaped with %XX.
//
// Errors   Error{configuration}; it never repeats a password.
// Thread   Any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::db::redis {

struct Place {
    static Place parse(std::string_view url);

    // Without the password.
    std::string shown() const;
    // As tcp::dial takes it: "host:6379", "unix:/run/redis.sock".
    std::string address() const;

    std::string user;
    std::string password;
    std::string host;
    std::string socket;  // a Unix socket instead of host and port
    std::uint16_t port = 6379;
    std::uint32_t database = 0;
    bool tls = false;
};

}  // namespace tiderace::db::redis
