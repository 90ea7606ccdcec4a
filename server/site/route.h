// Route: what holds for the requests that a match chooses (http/route_match.h): one of the routes
// of a file, or the --path-* flags of one path. site.h makes them into the tree.
//
// A setting that is unset comes from the routes around this one, and then from the site. Fields and
// error pages add up by name.
//
// A path names what a client requests, not files: a link beneath another path leads around it.
//
// Thread   Plain data: written before the loops start, read-only after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/http/filter/rate_limit.h"
#include "tiderace/http/route_match.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/net/network.h"

namespace tiderace::server {

struct ErrorPage {
    std::uint16_t code = 0;  // 400..599
    std::string file;        // as given, relative to the root
    bool operator==(const ErrorPage&) const = default;
};

struct AddedHeader {
    std::string name;  // a token; never one of the fields that the server itself must decide
    std::optional<std::string> value;  // unset: the field is taken out
    bool operator==(const AddedHeader&) const = default;
};

// What is answered in the place of files: a redirect, a text, or an error.
struct FixedReply {
    // "/new{rest}" or "https://…", with variables (variables.h). The query follows where a part of
    // the path does; "": no redirect.
    std::string target = {};
    int status = 308;
    std::string text = {};  // of an answer that is no redirect; "": the status's own page

    // The files of the site are back.
    bool is_off() const { return target.empty() && status == 308; }
    bool operator==(const FixedReply&) const = default;
};

struct RouteRate {
    std::optional<http::filter::RateLimitOptions> limit;  // unset: not limited
    bool operator==(const RouteRate&) const = default;
};

// How a route has files, where that differs from what is around it.
struct FileSettings {
    std::optional<std::string> root = {};
    std::optional<std::vector<std::string>> index = {};
    std::optional<bool> listing = {};
    std::optional<std::string> fallback = {};
    std::optional<bool> clean_urls = {};
    std::optional<bool> hidden = {};
    // What makes the path of a file (mapped_files.h).
    std::string strip = {};
    std::string prefix = {};
    std::vector<std::string> tries = {};  // the last is taken whether it is there or not
    int or_status = 0;                    // answered in its place; 0: none

    bool any() const { return *this != FileSettings{}; }
    bool maps_paths() const { return !strip.empty() || !prefix.empty() || !tries.empty(); }
    bool operator==(const FileSettings&) const = default;
};

struct Route {
    http::RouteMatch match = {};

    // USER:PASSWORD, or files of such; empty: open. Users win over an "off" of the same route: a
    // mistake should not open it.
    std::optional<std::vector<std::string>> auth = {};
    std::optional<std::string> cors = {};  // "*", one origin, or "off"
    std::optional<RouteRate> rate = {};
    std::vector<AddedHeader> headers = {};
    std::vector<ErrorPage> error_pages = {};
    std::optional<http::wire::AvailableCodings> compress = {};  // none: off
    std::optional<std::string> log = {};  // "off", "-" for standard output, or a file
    std::optional<std::string> cache_control = {};
    std::optional<Duration> slow = {};                            // 0: no request is
    std::optional<std::vector<net::Network>> server_timing = {};  // its clients; none: off
    std::optional<std::uint64_t> body_bytes_max = {};
    std::optional<Duration> timeout = {};  // the longest silence of a program

    FileSettings files = {};
    // At most one of these answers, or a root of its own.
    std::optional<FixedReply> reply = {};
    std::string cgi = {};                       // the folder of the programs
    std::optional<core::Address> fastcgi = {};  // of the peer
    bool shows_metrics = false;                 // answers with the page of [metrics]

    bool runs_programs() const { return !cgi.empty() || fastcgi; }
    // Something else than the files of the site.
    bool answers_itself() const { return reply || runs_programs() || shows_metrics; }
    // A glob of files, which a FastCGI peer reads.
    bool has_scripts() const { return fastcgi && match.kind() == http::RouteMatch::Kind::pattern; }
    bool operator==(const Route&) const = default;
};

inline constexpr std::size_t routes_max = 1'000;  // of a site
inline constexpr std::size_t path_logs_max = 16;  // each has a descriptor

// The last route of this match; a new one where there is none.
Route& route_of(std::vector<Route>& routes, const http::RouteMatch& match);
// The nearest first, without the routes that have conditions beside the path.
std::vector<const Route*> routes_by_path(const std::vector<Route>& routes);

}  // namespace tiderace::server
