// The request target (RFC 9112 section 3.2), cut into its parts by the characters of RFC 3986.
//
//   origin     /where?q=now                   every method
//   absolute   http://example.org:80/where    every method
//   authority  example.org:443                CONNECT only
//   asterisk   *                              OPTIONS only
//
// Which form a method may use is the caller's business. The parts are views into the input and
// still percent-encoded: canonical_path.h makes the path that anything may act upon.
//
// Strict: no fragment, no user information, no raw space, control, quote, '<', '>', backslash or
// byte above 0x7E, and each '%' begins a valid escape. One mercy, because every browser sends them
// raw:
// "[]|^" in a path, and "[]|^`{}\" in a query, though RFC 3986 would have them escaped.
//
// Thread   Any; no state.
// Errors   nullopt: not a request target; the answer is 400.
// Memory   None. `path` of an absolute form without one is a literal "/".
#pragma once

#include <cstdint>
#include <optional>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

struct Target {
    enum class Form : std::uint8_t { origin, absolute, authority, asterisk };

    Form form = Form::origin;
    ByteView scheme;     // absolute only: "http" or "https" in the peer's own case
    ByteView authority;  // absolute and authority: "host", "host:port", "[::1]:port"
    ByteView path;       // origin and absolute: begins with '/'
    ByteView query;      // after the '?', without it
    bool has_query = false;
};

std::optional<Target> parse_target(ByteView text);

// host [":" port] of RFC 3986 without user information: also what a Host field must hold. The host
// is a name, an IPv4 address or a bracketed IPv6 address and never empty; a port is 0 to 65535, and
// may be absent or empty ("example.org:").
bool is_valid_authority(ByteView text);

}  // namespace tiderace::http::wire
