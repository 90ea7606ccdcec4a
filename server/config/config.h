// Config: what a file configures, in the structures that the flags of `tiderace serve` fill.
//
//   [[listen]]                 addresses                        for all sites
//   [[site]] hosts, root, …    what answers for these hosts
//     [[site.route]] path, …   … for the requests that its conditions choose (http/route_match.h)
//
// Settings of all routes that hold add up; the nearest wins.
//
// Owner    Its reader; plain data.
// Thread   One; read_config() blocks on the disk.
// Errors   Problems: all of the file at once.
// Limits   sites_max; routes_max routes of each site.
// Keywords: virtual hosts, server_name, location
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "server/config/document.h"
#include "server/config/problems.h"
#include "server/options.h"
#include "server/site/site.h"

namespace tiderace::server::config {

// Its options are the options of all sites, changed by the keys of this site.
struct SiteConfig : ServedSite {
    Place at;
    std::size_t routes = 0;
    std::vector<Place> routes_at = {};  // the table of each of options.routes
};

struct Config {
    static constexpr std::size_t sites_max = 10'000;

    ServeOptions server;
    std::vector<SiteConfig> sites;
};

// What [metrics] shows whatever clients send; 0: nothing is counted. A route has one more for each
// method, status and version that it answers.
std::size_t series_of(const Config& config);
inline constexpr std::size_t metrics_series_aim = 10'000;  // more is a warning

// nullopt where anything is wrong.
std::optional<Config> read_config(const std::string& path, Sources& sources, Problems& problems,
                                  const DocumentWorld& world = this_world());
// Reads a document that is parsed already.
std::optional<Config> read_config(const Table& top, const Reading& reading);

}  // namespace tiderace::server::config
