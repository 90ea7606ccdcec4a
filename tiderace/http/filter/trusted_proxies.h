// Internal. TrustedProxies: finds the client's address and scheme behind reverse proxies, from the
// fields of trusted proxies only.
//
//   X-Forwarded-For: 6.6.6.6, 192.0.2.7, 10.0.0.2        peer 10.0.0.1, networks {"10.0.0.0/8"}
//                    |        |          \- trusted
//                    |        \- the client: the right-most address that is not trusted
//                    \- what the client claims: ignored
//
//   peer not trusted                         its own address; the fields mean nothing
//   all addresses trusted                    the left-most
//   an element that is no address            the trusted address that sent it (RFC 7239 has
//                                            "unknown" and "_hidden")
//   X-Forwarded-Proto, proto= of the element https: secure; http: not; none: as the connection is
//
// One of the two fields is read, and the other ignored: a proxy that sets one passes on the
// other as the client sent it. For the same reason a proxy has to set or remove X-Forwarded-Proto;
// of several values the last counts.
//
// Owner    The program; constant.
// Thread   Any, at once.
// Errors   parse(): a sentence.
// Limits   The last lines_max lines of the field.
// Keywords: X-Forwarded-For, Forwarded, X-Real-IP, reverse proxy
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/core/address.h"
#include "tiderace/net/network.h"

namespace tiderace::http {

class Exchange;
struct Request;

enum class ProxyField : std::uint8_t {
    x_forwarded_for,  // with X-Forwarded-Proto
    forwarded,        // RFC 7239
};

struct TrustedProxyOptions {
    // "10.0.0.0/8", "2001:db8::/32", "::1"; "unix": whatever comes over a Unix socket.
    std::vector<std::string> networks;
    ProxyField field = ProxyField::x_forwarded_for;
};

namespace filter {

class TrustedProxies final {
  public:
    static constexpr std::size_t lines_max = 16;

    // `fault` is "" or what is wrong with the first network that cannot be.
    TrustedProxies(const TrustedProxyOptions& options, std::string& fault);

    bool trusts(const core::Address& peer) const;
    struct Client {
        core::Address address;
        std::optional<bool> secure = {};  // unset: as the connection is
    };
    // nullopt: the peer is no trusted proxy.
    std::optional<Client> client_of(const Request& request) const;
    // Request::peer, secure and id are the client's from here on, if a proxy reported them.
    void apply(Exchange& exchange) const;

  private:
    std::string add(std::string_view text);
    bool take(ByteView element, Client& client) const;

    std::vector<net::Network> networks_;
    bool unix_ = false;
    ProxyField field_;
};

}  // namespace filter
}  // namespace tiderace::http
