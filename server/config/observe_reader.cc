#include "server/config/observe_reader.h"

#include <algorithm>
#include <string>

#include "server/command_line/suggest.h"
#include "server/config/keys.h"
#include "server/config/route_reader.h"
#include "server/config/table_reader.h"
#include "tiderace/core/address.h"
#include "tiderace/http/access_log.h"

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

void read_fields(const Value& value, http::AccessLogRules& rules, Problems& problems) {
    const auto known = http::log_field_names();
    const Array* const names = value.get<Array>();
    if (names == nullptr || names->empty()) {
        return problems.error(value.at, "fields expects a list of names",
                              "fields = [\"time\", \"site\", \"path\", \"status\"]");
    }
    for (const Value& each : *names) {
        const auto* const name = each.get<std::string>();
        const auto found = std::ranges::find(known, name != nullptr ? std::string_view(*name) : "");
        if (found == known.end()) {
            std::string names_text;
            for (const std::string_view one : known) {
                names_text.append(names_text.empty() ? "" : ", ").append(one);
            }
            const std::string_view near = nearest_spelling(name != nullptr ? *name : "", known);
            problems.error(each.at, "no line has a field of this name",
                           near.empty() ? "they are " + names_text
                                        : "did you mean \"" + std::string(near) + "\"?");
            continue;
        }
        rules.fields |= http::bit_of(static_cast<http::LogField>(found - known.begin()));
    }
}

void read_statuses(const Value& value, http::AccessLogRules& rules, Problems& problems) {
    const Array* const array = value.get<Array>();
    for (const Value& each : array != nullptr ? *array : Array{value}) {
        const auto* const text = each.get<std::string>();
        const bool fits = text != nullptr && text->size() == 3 && text->ends_with("xx") &&
                          (*text)[0] >= '1' && (*text)[0] <= '5';
        if (!fits) {
            problems.error(each.at, "status expects statuses by the hundred, such as \"2xx\"");
            continue;
        }
        rules.thinned |= static_cast<std::uint8_t>(1 << ((*text)[0] - '0'));
    }
}

void read_skip(const Value& value, http::AccessLogRules& rules, const Reading& reading) {
    const Table* const table = value.get<Table>();
    const Member* const status = table != nullptr ? table->find("status") : nullptr;
    if (status == nullptr) {
        return reading.problems.error(value.at, "skip expects a table with a status",
                                      "skip = { status = \"2xx\", sample = 0.01 }");
    }
    refuse_unknown(TableKind::skip, *table, reading);
    read_statuses(status->value, rules, reading.problems);
    const Member* const sample = table->find("sample");
    if (sample == nullptr) return;
    const auto* const part = sample->value.get<double>();
    const auto* const whole = sample->value.get<std::int64_t>();
    rules.kept_of_thinned = part != nullptr    ? *part
                            : whole != nullptr ? static_cast<double>(*whole)
                                               : -1;
    // Also of what is no number.
    if (rules.kept_of_thinned >= 0 && rules.kept_of_thinned <= 1) return;
    reading.problems.error(sample->value.at, "sample expects a number from 0 to 1",
                           "0.01 is one line of a hundred");
}

}  // namespace

std::optional<Duration> read_time(const Member& member, const Reading& reading) {
    ServeOptions read;
    const Key key{TableKind::cgi, member.key, "cgi-timeout"};
    if (!read_key(key, member.value, read, reading)) return std::nullopt;
    return read.cgi.timeout;
}

bool read_log_key(const Member& member, ServeOptions& options, const Reading& reading) {
    if (member.key == "fields") {
        read_fields(member.value, options.log_rules, reading.problems);
    } else if (member.key == "skip") {
        read_skip(member.value, options.log_rules, reading);
    } else if (member.key == "slow") {
        options.slow = read_time(member, reading).value_or(Duration::zero());
    } else if (member.key == "redact_query") {
        options.log_rules.redacts_query = read_truth(member, reading.problems);
    } else {
        return false;
    }
    return true;
}

void check_log(const Table& log, const ServeOptions& options, const Reading& reading) {
    if (const Member* const access = log.find("access")) {
        reading.look_at_log(access->value, options);
    }
    const Member* const fields = log.find("fields");
    if (fields == nullptr || options.log_format == LogFormat::json) return;
    reading.problems.error(fields->at, "lines of this format have no fields to choose",
                           "format = \"json\"");
}

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

void read_metrics(const Table& table, ServeOptions& server, const Reading& reading) {
    server.metrics.on = true;
    refuse_unknown(TableKind::metrics, table, reading);
    const Member* const remote = table.find("remote");
    const Member* const listen = table.find("listen");
    if (remote != nullptr) {
        server.metrics.remote = read_networks("remote", remote->value, reading);
    }
    if (listen != nullptr) {
        read_metrics_listen(listen->value, remote != nullptr, server, reading.problems);
    }
}

}  // namespace tiderace::server::config
