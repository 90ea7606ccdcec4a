// Internal. Cookies (RFC 6265bis): the Cookie field taken apart, and a Set-Cookie field rendered.
//
//   for (CookiePairs pairs(value); auto pair = pairs.next();) use(pair->name, pair->value);
//
// A pair without '=' or whose name is no token is skipped, as is one whose value holds a control
// character, a space, a quote inside, a comma, or a backslash: our own values never do, and other
// programs read them differently. Quotes around a value are part of it.
//
// Thread   Any; no state.
// Errors   CookieFault: why a cookie of ours cannot be sent. A bad pair of a peer is skipped.
// Limits   cookie_bytes_max for name and value, cookie_attribute_bytes_max for an attribute: what
//          browsers keep.
// Memory   None: pairs are views into the field's value.
// Keywords: Set-Cookie, SameSite, HttpOnly
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

inline constexpr std::size_t cookie_bytes_max = 4096;
inline constexpr std::size_t cookie_attribute_bytes_max = 1024;

struct CookiePair {
    ByteView name;
    ByteView value;
};

class CookiePairs {
  public:
    explicit CookiePairs(ByteView field) : rest_(field) {}

    // The next pair that can be trusted to mean what it says; nullopt at the end.
    std::optional<CookiePair> next();

  private:
    ByteView rest_;
};

enum class SameSite : std::uint8_t {
    unset,   // the browser's default
    strict,  // never sent with a request that another site began
    lax,     // sent when another site's link is followed
    none,    // always sent; needs `secure`
};

// One cookie for a client. Views, which outlive the rendering.
struct SetCookie {
    ByteView name;
    ByteView value;
    ByteView path = "/";
    ByteView domain = {};                      // "": this host alone
    std::optional<std::int64_t> max_age = {};  // seconds; none: until the browser closes; 0: now
    SameSite same_site = SameSite::lax;
    bool secure = true;
    bool http_only = true;
    bool partitioned = false;
};

enum class CookieFault : std::uint8_t {
    none,
    bad_name,       // no token
    bad_value,      // a byte that no cookie value holds
    bad_attribute,  // a path or domain with ';' or a control character, or a path without '/'
    insecure,       // SameSite=None, Partitioned or a name prefix that needs `secure`
    bad_prefix,     // "__Host-" with a domain or another path than "/"
    too_long,       // name and value above cookie_bytes_max, or an attribute above its maximum
};

std::string_view to_string(CookieFault fault);
CookieFault check_cookie(const SetCookie& cookie);

// Every cookie that check_cookie accepts fits in this many bytes.
inline constexpr std::size_t set_cookie_bytes_max =
    cookie_bytes_max + 2 * cookie_attribute_bytes_max + 160;

// Appends the field's value: "id=7; Path=/; Secure; HttpOnly; SameSite=Lax". False, and nothing
// appended, where it does not fit or the cookie has a fault.
bool append_set_cookie(BoundedText& out, const SetCookie& cookie);

}  // namespace tiderace::http::wire
