// Internal. ClientRoute: what decides which connections a request may use: scheme, host, port, and
// the proxy on the way with our credentials there. ClientRouteView: the same of a request, without
// a copy.
//
// Thread   One at a time.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "tiderace/http/client/proxy.h"
#include "tiderace/http/client/url.h"

namespace tiderace::http {

struct ClientRoute {
    ClientRoute(const Url& url, const Proxy* by)
        : secure(url.secure), host(url.host), port(url.port) {
        if (by != nullptr) proxy = *by;
    }

    bool secure;
    std::string host;
    std::uint16_t port;
    std::optional<Proxy> proxy;  // nothing: none is on the way

    bool operator==(const ClientRoute&) const = default;
};

// Valid as long as what it was made of.
struct ClientRouteView {
    ClientRouteView(const Url& url, const Proxy* by)
        : secure(url.secure), host(url.host), port(url.port), proxy(by) {}
    ClientRouteView(const ClientRoute& route)  // NOLINT: either finds the other
        : secure(route.secure),
          host(route.host),
          port(route.port),
          proxy(route.proxy ? &*route.proxy : nullptr) {}

    bool operator==(const ClientRouteView& other) const {
        const bool same_proxy =
            proxy == other.proxy ||
            (proxy != nullptr && other.proxy != nullptr && *proxy == *other.proxy);
        return secure == other.secure && port == other.port && host == other.host && same_proxy;
    }

    bool secure;
    std::string_view host;
    std::uint16_t port;
    const Proxy* proxy;
};

// For containers of routes in which views are looked up.
struct ClientRouteOrder {
    using is_transparent = void;

    bool operator()(const ClientRouteView& a, const ClientRouteView& b) const {
        if (a.port != b.port) return a.port < b.port;
        if (a.secure != b.secure) return b.secure;
        if (const auto hosts = a.host <=> b.host; hosts != 0) return hosts < 0;
        if (a.proxy == nullptr || b.proxy == nullptr)
            return a.proxy == nullptr && b.proxy != nullptr;
        return std::tie(a.proxy->place, a.proxy->authorization) <
               std::tie(b.proxy->place, b.proxy->authorization);
    }
};

}  // namespace tiderace::http
