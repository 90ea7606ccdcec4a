// Internal. Url: where a request goes, from the text of an http or https URL, or from a Location
// field (RFC 3986, 5.2).
//
// Spaces, quotes and bytes above 0x7E in path and query are escaped, as browsers do; an
// internationalised host has to be written in its ASCII form.
//
// Thread   Any.
// Errors   nullopt: no such URL. User information ("user:password@") is refused: it ends in logs.
// Limits   url_bytes_max.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::http {

struct Url {
    static constexpr std::size_t url_bytes_max = 16 * 1024;

    static std::optional<Url> parse(ByteView text);
    // The target of a reference that was found at this URL. The fragment is dropped.
    std::optional<Url> resolve(ByteView reference) const;

    bool secure = false;
    std::string host;  // lower case; IPv6 addresses in their brackets
    std::uint16_t port = 80;
    std::string target;  // "/path?query"

    // "example.org", "example.org:8080": the port only where it is not the scheme's own.
    std::string authority() const;
    // "example.org", "::1": without brackets, as certificates have it.
    std::string name() const {
        return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
    }
    // "example.org:443": always with the port.
    std::string place() const;
    void append_place(std::string& out) const;
    std::string path() const { return target.substr(0, target.find('?')); }
    std::string text() const { return (secure ? "https://" : "http://") + authority() + target; }
    bool same_origin(const Url& other) const {
        return secure == other.secure && host == other.host && port == other.port;
    }

    bool operator==(const Url&) const = default;
};

// Url::parse(), and the scheme, host and port that it gave last: a client's requests go to few
// servers, and the same one again costs a comparison.
class UrlMemo {
  public:
    std::optional<Url> parse(ByteView text);

  private:
    std::string origin_;  // "http://Example.org:80", as it was written; "": none yet
    Url url_;             // of which target is not used
};

}  // namespace tiderace::http
