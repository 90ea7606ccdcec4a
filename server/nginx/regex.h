// Regular expressions of nginx, as paths and targets of a route.
//
//   location ~* ^/u/(\d+)$ { return 301 /user/$1; }    path = "~(?i)^/u/(\d+)$"
//                                                      redirect = "/user/{1}"
//
// Both are PCRE2's. nginx matches the path as we do: decoded, with the slashes and dots in order.
//
// Thread   Any: pure functions.
// Errors   "" or nullopt: a route has nothing that does the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tiderace::server::nginx {

// "~" and the expression, where it is sound and this build has any.
std::string path_of_regex(std::string_view regex, bool ignores_case = false);
// "$1" as "{1}" and "$name" as "{name}", where a route of this path has such a group.
std::string with_groups(std::string_view target, std::string_view path);

// `rewrite ^/u/(\d+)$ /user/$1`: "~^/u/(\d+)$" and "/user/{1}".
struct Rewritten {
    std::string path;
    std::string target;
};
std::optional<Rewritten> rewritten_of(std::string_view regex, std::string_view target);
// Every path that the expression matches begins with this one.
bool is_inside(std::string_view regex, std::string_view path);

}  // namespace tiderace::server::nginx
