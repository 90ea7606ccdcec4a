// CanonicalPath: the one path that matching, access rules and file opening ever see.
//
// Made once for each request, from the raw path of the target:
//   - escapes are decoded once ("%2561" becomes "%61", which is then a name and not an escape);
//   - "." and ".." segments are resolved, escaped ones too; one that climbs above the root is
//     a fault;
//   - runs of '/' become one;
//   - an escaped '/', NUL, any control character and a backslash, raw or escaped, are faults: each
//     means one thing to one reader and another thing to the next.
// The result is bytes, as file names are: names need not be UTF-8. But overlong UTF-8 (0xC0 0xAF
// for '/') is a bad escape, since a lenient decoder behind us would read something else than we
// did.
//
// Thread   Any; no state.
// Errors   PathFault, each with its own sentence (refusal.h): 400, and 414 for too_long.
// Limits   A raw path longer than the scratch is too_long, whatever it holds.
// Memory   The caller's scratch, and only when the path had to be changed.
// Keywords: path traversal, dot segments, normalisation, %2e, 414
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/refusal.h"

namespace tiderace::http::wire {

struct PathResult;

// A view that only canonicalize() makes, so that a function which takes one cannot be handed a raw
// path. Begins with '/'; lives as long as the raw path and the scratch do.
class CanonicalPath : public ByteView {
  public:
    CanonicalPath() = default;  // empty: what goes with a fault

  private:
    friend PathResult canonicalize(ByteView raw_path, std::span<char> scratch);
    explicit CanonicalPath(ByteView path) : ByteView(path) {}
};

enum class PathFault : std::uint8_t {
    none,
    bad_escape,         // '%' without two hexadecimal digits, or overlong UTF-8
    nul,                // %00
    encoded_slash,      // %2F
    above_root,         // a ".." too many
    too_long,           // longer than the scratch
    control_character,  // below 0x20, or 0x7F
    backslash,          // raw or %5C
    relative,           // does not begin with '/'
};

struct PathResult {
    PathFault fault = PathFault::none;
    CanonicalPath path;
    bool trailing_slash = false;  // path ends with '/'; true for "/"
    bool rewritten = false;       // path differs from the raw one, and is in the scratch
    bool hidden = false;          // has_hidden_segment(path), found on the way
};

PathResult canonicalize(ByteView raw_path, std::span<char> scratch);

// The refusal of a request with such a path; `none` for `none`.
Refusal refusal_of(PathFault fault);

// Whether a file's name can be a segment of a canonical path. One that cannot has no address.
bool may_be_segment(ByteView name);

// Whether the path is `prefix` or lies below it. "/api": "/api" and "/api/x", not "/apis"; "":
// every path, and also "*".
inline bool is_below(ByteView path, ByteView prefix) {
    return path.starts_with(prefix) &&
           (prefix.empty() || path.size() == prefix.size() || path[prefix.size()] == '/');
}

// Whether a segment begins with '.', save ".well-known" (RFC 8615) at the root.
bool has_hidden_segment(ByteView path);

}  // namespace tiderace::http::wire
