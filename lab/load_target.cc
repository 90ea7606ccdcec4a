#include "lab/load_target.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "tiderace/base/check.h"

namespace tiderace::lab {
namespace {

using Resolved = std::expected<core::Address, std::string>;

Resolved look_up(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int outcome = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
    if (outcome != 0) {
        return std::unexpected("cannot find " + host + ": " + ::gai_strerror(outcome));
    }
    const auto address = core::Address::from_sockaddr(found->ai_addr, found->ai_addrlen);
    if (!address) return std::unexpected(address.error().message());
    return address->with_port(port);
}

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::expected<LoadTarget, std::string> parse_load_target(std::string_view url) {
    constexpr std::string_view scheme = "http://";
    if (url.starts_with("https://")) {
        return std::unexpected("https:// is not loaded yet; http:// is");
    }
    const bool bare = url.find("://") == std::string_view::npos;
    if (!bare && !url.starts_with(scheme)) return std::unexpected("expects http://HOST:PORT/PATH");
    if (!bare) url.remove_prefix(scheme.size());
    if (url.empty() || !is_printable(url) || url.find('#') != std::string_view::npos) {
        return std::unexpected("expects http://HOST:PORT/PATH, without spaces or a fragment");
    }
    const std::size_t slash = std::min(url.find_first_of("/?"), url.size());
    const std::string_view place = url.substr(0, slash);
    LoadTarget target;
    target.path = url.substr(slash);
    if (!target.path.starts_with('/')) target.path.insert(0, 1, '/');
    target.host = place;
    if (place.empty() || place.find('@') != std::string_view::npos) {
        return std::unexpected("expects http://HOST:PORT/PATH");
    }
    const std::size_t colon = place.rfind(':');
    const bool has_port = colon != std::string_view::npos && place.find(']', colon) == place.npos;
    const std::string with_port = has_port ? std::string(place) : std::string(place) + ":80";
    if (const auto address = core::Address::parse(with_port); address && !address->is_any()) {
        if (address->is_unix() || address->port() == 0) {
            return std::unexpected("expects http://HOST:PORT/PATH");
        }
        target.address = *address;
        return target;
    }
    // A name: the port is parsed with any address before it.
    const std::string port_text = with_port.substr(with_port.rfind(':'));
    const auto any = core::Address::parse("127.0.0.1" + port_text);
    const std::string name = with_port.substr(0, with_port.size() - port_text.size());
    if (!any || any->port() == 0 || name.empty() || name.find_first_of(":[]") != name.npos) {
        return std::unexpected("expects http://HOST:PORT/PATH");
    }
    auto found = look_up(name, any->port());
    if (!found) return std::unexpected(found.error());
    target.address = std::move(*found);
    return target;
}

std::expected<void, std::string> permit_load(const LoadTarget& target, bool i_own_this_host) {
    if (i_own_this_host || target.address.is_loopback()) return {};
    return std::unexpected(target.address.to_string() +
                           " is not this machine; load on a machine of somebody else is an attack. "
                           "If it is yours: --i-own-this-host");
}

std::string render_request(const LoadTarget& target, const LoadOptions& options) {
    std::string text =
        std::string(options.verb()) + " " + target.path + " HTTP/1.1\r\nHost: " + target.host;
    text += "\r\n";
    for (const std::string& field : options.fields) text += field + "\r\n";
    if (options.close) text += "Connection: close\r\n";
    return text + "\r\n";
}

}  // namespace tiderace::lab
