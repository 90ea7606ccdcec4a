// Internal. RouteMatch: for which requests a route holds: a path, and conditions beside it.
//
//   ""           every path               "/api"     and all below it, not "/apis"
//   "=/feed"     that path alone          "*.php"    a glob (route/glob.h), and all below
//   "~^/a[0-9]"  what that regular expression matches (route/regex.h), and nothing else
//
//   nearest_first   priority, then: paths alone, globs and regular expressions (patterns) in their
//                   order, paths with all below them,
//                   the longest first; of one path the route with more conditions, then the order
//
// Thread   Constant, once it is made.
// Keywords: location, matcher
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tiderace/http/wire/method.h"
#include "tiderace/net/network.h"

namespace tiderace::http {

struct Request;
namespace route {
class Regex;
struct Captures;
}  // namespace route

// A condition about a field, or a pair of the query. Of several with one name, one is enough.
struct ValueCondition {
    std::string name;                       // of a field: in any case of letters
    std::optional<std::string> value = {};  // '*' is any characters, '?' one; unset: any value
    bool is_absent = false;                 // no such name instead
    bool operator==(const ValueCondition&) const = default;
};

struct RouteMatch {
    std::string path;  // canonical, without a '/' at its end
    int priority = 0;
    std::vector<wire::Method> methods = {};  // GET is HEAD, too; empty: every method
    std::vector<ValueCondition> header = {};
    std::vector<ValueCondition> query = {};
    std::vector<net::Network> remote =
        {};  // one of them has the client's address; empty: any address
    std::optional<bool> secure = {};
    // The expression behind the '~' of the path, compiled. Comparing the paths is enough.
    std::shared_ptr<const route::Regex> regex = {};

    enum class Kind : std::uint8_t { alone, pattern, below };
    Kind kind() const;
    std::string_view plain_path() const;  // without the '=' of a path alone
    // "/shop" of "/shop/*.css" and "~^/shop/": what the path holds for is below it; "": anywhere.
    std::string folder() const;
    std::size_t conditions() const;  // their number
    // What the stars or the groups of a pattern stand for goes to `captures`. An expression that
    // gives up does not hold here; SiteRoutes, which decides access, reports that.
    bool path_holds(ByteView at, route::Captures* captures = nullptr) const;
    bool conditions_hold(const Request& request) const;
    bool operator==(const RouteMatch& other) const;
};

// The order of these routes where several hold: indices.
std::vector<std::uint32_t> nearest_first(std::span<const RouteMatch* const> routes);

}  // namespace tiderace::http
