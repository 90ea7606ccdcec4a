// Which location of nginx answers, in the order of our routes.
//
//   nginx   = /x    then the longest prefix if it is ^~    then expressions   then that prefix
//   ours    "=/x"                                          then patterns      then the longest
//
// So a prefix with ^~ gets a priority, and so do paths alone that are inside it. A location of
// files gets a root where another location would answer in its place.
//
// Thread   One.
#pragma once

#include <string>
#include <vector>

#include "server/nginx/scope.h"

namespace tiderace::server::nginx {

// Of what nginx decides before it looks at locations: `if`, and then `rewrite`.
inline constexpr const char* refusal_priority = "3";
inline constexpr const char* rewrite_priority = "2";

// "*.php", ["*.a", "*.b"], "~^/a".
bool is_pattern(const Scope& route);

// `firm`: the paths of locations with ^~.
void keep_order(const Scope& site, std::vector<Scope>& routes,
                const std::vector<std::string>& firm);

}  // namespace tiderace::server::nginx
