// The variables of a request, in the texts of a configuration that name files and targets.
//
//   {path} {rest}        the path; its part behind the route's path (behind a pattern: all of it)
//   {1} … {9}            what the stars of the route's pattern stand for, or the groups of its
//   {name}               regular expression; a group may have a name: (?<name>…)
//   {host} {host.1} …    the host of the request; its labels from the left
//
//   path = "/shop/*/item-*", rewrite = "/items/{2}"      /shop/x/item-7  ->  /items/7
//   path = "~^/u/([0-9]+)$", redirect = "/user/{1}"      /u/7            ->  /user/7
//
// Each is replaced once; its text is never searched for variables.
//
// Thread   Any; no state.
// Keywords: rewrite, captures
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tiderace/http/request.h"
#include "tiderace/http/route_match.h"

namespace tiderace::server {

struct VariableValues {
    std::string_view authority;  // of the request
    std::string_view path;       // canonical, the request's
    const http::RouteMatch& route;
};

// What is wrong with the variables of a text of such a route; "": nothing.
std::string variable_fault(std::string_view text, const http::RouteMatch& route);
// Whether a part of the path is among them.
bool has_path_variable(std::string_view text);
// The host and port of an address; "" of a path. "{rest}" and "{path}" begin with '/', which ends
// them.
std::string_view authority_of(std::string_view target);

// The path of a file; `path` is what {path} stands for. nullopt: one has no value, or one that a
// path may not have.
std::optional<std::string> path_with_variables(std::string_view text, const VariableValues& values,
                                               std::string_view path);
// What a Location has, percent-encoded. It never begins with "//", which would lead to another
// server (RFC 3986, 4.2).
std::optional<std::string> location_with_variables(std::string_view text,
                                                   const VariableValues& values);

}  // namespace tiderace::server
