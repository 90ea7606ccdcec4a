// ListenAddress: the form of a --listen value, before any socket is made.
//
//   127.0.0.1:8080   [::1]:8080   localhost:8080   :8080 (all addresses)   unix:/run/site.sock
//
// Only the form is checked here and nothing is resolved. Port 0 asks the kernel for a free one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tiderace::server {

struct ListenAddress {
    std::string host;  // without brackets; empty: all addresses, or a Unix socket
    std::uint16_t port = 0;
    std::string unix_path;  // empty: not a Unix socket
    bool secure = false;    // https; the form does not show it

    bool is_unix() const { return !unix_path.empty(); }
    bool is_any_port() const { return !is_unix() && port == 0; }
    // 0.0.0.0, :: or no host at all.
    bool is_wildcard() const;
    // Reachable from this machine only: 127.*, ::1, localhost, a Unix socket.
    bool is_loopback() const;
    // The address for a browser on this machine; "" for a Unix socket.
    std::string local_url() const;
};

// nullopt: not of that form.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

// "http://HOST:PORT/" or https, with brackets where the host is IPv6, without the port where it is
// the scheme's own.
std::string site_url(bool secure, std::string_view host, std::uint16_t port);

}  // namespace tiderace::server
