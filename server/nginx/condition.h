// The condition of an `if` that refuses, as conditions of a route.
//
//   if ($request_method = POST) { return 403; }    method = ["POST"], and deny = 403
//   if ($http_user_agent ~ (a|b)) { return 403; }  two routes, header.User-Agent = "*a*" and "*b*"
//   if ($uri ~ ^/a[0-9]) { return 403; }           path = "~^/a[0-9]"
//
// Thread   Any: pure functions.
// Errors   An empty list: no route has this condition.
#pragma once

#include <string>
#include <vector>

#include "server/nginx/reader.h"

namespace tiderace::server::nginx {

// One key and its value for each route that together refuse what the `if` does. The value of
// "path" is the path itself; other values are written as in TOML.
struct RouteCondition {
    std::string key;
    std::string value;
};
std::vector<RouteCondition> conditions_of(const Directive& directive);

}  // namespace tiderace::server::nginx
