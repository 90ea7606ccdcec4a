// Internal. Proxies: which requests go through a proxy, by the environment that curl and others
// read.
//
//   http_proxy, HTTPS_PROXY, ALL_PROXY   "http://user:password@proxy.example:3128"
//   NO_PROXY                             "localhost,.internal.example,10.0.0.1:8080", or "*"
//
// Each name may be in lower or upper case, HTTP_PROXY in lower case alone: a CGI program's
// environment has a request's Proxy field under the upper one.
//
// Thread   Any; the environment is read once, by from_environment().
// Errors   A proxy that is no http URL is a Proxy without a host: requests that it is for fail,
//          rather than go around it.
// Keywords: CONNECT, http_proxy, no_proxy
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/http/client/url.h"

namespace tiderace::http {

struct Proxy {
    std::string place;          // "proxy.example:3128"; "": what was given cannot be read
    std::string authorization;  // of Proxy-Authorization: "Basic …"; "" for none

    bool operator==(const Proxy&) const = default;
};

class Proxies {
  public:
    // Reads a variable; nullptr: it is not set.
    using Variable = std::function<const char*(const char*)>;

    Proxies() = default;  // none
    static Proxies from_environment();
    static Proxies from(const Variable& variable);

    // The proxy for this URL; nullptr: none.
    const Proxy* find(const Url& url) const;

  private:
    bool excepted(const Url& url) const;

    std::optional<Proxy> clear_;   // for http
    std::optional<Proxy> secure_;  // for https
    std::vector<std::string> exceptions_;
};

}  // namespace tiderace::http
