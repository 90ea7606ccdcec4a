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
    ByteView authority;  // absolute and authority: see host.h; never without a host
    ByteView path;       // origin and absolute: begins with '/'
    ByteView query;      // after the '?', without it
    bool has_query = false;
};

std::optional<Target> parse_target(ByteView text);

}  // namespace tiderace::http::wire
