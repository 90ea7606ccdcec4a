// ServerStatus: the state of a running server, which its admin socket sends, as JSON and as lines
// for people.
//
//   sites         2: one.example, two.example
//   connections   12
//   last reload   2026-11-29T16:05:01Z, refused
//
// Thread   Plain data and pure functions; any.
// Keywords: tiderace status
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/live/reloader.h"
#include "tiderace/base/units.h"
#include "tiderace/http/request_metrics.h"

namespace tiderace::server {

struct ServerStatus {
    Duration uptime{};
    std::size_t loops = 1;
    std::vector<std::string> sites = {};  // the first host of each; "default" where it has none
    std::vector<std::string> listeners = {};
    std::uint64_t connections = 0;                             // open now
    std::optional<http::SiteMetrics::Requests> requests = {};  // nullopt: they are not counted
    std::string metrics = {};  // the address of their page; "": none
    struct Certificate {
        std::string file;
        std::int64_t days_left;  // negative: it ended that long ago
    };
    std::vector<Certificate> certificates = {};
    std::uint64_t generation = 1;
    std::size_t generations_alive = 1;
    std::optional<Reloader::Last> last_reload = {};
};

std::string status_json(const ServerStatus& status);
std::string status_lines(const ServerStatus& status);
// What `tiderace top` makes rates of: "uptime_us 93784000000", "answered 41 one.example".
std::string status_numbers(const ServerStatus& status);

}  // namespace tiderace::server
