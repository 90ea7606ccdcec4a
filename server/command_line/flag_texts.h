// The flags whose value has a form of its own: addresses, PATTERN=VALUE, NAME:VALUE. Used by the
// table in flags.cc, and for the routes of a file.
//
// Errors   For a value of another form: what is expected, with an example.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/command_line/flag_values.h"
#include "server/options.h"

namespace tiderace::server {

Applied set_listen(ServeOptions& options, std::string_view value);
Applied set_index(ServeOptions& options, std::string_view value);
Applied set_spa(ServeOptions& options, std::string_view value);
Applied set_compress(ServeOptions& options, std::string_view value);
Applied set_error_page(ServeOptions& options, std::string_view value);
Applied set_mime(ServeOptions& options, std::string_view value);
Applied set_cache_control(ServeOptions& options, std::string_view value);
Applied set_header(ServeOptions& options, std::string_view value);
Applied set_cgi(ServeOptions& options, std::string_view value);
Applied set_fastcgi(ServeOptions& options, std::string_view value);
Applied set_cors(ServeOptions& options, std::string_view value);
Applied set_basic_auth(ServeOptions& options, std::string_view value);
Applied set_path_log(ServeOptions& options, std::string_view value);
Applied set_user(ServeOptions& options, std::string_view value);

enum class RouteValue : std::uint8_t {
    auth,
    cors,
    rate,
    header,
    error_page,
    compress,
    redirect,
    log,
    cgi,
    fastcgi,
};
// What the flags of a path do for it.
Applied set_of_route(Route& route, RouteValue what, std::string_view value);
// PATH=VALUE, with the form of the site's own flag behind the '='.
Applied set_path(ServeOptions& options, RouteValue what, std::string_view text);
template <RouteValue what>
Applied set_path(ServeOptions& options, std::string_view text) {
    return set_path(options, what, text);
}

// A path as requests have it, without a '/' at its end, so that "/a%20b" or "/x/../a" holds for
// what it looks like. False: no request has such a path.
bool make_canonical(std::string& path);

std::string get_listen(const ServeOptions& options);
std::string get_compress(const ServeOptions& options);
std::string get_index(const ServeOptions& options);
std::string get_access_log(const ServeOptions& options);

}  // namespace tiderace::server
