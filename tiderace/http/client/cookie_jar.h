// Internal. CookieJar: the cookies that servers gave a client, and which go with a request
// (RFC 6265bis, 5.6 to 5.8).
//
//   jar.keep(origin, answer.header("Set-Cookie"), now);
//   request.add("Cookie", jar.header(origin, now));
//
// There is no list of public suffixes: a Domain of one label ("com") is refused, one such as
// "co.uk" is not. A client that talks to hosts that distrust each other has a jar for each.
//
// Owner    Its maker. It keeps nothing on disk.
// Thread   One at a time.
// Errors   A Set-Cookie that breaks a rule is ignored, as the RFC requires.
// Limits   cookies_max, cookies_per_domain_max (what expired goes first, then the oldest without
//          Secure, then the oldest), cookie_bytes_max, and attribute_bytes_max, above which an
//          attribute is ignored.
// Memory   What it keeps.
// Keywords: cookie, Set-Cookie, public suffix
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/cookie.h"

namespace tiderace::http {

// Where a request goes. Views.
struct CookieOrigin {
    bool secure = false;    // https
    std::string_view host;  // lower case, without a port
    std::string_view path = "/";
};

class CookieJar {
  public:
    static constexpr std::size_t cookies_max = 1'000;
    static constexpr std::size_t cookies_per_domain_max = 50;
    // Name and value together.
    static constexpr std::size_t cookie_bytes_max = wire::cookie_bytes_max;
    static constexpr std::size_t attribute_bytes_max = wire::cookie_attribute_bytes_max;

    // One Set-Cookie field of an answer from `origin`.
    void keep(const CookieOrigin& origin, ByteView set_cookie, UnixSeconds now);
    // The value of the Cookie field; "": none goes there.
    std::string header(const CookieOrigin& origin, UnixSeconds now) const;

    // The value of the first kept cookie of that name, wherever it goes; "" without one.
    std::string_view find(std::string_view name) const;
    std::size_t size() const { return cookies_.size(); }
    void clear() { cookies_.clear(); }

  private:
    struct Cookie {
        std::string name;
        std::string value;
        std::string domain;  // lower case
        std::string path;
        UnixSeconds expires = 0;
        bool host_only = true;
        bool secure = false;
    };
    struct Attributes;

    static bool goes_to(const Cookie& cookie, const CookieOrigin& origin, UnixSeconds now);
    static bool take_domain(Cookie& cookie, const Attributes& attributes,
                            const CookieOrigin& origin);
    static bool keeps_prefix_promise(const Cookie& cookie, const Attributes& attributes);
    bool would_shadow_secure(const Cookie& cookie) const;
    void insert(Cookie cookie, UnixSeconds now);
    void keep_within_limits(UnixSeconds now);

    std::vector<Cookie> cookies_;  // oldest first
};

// The date of an Expires attribute, as lenient as the RFC requires (5.1.1). False: none.
bool parse_cookie_date(ByteView text, UnixSeconds& date);

}  // namespace tiderace::http
