#include "lab/load/target.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "tiderace/base/check.h"

namespace tiderace::lab {
namespace {

constexpr std::string_view expected_form = "expects http://HOST:PORT/PATH (or https, or echo)";

using Resolved = std::expected<std::vector<core::Address>, std::string>;

Resolved look_up(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int outcome = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
    if (outcome != 0) {
        return std::unexpected("cannot find " + host + ": " + ::gai_strerror(outcome));
    }
    std::vector<core::Address> all;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        const auto address = core::Address::from_sockaddr(each->ai_addr, each->ai_addrlen);
        if (address) all.push_back(address->with_port(port));
    }
    if (all.empty()) return std::unexpected("cannot find " + host + ": it has no IP address");
    return all;
}

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::expected<LoadTarget, std::string> parse_load_target(std::string_view url) {
    const auto refuse = [] { return std::unexpected(std::string(expected_form)); };
    LoadTarget target;
    target.tls = url.starts_with("https://");
    const std::size_t scheme_end = url.find("://");
    const bool echoes = url.starts_with("echo://");
    if (!target.tls && !echoes && scheme_end != url.npos && !url.starts_with("http://")) {
        return refuse();
    }
    if (scheme_end != url.npos) url.remove_prefix(scheme_end + 3);
    if (url.empty() || !is_printable(url) || url.find('#') != std::string_view::npos) {
        return std::unexpected(std::string(expected_form) + ", without spaces or a fragment");
    }
    const std::size_t slash = std::min(url.find_first_of("/?"), url.size());
    const std::string_view place = url.substr(0, slash);
    target.path = url.substr(slash);
    if (!target.path.starts_with('/')) target.path.insert(0, 1, '/');
    target.host = place;
    if (place.empty() || place.find('@') != std::string_view::npos) return refuse();
    const std::size_t colon = place.rfind(':');
    const bool has_port = colon != std::string_view::npos && place.find(']', colon) == place.npos;
    if (echoes && (!has_port || slash < url.size())) return refuse();  // it has neither
    target.name = has_port ? place.substr(0, colon) : place;
    const std::string port = has_port     ? std::string(place.substr(colon))
                             : target.tls ? ":443"
                                          : ":80";
    const std::string with_port = target.name + port;
    if (target.name.starts_with('[') && target.name.ends_with(']')) {
        target.name = target.name.substr(1, target.name.size() - 2);
    }
    if (const auto address = core::Address::parse(with_port); address && !address->is_any()) {
        if (address->is_unix() || address->port() == 0) return refuse();
        target.address = *address;
        target.found = {*address};
        return target;
    }
    // A name: the port is parsed with any address before it.
    const auto any = core::Address::parse("127.0.0.1" + port);
    const bool is_name = !target.name.empty() && target.name.find_first_of(":[]") == place.npos;
    if (!any || any->port() == 0 || !is_name) return refuse();
    auto found = look_up(target.name, any->port());
    if (!found) return std::unexpected(found.error());
    target.found = std::move(*found);
    target.address = target.found.front();
    return target;
}

std::expected<void, std::string> permit_load(const LoadTarget& target, bool i_own_this_host) {
    const auto other = std::ranges::find_if(
        target.found, [](const core::Address& each) { return !each.is_loopback(); });
    if (i_own_this_host || (other == target.found.end() && target.address.is_loopback())) return {};
    const core::Address& named = other != target.found.end() ? *other : target.address;
    return std::unexpected(named.to_string() +
                           " is not this machine; load on a machine of somebody else is an attack. "
                           "If it is yours: --i-own-this-host");
}

}  // namespace tiderace::lab
