// For which requests a route holds, and what answers there: the keys of [[site.route]] that are no
// settings.
//
// Thread   One.
// Errors   Problems, with their places.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/command_line/flag_texts.h"
#include "server/config/document.h"
#include "server/config/problems.h"
#include "server/site/route.h"

namespace tiderace::server::config {

// "respond expects a text, and this is a number".
std::string type_fault(std::string_view name, std::string_view expects, const Value& value);
// The value of a key that no flag has; any other than true and false is a problem, and false.
bool read_truth(const Member& member, Problems& problems);

// What the flags do for their path. `name` begins the sentence of a problem.
void read_route_value(Route& route, RouteValue what, std::string_view value, Place at,
                      const Reading& reading, std::string_view name = {});

// Reads the routes of one site.
class RouteReader {
  public:
    explicit RouteReader(const Reading& reading) : reading_(reading) {}

    struct Found {
        http::RouteMatch match;
        Place at;  // of its path, or of the route
    };
    // One for each of its paths.
    std::vector<Found> read_matches(Place at, const Table& route);
    // Redirects, texts, errors. Also of a site, for all paths.
    void read_reply(Route& route, const Table& table);
    void read_programs(Route& route, const Member& member);
    // Some statuses promise a field, which the table, or one that it uses, has to set.
    void check_promises(const Route& route, const Table& table);
    void check_metrics_page(const Route& route, const Table& table);
    // Of two answers for the same requests, or two ways to have their files, only one could be.
    void check_answered(const Found& found, const Route& route);
    // Warns of routes that never answer, because nearer ones always do.
    void check_shadowed(const std::vector<Route>& routes);

  private:
    const Member* answering_key(const Table& table);
    void read_redirect(Route& route, const Member& key, int status);
    void read_deny(Route& route, const Member& key);
    bool read_path(const Value& value, http::RouteMatch& match);
    bool read_regex(const Value& value, const std::string& path, http::RouteMatch& match);
    void read_methods(const Value& value, http::RouteMatch& match);
    void read_values(const Member& member, std::vector<http::ValueCondition>& conditions);
    void read_scheme(const Value& value, http::RouteMatch& match);
    void read_priority(const Value& value, http::RouteMatch& match);

    Place place_of(const http::RouteMatch& match) const;
    void check_open_scripts(const std::vector<Route>& routes);

    Reading reading_;
    // The routes that answer, by their paths.
    std::map<std::string, std::vector<Found>, std::less<>> answered_;
};

}  // namespace tiderace::server::config
