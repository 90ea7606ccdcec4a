#include "server/listen_address.h"

#include <algorithm>

#include "tiderace/base/ascii.h"

namespace tiderace::server {
namespace {

// sockaddr_un::sun_path is 108 bytes with its final NUL on Linux. Where it has 104 (BSD, macOS),
// core::Address::parse() refuses what is between.
constexpr std::size_t unix_path_bytes_max = 107;

bool is_ipv6_character(char c) {
    return hex_value(c) >= 0 || c == ':' || c == '.';
}

// Names are not resolved here: only what cannot be a name is refused.
bool is_host_character(char c) {
    return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
}

// The inside of [...]: IPv6 digits, then perhaps %zone.
bool is_ipv6_host(std::string_view host) {
    const std::string_view digits = host.substr(0, host.find('%'));
    return std::ranges::count(digits, ':') >= 2 && std::ranges::all_of(digits, is_ipv6_character);
}

}  // namespace

bool ListenAddress::is_wildcard() const {
    return !is_unix() && (host.empty() || host == "0.0.0.0" || host == "::");
}

bool ListenAddress::is_loopback() const {
    // A name such as 127.example may lead anywhere.
    const bool is_ipv4 = host.find_first_not_of("0123456789.") == host.npos;
    return is_unix() || host == "localhost" || host == "::1" ||
           (is_ipv4 && host.starts_with("127."));
}

std::string ListenAddress::local_url() const {
    if (is_unix()) return {};
    // Not for ::1 alone: many machines look for localhost at 127.0.0.1.
    const bool same_machine = is_wildcard() || host == "127.0.0.1";
    return site_url(secure, same_machine ? "localhost" : std::string_view(host), port);
}

// The form is checked with the command line, whose sentence names the flag. Whether the machine has
// the address is known when the socket is bound.
std::optional<ListenAddress> parse_listen_address(std::string_view text) {
    ListenAddress address;
    if (text.starts_with("unix:")) {
        address.unix_path = text.substr(5);
        if (address.unix_path.empty() || address.unix_path.size() > unix_path_bytes_max) {
            return std::nullopt;
        }
        return address;
    }
    // The last colon: the colons of an IPv6 address come before it, in brackets.
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    if (!port) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        if (!is_ipv6_host(host)) return std::nullopt;
    } else if (!std::ranges::all_of(host, is_host_character)) {
        return std::nullopt;
    }
    address.host = host;
    address.port = *port;
    return address;
}

std::string site_url(bool secure, std::string_view host, std::uint16_t port) {
    const bool is_ipv6 = host.find(':') != std::string_view::npos;
    std::string url = secure ? "https://" : "http://";
    if (is_ipv6) url += '[';
    url += host;
    if (is_ipv6) url += ']';
    // As browsers show it.
    if (port != (secure ? 443 : 80)) url.append(":").append(std::to_string(port));
    url += '/';
    return url;
}

}  // namespace tiderace::server
