// What is seen of requests: [metrics], and what logs say of them.
//
// Thread   One.
// Errors   Problems, with their places.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "server/config/document.h"
#include "server/options.h"
#include "tiderace/net/network.h"

namespace tiderace::server::config {

// "10.0.0.0/8", or a list of such. `name` begins the sentence of a problem.
std::vector<net::Network> read_networks(std::string_view name, const Value& value,
                                        const Reading& reading);

// "2s", or "off", which is 0.
std::optional<Duration> read_time(const Member& member, const Reading& reading);

// The keys of [log] that have no flag. False: it is none of these.
bool read_log_key(const Member& member, ServeOptions& options, const Reading& reading);
// What they say together.
void check_log(const Table& log, const ServeOptions& options, const Reading& reading);

// Behind [admin] and the addresses of the sites.
void read_metrics(const Table& table, ServeOptions& server, const Reading& reading);

}  // namespace tiderace::server::config
