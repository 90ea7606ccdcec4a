#include "tiderace/http/filter/trusted_proxies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/http/exchange.h"

namespace tiderace::http::filter {
namespace {

using wire::FieldName;

// Takes the last element of a list off, seen from its end, where a proxy that we trust wrote:
// quotes that a client left open stand before it and cannot hide it.
ByteView take_last(ByteView& list) {
    bool quoted = false;
    std::size_t at = list.size();
    while (at > 0) {
        const char c = list[at - 1];
        if (c == ',' && !quoted) break;
        if (c == '"') {
            std::size_t slash = at - 1;
            while (slash > 0 && list[slash - 1] == '\\') --slash;
            if ((at - 1 - slash) % 2 == 0) quoted = !quoted;
        }
        --at;
    }
    const ByteView element = trim_ows(list.substr(at));
    list = list.substr(0, at > 0 ? at - 1 : 0);
    return element;
}

// The next "name=value" of an element of Forwarded, without quotes. nullopt: it is malformed.
struct Parameter {
    ByteView name;
    std::string value;
};
std::optional<Parameter> next_parameter(ByteView& rest) {
    const std::size_t equals = rest.find('=');
    if (equals == ByteView::npos) return std::nullopt;
    Parameter made{.name = trim_ows(rest.substr(0, equals)), .value = {}};
    rest.remove_prefix(equals + 1);
    if (!rest.starts_with('"')) {
        const std::size_t end = std::min(rest.find(';'), rest.size());
        made.value = trim_ows(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        return made;
    }
    std::size_t at = 1;
    for (; at < rest.size() && rest[at] != '"'; ++at) {
        if (rest[at] == '\\' && ++at == rest.size()) return std::nullopt;
        made.value += rest[at];
    }
    if (at >= rest.size()) return std::nullopt;
    rest = trim_ows(rest.substr(at + 1));
    if (!rest.empty() && !rest.starts_with(';')) return std::nullopt;
    if (!rest.empty()) rest.remove_prefix(1);
    return made;
}

std::optional<bool> is_https(ByteView scheme) {
    if (equals_ignoring_case(scheme, "https")) return true;
    if (equals_ignoring_case(scheme, "http")) return false;
    return std::nullopt;
}

}  // namespace

TrustedProxies::TrustedProxies(const TrustedProxyOptions& options, std::string& fault)
    : field_(options.field) {
    for (const std::string& text : options.networks) {
        if (const std::string why = add(text); !why.empty()) {
            fault = "trusted_proxies: \"" + text + "\" " + why;
            return;
        }
    }
}

// "" or what is wrong.
std::string TrustedProxies::add(std::string_view text) {
    if (text == "unix") {
        unix_ = true;
        return {};
    }
    auto network = net::Network::parse(text);
    if (!network) return std::move(network.error());
    networks_.push_back(*network);
    return {};
}

bool TrustedProxies::trusts(const core::Address& peer) const {
    if (peer.is_unix()) return unix_;
    return std::ranges::any_of(networks_,
                               [&](const net::Network& network) { return network.contains(peer); });
}

// One element. False: what stands before it is not to be believed, or this is no address.
bool TrustedProxies::take(ByteView element, Client& client) const {
    std::optional<core::Address> address;
    if (field_ == ProxyField::x_forwarded_for) {
        address = net::parse_ip(element);
    } else {
        std::optional<bool> secure;
        bool has_for = false;
        while (!element.empty()) {
            const auto parameter = next_parameter(element);
            if (!parameter) return false;
            if (equals_ignoring_case(parameter->name, "for")) {
                // RFC 7239, 4: each parameter comes once.
                if (std::exchange(has_for, true)) return false;
                address = net::parse_ip(parameter->value);
            } else if (equals_ignoring_case(parameter->name, "proto")) {
                secure = is_https(parameter->value);
            }
        }
        if (secure) client.secure = secure;
    }
    if (!address) return false;
    client.address = std::move(*address);
    return trusts(client.address);
}

//   X-Forwarded-For: a, b, c      read from the right: c was written by our peer, b by c, …
//
// The walk goes on while the address just read is a trusted proxy. The first that is not is the
// client; what stands left of it the client may have made up.
std::optional<TrustedProxies::Client> TrustedProxies::client_of(const Request& request) const {
    if (request.peer == nullptr || !trusts(*request.peer)) return std::nullopt;
    const bool is_list = field_ == ProxyField::forwarded;
    const FieldName name = is_list ? FieldName::forwarded : FieldName::x_forwarded_for;
    // The last lines, in a ring.
    std::array<ByteView, lines_max> lines;
    std::size_t count = 0;
    for (const wire::Field* field = request.head->find(name); field != nullptr;
         field = request.head->next(*field)) {
        // Only the last few lines count, however many a client sends.
        lines[count++ % lines_max] = field->value;
    }
    Client client{.address = *request.peer};
    const std::size_t first = count > lines_max ? count - lines_max : 0;
    for (bool more = true; more && count > first;) {
        ByteView& line = lines[(count - 1) % lines_max];
        const ByteView element = take_last(line);
        if (!element.empty()) more = take(element, client);
        if (line.empty()) --count;
    }
    if (!is_list) {
        ByteView schemes;
        for (const wire::Field* field = request.head->find(FieldName::x_forwarded_proto);
             field != nullptr; field = request.head->next(*field)) {
            schemes = field->value;
        }
        // The last value is the one that the nearest proxy wrote.
        client.secure = is_https(take_last(schemes));
    }
    return client;
}

void TrustedProxies::apply(Exchange& exchange) const {
    const Request& request = exchange.request();
    const std::optional<Client> client = client_of(request);
    if (client) exchange.set_client(client->address, client->secure.value_or(request.secure));
}

}  // namespace tiderace::http::filter
