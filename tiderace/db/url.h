// Internal. Url: where a database is.
//
//   sqlite:tidepool.db      sqlite:/var/lib/tidepool.db     sqlite::memory:
//   postgres://user:password@host:5432/name                 postgresql:// is the same
//   postgres://user@/name?socket=/var/run/postgresql        a Unix socket: the folder it is in
//   mariadb://user:password@host:3306/name                  mysql:// is the same
//   mariadb://user@/name?socket=/run/mysqld/mysqld.sock     a Unix socket: its path
//
// Other characters are escaped with %XX. After the `?`, `tls=require` requires TLS with any server,
// and `tls=verify` for one whose certificate is valid for the host; `ca=FILE` names the PEM file of
// the authorities to trust. Without it MariaDB trusts the system's, and PostgreSQL the ones in
// ~/.postgresql/root.crt. Names are looked up off the loop.
//
// Errors   Error{configuration}; it never repeats a password.
// Thread   Any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/db/statement.h"

namespace tiderace::db {

enum class Tls : std::uint8_t { off, require, verify };

struct Url {
    static Url parse(std::string_view text);

    // Without the password.
    std::string shown() const;

    Dialect dialect = Dialect::sqlite;
    std::string path;  // SQLite's file; ":memory:"
    std::string user;
    std::string password;
    std::string host;
    std::uint16_t port = 0;
    std::string name;
    std::string socket;  // a Unix socket instead of host and port
    Tls tls = Tls::off;
    std::string ca;  // with Tls::verify; "": the client library's own

    // Which servers TLS accepts, for the error of one that it refuses.
    std::string trust() const;
};

// "user:password@host:port", "[::1]:5432": what the URLs of all servers have. Throws
// Error{configuration}.
struct Authority {
    static Authority parse(std::string_view text);

    std::string user;
    std::string password;
    std::string host;
    std::uint16_t port = 0;  // 0: there is none
};
// Each %XX becomes its character.
std::string unescaped(std::string_view text);

}  // namespace tiderace::db
