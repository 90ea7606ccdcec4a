#include "server/config/observe_reader.h"

#include <algorithm>
#include <string>

#include "server/config/route_reader.h"
#include "server/config/table_reader.h"
#include "tiderace/core/address.h"

namespace tiderace::server::config {
namespace {

void read_metrics_listen(const Value& value, bool has_remote, ServeOptions& server,
                         Problems& problems) {
    const auto* const text = value.get<std::string>();
    if (text == nullptr) return problems.error(value.at, type_fault("listen", "an address", value));
    const auto address = core::Address::parse(*text);
    if (!address || address->is_unix()) {
        problems.error(value.at, "listen expects HOST:PORT", "listen = \"127.0.0.1:9100\"");
    } else if (address->port() != 0 &&
               std::ranges::find(server.listen, *text) != server.listen.end()) {
        problems.error(value.at, "the sites listen at this address",
                       "the page has one of its own: listen = \"127.0.0.1:9100\"");
    } else if (!address->is_loopback() && !has_remote) {
        problems.error(value.at, "others than this machine can reach this address",
                       "say who may read the page: remote = [\"10.0.0.0/8\"]");
    } else {
        server.metrics.listen = *text;
    }
}

}  // namespace

std::vector<net::Network> read_networks(std::string_view name, const Value& value,
                                        const Reading& reading) {
    std::vector<net::Network> networks;
    const Array* const array = value.get<Array>();
    for (const Value& each : array != nullptr ? *array : Array{value}) {
        const auto* const text = each.get<std::string>();
        const auto network = net::Network::parse(text != nullptr ? *text : "");
        if (network) {
            networks.push_back(*network);
            continue;
        }
        reading.problems.error(each.at, std::string(name) + ": this " + network.error(),
                               "\"10.0.0.0/8\", \"2001:db8::/32\", or one address");
    }
    if (array != nullptr && array->empty()) {
        reading.problems.error(value.at, "this list of networks is empty",
                               "leave it out for every address");
    }
    return networks;
}

void read_metrics(const Member& metrics, const Table& table, ServeOptions& server,
                  const Reading& reading) {
    server.metrics.on = true;
    refuse_unknown(TableKind::metrics, table, reading);
    const Member* const remote = table.find("remote");
    const Member* const listen = table.find("listen");
    if (remote != nullptr) {
        server.metrics.remote = read_networks("remote", remote->value, reading);
    }
    if (listen != nullptr) {
        read_metrics_listen(listen->value, remote != nullptr, server, reading.problems);
    } else if (server.admin_socket.empty()) {
        reading.problems.error(metrics.at, "nothing shows what [metrics] counts",
                               "listen = \"127.0.0.1:9100\"");
    } else if (remote != nullptr) {
        reading.problems.error(remote->at, "remote is about `listen`, which is not there");
    }
}

}  // namespace tiderace::server::config
