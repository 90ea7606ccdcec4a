#include "load/target.h"

#include <algorithm>

#include "load/options.h"

namespace tiderace::load {
namespace {

constexpr std::string_view expected_form = "expects http://HOST:PORT/PATH (or https, or echo)";

// ASCII only: the path is sent as it is given, and a space or a line end would begin another part
// of the request's head.
bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::expected<LoadTarget, std::string> parse_load_target(std::string_view url,
                                                         const Lookup& look_up) {
    const auto refuse = [] { return std::unexpected(std::string(expected_form)); };
    LoadTarget target;
    // "127.0.0.1:8080/page" is taken for http: people type it, and it can mean nothing else here.
    target.tls = has_scheme(url, "https");
    const std::size_t scheme_end = url.find("://");
    const bool echoes = has_scheme(url, "echo");
    if (!target.tls && !echoes && scheme_end != url.npos && !has_scheme(url, "http")) {
        return refuse();
    }
    if (scheme_end != url.npos) url.remove_prefix(scheme_end + 3);
    if (url.empty() || !is_printable(url) || url.find('#') != std::string_view::npos) {
        return std::unexpected(std::string(expected_form) + ", without spaces or a fragment");
    }
    // '?', too: a query may follow the host with no path between.
    const std::size_t slash = std::min(url.find_first_of("/?"), url.size());
    const std::string_view place = url.substr(0, slash);
    target.path = url.substr(slash);
    // "http://a.example?q" has an empty path, which is sent as "/" (RFC 9112, 3.2.1).
    if (!target.path.starts_with('/')) target.path.insert(0, 1, '/');
    target.host = place;
    // A password in a URL would be in the report, and in its headline.
    if (place.empty() || place.find('@') != std::string_view::npos) return refuse();
    // The last colon, and none inside of "[::1]".
    const std::size_t colon = place.rfind(':');
    const bool has_port = colon != place.npos && place.find(']', colon) == place.npos;
    if (echoes && (!has_port || slash < url.size())) return refuse();  // it has neither
    const auto to = core::HostPort::parse(std::string(place) + (has_port     ? ""
                                                                : target.tls ? ":443"
                                                                             : ":80"));
    if (!to || to->host.starts_with("unix:")) return refuse();
    target.name = to->host;
    target.found = to->literal();
    if (target.found.empty()) {
        // It blocks, which nothing minds here: no loop runs yet.
        const auto found = look_up(target.name);
        if (!found) return std::unexpected(found.error().message());
        for (const core::Address& each : *found) target.found.push_back(each.with_port(to->port));
    }
    target.address = target.found.front();
    // As servers print it that listen on all addresses. It names none to connect to.
    if (target.address.is_any()) {
        return std::unexpected(
            target.name + " is every address of a machine: name one of them, " +
            (target.name.find(':') == std::string::npos ? "as 127.0.0.1" : "as [::1]"));
    }
    return target;
}

std::expected<void, std::string> permit_load(const LoadTarget& target, bool i_own_this_host) {
    // Every address that the name leads to: the connection takes one of them.
    const auto other = std::ranges::find_if(
        target.found, [](const core::Address& each) { return !each.is_loopback(); });
    if (i_own_this_host || (other == target.found.end() && target.address.is_loopback())) return {};
    const core::Address& named = other != target.found.end() ? *other : target.address;
    return std::unexpected(named.to_string() +
                           " is not this machine; load on a machine of somebody else is an attack. "
                           "If it is yours: --i-own-this-host");
}

}  // namespace tiderace::load
