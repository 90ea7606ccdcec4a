#include "server/command_line/flag_texts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "server/listen_address.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::server {
namespace {

using http::wire::is_field_value;
using http::wire::is_token;

// Fields whose value follows from the file, the connection or the request: a fixed one would be a
// lie.
constexpr std::array<std::string_view, 12> decided_by_the_server{
    "connection",    "content-encoding", "content-length",
    "content-range", "content-type",     "date",
    "etag",          "keep-alive",       "last-modified",
    "trailer",       "upgrade",          "transfer-encoding",
};

// Not of tabs: a name that has one is refused.
std::string_view trim_spaces(std::string_view text) {
    return trim<[](char c) { return c == ' '; }>(text);
}

// The two sides of the first `separator`; nullopt when there is none or a side is empty.
std::optional<std::pair<std::string_view, std::string_view>> split(std::string_view text,
                                                                   char separator) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view left = trim_spaces(text.substr(0, at));
    const std::string_view right = trim_spaces(text.substr(at + 1));
    if (left.empty() || right.empty()) return std::nullopt;
    return std::pair(left, right);
}

// The pieces between the commas; a piece may be empty.
std::vector<std::string_view> pieces_of(std::string_view text) {
    std::vector<std::string_view> pieces;
    for (std::size_t comma = text.find(','); comma != text.npos; comma = text.find(',')) {
        pieces.push_back(text.substr(0, comma));
        text.remove_prefix(comma + 1);
    }
    pieces.push_back(text);
    return pieces;
}

bool is_port(std::string_view text) {
    return parse_number<std::uint16_t>(text).has_value();
}

// The response directives of RFC 9111, 5861 and 8246. No pattern is likely to be spelled like one.
constexpr std::array<std::string_view, 13> cache_directives{"max-age",
                                                            "s-maxage",
                                                            "no-cache",
                                                            "no-store",
                                                            "no-transform",
                                                            "must-revalidate",
                                                            "proxy-revalidate",
                                                            "must-understand",
                                                            "private",
                                                            "public",
                                                            "immutable",
                                                            "stale-if-error",
                                                            "stale-while-revalidate"};

// max-age=3600, or public, max-age=3600: a value without a pattern before it.
bool begins_with_directive(std::string_view value) {
    const std::string_view trimmed = trim_spaces(value);
    const std::string first =
        lower_case(trim_spaces(trimmed.substr(0, trimmed.find_first_of("=,"))));
    return std::ranges::find(cache_directives, first) != cache_directives.end();
}

bool has_port_above_the_largest(std::string_view value) {
    const std::string_view digits = value.substr(std::min(value.rfind(':') + 1, value.size()));
    return value.find(':') != std::string_view::npos && !digits.empty() && !is_port(digits) &&
           std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

// "a/b.html". With "..", or an empty part, it would be the path of no request.
bool is_name_in_folder(std::string_view name) {
    while (true) {
        const std::string_view part = name.substr(0, name.find('/'));
        if (part.empty() || part == "." || part == "..") return false;
        if (part.size() == name.size()) return true;
        name.remove_prefix(part.size() + 1);
    }
}

}  // namespace

Applied set_listen(ServeOptions& options, std::string_view value) {
    if (!parse_listen_address(value)) {
        if (is_port(value)) {
            return std::unexpected("did you mean :" + std::string(value) +
                                   " (all addresses) or 127.0.0.1:" + std::string(value) + "?");
        }
        if (has_port_above_the_largest(value)) {
            return std::unexpected("a port is a number from 0 to 65535");
        }
        return std::unexpected("expects HOST:PORT, :PORT for all addresses, or unix:PATH");
    }
    // The first --listen replaces the default, later ones add to it.
    if (options.listen_is_default) options.listen.clear();
    options.listen_is_default = false;
    // bind() would fail with "in use", which reads as if another program had the port. For port 0
    // the kernel chooses another one each time.
    if (!parse_listen_address(value)->is_any_port() &&
        std::ranges::find(options.listen, value) != options.listen.end()) {
        return std::unexpected("this address is given twice");
    }
    options.listen.emplace_back(value);
    return {};
}

Applied set_index(ServeOptions& options, std::string_view value) {
    if (value == "none") {
        options.index.clear();
        return {};
    }
    std::vector<std::string> names;
    for (const std::string_view name : pieces_of(value)) {
        // A name with a slash would be of another folder than the one that is requested.
        // Among names the word has no meaning, and a file is hardly called so.
        if (name.empty() || name == "." || name == ".." || name == "none" ||
            name.find('/') != std::string_view::npos) {
            return std::unexpected(
                "expects file names with commas between, for example "
                "index.html,index.htm, or the word none alone");
        }
        names.emplace_back(name);
    }
    options.index = std::move(names);
    return {};
}

Applied set_spa(ServeOptions& options, std::string_view value) {
    std::string_view name = value;
    // Beneath the served folder "/app.html" and "app.html" are one file.
    if (name.starts_with('/')) name.remove_prefix(1);
    if (!is_name_in_folder(name)) {
        return std::unexpected(
            "expects the name of a file in the served folder, for example app.html");
    }
    options.spa_file = name;
    return {};
}

namespace {

// The form that a flag of the whole site shares with the one for a path.
template <typename Value>
using Read = std::expected<Value, std::string>;

template <typename Value, typename Field>
Applied put(Read<Value> read, Field& field) {
    if (!read) return std::unexpected(std::move(read.error()));
    field = std::move(*read);
    return {};
}

template <typename Value>
Applied add(Read<Value> read, std::vector<Value>& values) {
    if (!read) return std::unexpected(std::move(read.error()));
    values.push_back(std::move(*read));
    return {};
}

Read<http::wire::AvailableCodings> read_codings(std::string_view value) {
    http::wire::AvailableCodings codings;
    if (value == "auto") codings = {.gzip = true, .zstd = true, .br = true};
    const bool is_word = value == "auto" || value == "off";
    for (const std::string_view name :
         is_word ? std::vector<std::string_view>() : pieces_of(value)) {
        if (name == "gzip") {
            codings.gzip = true;
        } else if (name == "zstd") {
            codings.zstd = true;
        } else if (name == "br") {
            codings.br = true;
        } else {
            return std::unexpected(
                "expects auto or off alone, or codings with commas between: br,zstd,gzip");
        }
    }
    return codings;
}

Read<ErrorPage> read_error_page(std::string_view value) {
    const auto sides = split(value, '=');
    const std::uint32_t code = sides ? parse_number<std::uint32_t>(sides->first).value_or(0) : 0;
    // Codes of errors alone: other answers have a body of their own, or none.
    if (code < 400 || code > 599) {
        return std::unexpected(
            "expects CODE=FILE with a code from 400 to 599, for example 404=404.html");
    }
    return ErrorPage{static_cast<std::uint16_t>(code), std::string(sides->second)};
}

// The value is written into answers as it is, so it is checked here, once, and not for each of
// them.
Read<AddedHeader> read_header(std::string_view value) {
    const auto sides = split(value, ':');
    if (!sides || !is_token(sides->first) || !is_field_value(sides->second)) {
        return std::unexpected("expects NAME:VALUE, for example X-Frame-Options:DENY");
    }
    if (std::ranges::find(decided_by_the_server, lower_case(sides->first)) !=
        decided_by_the_server.end()) {
        return std::unexpected(std::string(sides->first) +
                               " is decided by the server for each answer");
    }
    return AddedHeader{std::string(sides->first), std::string(sides->second)};
}

Read<std::string> read_origin(std::string_view value) {
    // As browsers send it (RFC 6454, 6.2): in lower case, and without the scheme's own port. An
    // origin in another form would never be equal to theirs.
    std::string origin = lower_case(value);
    for (const auto& [scheme, port] :
         {std::pair("https://", ":443"), std::pair("http://", ":80")}) {
        if (!origin.starts_with(scheme) || !origin.ends_with(port)) continue;
        origin.resize(origin.size() - std::string_view(port).size());
    }
    const bool has_scheme = origin.starts_with("http://") || origin.starts_with("https://");
    const std::string_view authority =
        has_scheme ? std::string_view(origin).substr(origin.find("//") + 2) : "";
    const bool is_origin = !authority.empty() && is_field_value(authority) &&
                           authority.find_first_of("/ ,?#@") == std::string_view::npos;
    if (value != "*" && !is_origin) {
        return std::unexpected("expects an origin such as https://example.com, or nothing for all");
    }
    return origin;
}

Read<std::string> read_users(std::string_view value) {
    // An empty password would admit any client that guesses the name.
    if (value.starts_with(':') || value.ends_with(':')) {
        return std::unexpected(
            "expects USER:PASSWORD or a file of such lines, and neither side empty");
    }
    return std::string(value);
}

}  // namespace

Applied set_compress(ServeOptions& options, std::string_view value) {
    return put(read_codings(value), options.compress.codings);
}

Applied set_error_page(ServeOptions& options, std::string_view value) {
    return add(read_error_page(value), options.error_pages);
}

Applied set_header(ServeOptions& options, std::string_view value) {
    return add(read_header(value), options.added_headers);
}

Applied set_cors(ServeOptions& options, std::string_view value) {
    return put(read_origin(value), options.cors_origin);
}

Applied set_basic_auth(ServeOptions& options, std::string_view value) {
    return add(read_users(value), options.basic_auth);
}

Applied set_mime(ServeOptions& options, std::string_view value) {
    const auto sides = split(value, '=');
    const auto halves = sides ? split(sides->second, '/') : std::nullopt;
    if (!halves || !is_token(halves->first) || !is_field_value(halves->second)) {
        return std::unexpected("expects EXT=TYPE, for example glb=model/gltf-binary");
    }
    std::string_view extension = sides->first;
    // ".glb" is how many other servers have it.
    if (extension.starts_with('.')) extension.remove_prefix(1);
    if (!is_token(extension)) {
        return std::unexpected("expects EXT=TYPE, for example glb=model/gltf-binary");
    }
    options.mime_additions.push_back({lower_case(extension), std::string(sides->second)});
    return {};
}

Applied set_cache_control(ServeOptions& options, std::string_view value) {
    // "max-age=3600" also has a '=', and would be a pattern that no path matches.
    const bool is_for_all = begins_with_directive(value);
    const auto sides = is_for_all
                           ? std::pair<std::string_view, std::string_view>("*", trim_spaces(value))
                           : split(value, '=');
    if (!sides || !is_field_value(sides->second)) {
        return std::unexpected(
            "expects PATTERN=VALUE, for example '*.css=max-age=3600', or a VALUE for every path, "
            "for example no-cache");
    }
    options.cache_control.push_back({std::string(sides->first), std::string(sides->second)});
    return {};
}

bool make_canonical(std::string& prefix) {
    if (prefix.empty()) return true;
    std::string scratch(prefix.size(), '\0');
    const http::wire::PathResult path = http::wire::canonicalize(prefix, scratch);
    if (path.fault != http::wire::PathFault::none) return false;
    std::string canonical(path.path);
    if (canonical.ends_with('/')) canonical.pop_back();
    prefix = std::move(canonical);
    return true;
}

namespace {

// "/cgi-bin/=/srv/cgi": the path as requests have it, without its last '/', and what stands behind
// the '='. "=/feed=/feed.xml" is about that path alone.
std::optional<std::pair<std::string, std::string>> path_and_value(std::string_view text) {
    const bool is_alone = text.starts_with("=/");
    if (is_alone) text.remove_prefix(1);
    const auto sides = split(text, '=');
    const bool is_path = sides && sides->first.starts_with('/') &&
                         sides->first.find("//") == std::string_view::npos &&
                         is_field_value(sides->first);
    if (!is_path) return std::nullopt;
    std::string prefix(sides->first);
    // A rule for "/api/" holds for "/api" as well: a slash that is forgotten must not open a path.
    if (prefix.ends_with('/')) prefix.pop_back();
    if (!make_canonical(prefix)) return std::nullopt;
    if (is_alone) prefix.insert(0, prefix.empty() ? "=/" : "=");
    // As it was typed: a password may end in a space.
    return std::pair(std::move(prefix), std::string(text.substr(text.find('=') + 1)));
}

}  // namespace

namespace {

constexpr std::uint32_t rate_per_minute_max = 1'000'000;

// N[,BURST]
Read<http::filter::RateLimitOptions> read_rate(std::string_view value) {
    const std::size_t comma = value.find(',');
    http::filter::RateLimitOptions limit;
    limit.per_minute = parse_number<std::uint32_t>(value.substr(0, comma)).value_or(0);
    if (comma != value.npos)
        limit.burst = parse_number<std::uint32_t>(value.substr(comma + 1)).value_or(0);
    const auto fits = [](std::uint32_t number) {
        return number > 0 && number <= rate_per_minute_max;
    };
    if (!fits(limit.per_minute) || !fits(limit.burst)) {
        return std::unexpected(
            "expects PATH=N[,BURST] with numbers from 1 to 1000000, for example /login=20,5");
    }
    return limit;
}

// A path of this server or an address; the rest of the request's path and its query come behind it.
Read<std::string> read_redirect(std::string_view value) {
    // "//a/b" is an address without a scheme: its host is a (RFC 3986, 4.2).
    const bool is_path = value.starts_with('/') && !value.starts_with("//");
    const bool is_address = (value.starts_with("https://") && value.size() > 8) ||
                            (value.starts_with("http://") && value.size() > 7);
    // The rest of the request's path is appended: behind a '?' or '#' it would be no path any more.
    // The others may not stand in a Location unescaped.
    const auto fits = [](char c) {
        return c > ' ' && c < '\x7F' &&
               std::string_view("?#\\\"<>^`{|}").find(c) == std::string_view::npos;
    };
    if ((!is_path && !is_address) || !std::ranges::all_of(value, fits)) {
        return std::unexpected(
            "expects PATH=TARGET, a path or an http address without ? and #, for example "
            "/old=/new");
    }
    return std::string(value);
}

Applied set_redirect(Route& route, std::string_view value) {
    if (value == "off") {
        route.reply = FixedReply{};
        return {};
    }
    auto target = read_redirect(value);
    if (!target) return std::unexpected(std::move(target.error()));
    std::string canonical = *target;
    if (target->starts_with('/') &&
        (!make_canonical(canonical) || route.match.path_holds(canonical))) {
        // Each redirect would lead to a path that is redirected again.
        return std::unexpected("leads back to the path itself, again and again");
    }
    route.reply = FixedReply{.target = *target + "{rest}"};
    return {};
}

Applied set_users(Route& route, std::string_view value) {
    auto users = read_users(value);
    if (!users) return std::unexpected(std::move(users.error()));
    if (!route.auth) route.auth.emplace();
    if (*users != "off") route.auth->push_back(std::move(*users));
    return {};
}

// These are addresses to listen on; nothing can be reached there.
bool is_unreachable(const core::Address& address) {
    return !address.is_unix() && (address.is_any() || address.port() == 0);
}

Applied set_peer(Route& route, std::string_view value) {
    auto address = core::Address::parse(value);
    if (!address || is_unreachable(*address)) {
        return std::unexpected(
            "expects PATTERN=ADDRESS, for example '*.php=unix:/run/php/php-fpm.sock' or "
            "/app=127.0.0.1:9000");
    }
    route.fastcgi = std::move(*address);
    return {};
}

}  // namespace

Applied set_of_route(Route& route, RouteValue what, std::string_view value) {
    switch (what) {
        case RouteValue::auth:
            return set_users(route, value);
        case RouteValue::cors:
            if (value != "off") return put(read_origin(value), route.cors);
            route.cors = "off";
            return {};
        case RouteValue::rate:
            route.rate.emplace();
            return value == "off" ? Applied() : put(read_rate(value), route.rate->limit);
        case RouteValue::header:
            return add(read_header(value), route.headers);
        case RouteValue::error_page:
            return add(read_error_page(value), route.error_pages);
        case RouteValue::compress:
            return put(read_codings(value), route.compress);
        case RouteValue::redirect:
            return set_redirect(route, value);
        case RouteValue::log:
            route.log = value;
            return {};
        case RouteValue::cgi:
            route.cgi = value;
            return {};
        case RouteValue::fastcgi:
            return set_peer(route, value);
    }
    return {};
}

namespace {

// What is refused leaves nothing.
Applied set_at(ServeOptions& options, const http::RouteMatch& match, RouteValue what,
               std::string_view value) {
    const std::size_t before = options.routes.size();
    Route& route = route_of(options.routes, match);
    const Applied applied =
        options.routes.size() > routes_max
            ? std::unexpected("expects at most " + std::to_string(routes_max) + " paths")
            : set_of_route(route, what, value);
    if (!applied) options.routes.resize(before);
    return applied;
}

// By RouteValue.
constexpr std::array<std::string_view, 7> path_examples{
    "/private=users.htpasswd", "'/api=*'", "/login=20,5", "/app=X-Frame-Options:DENY",
    "/api=404=404.json",       "/api=off", "/old=/new"};

}  // namespace

Applied set_path(ServeOptions& options, RouteValue what, std::string_view text) {
    const auto sides = path_and_value(text);
    if (sides) return set_at(options, {.path = sides->first}, what, sides->second);
    return std::unexpected("expects PATH=VALUE, for example " +
                           std::string(path_examples.at(static_cast<std::size_t>(what))));
}

// Programs of a folder before patterns: a script below --cgi /cgi-bin is run there, also where its
// name fits a --fastcgi '*.php' of the whole site.
Applied set_cgi(ServeOptions& options, std::string_view value) {
    const auto sides = path_and_value(value);
    if (!sides) return std::unexpected("expects PATH=DIR, for example /cgi-bin=/srv/cgi");
    const http::RouteMatch match{.path = sides->first, .priority = 1};
    // The programs of the second folder would never run.
    if (std::ranges::find(options.routes, match, &Route::match) != options.routes.end()) {
        return std::unexpected("this path is given twice");
    }
    return set_at(options, match, RouteValue::cgi, sides->second);
}

// A glob is matched with the decoded path as it is; a path is made canonical first, so that it
// holds for the path that requests have.
Applied set_fastcgi(ServeOptions& options, std::string_view value) {
    const auto sides = split(value, '=');
    std::string pattern(sides ? sides->first : "");
    const bool is_glob = http::route::is_glob(pattern);
    const bool is_pattern = is_field_value(pattern) &&
                            (is_glob || (pattern.starts_with('/') && make_canonical(pattern)));
    Route peer;
    if (auto set = set_peer(peer, is_pattern ? sides->second : ""); !set) return set;
    // The redirect of a path stands before scripts below it.
    const http::RouteMatch match{.path = std::move(pattern), .priority = is_glob ? -1 : 0};
    const auto known = std::ranges::find(options.routes, match, &Route::match);
    if (known != options.routes.end() && known->fastcgi) {
        return std::unexpected("this pattern is given twice");
    }
    return set_at(options, match, RouteValue::fastcgi, sides->second);
}

Applied set_path_log(ServeOptions& options, std::string_view value) {
    const auto sides = path_and_value(value);
    if (!sides) return std::unexpected("expects PATH=FILE, for example /api=api.log");
    const auto has_log = [](const Route& route) { return route.log.has_value(); };
    if (std::cmp_greater_equal(std::ranges::count_if(options.routes, has_log), path_logs_max)) {
        return std::unexpected("expects at most " + std::to_string(path_logs_max) + " of these");
    }
    return set_at(options, {.path = sides->first}, RouteValue::log, sides->second);
}

Applied set_user(ServeOptions& options, std::string_view value) {
    const std::size_t colon = value.find(':');
    const bool has_group = colon == value.npos ||
                           (colon + 1 < value.size() && value.find(':', colon + 1) == value.npos);
    if (value.empty() || colon == 0 || !has_group) {
        return std::unexpected("expected NAME or NAME:GROUP, for example www-data");
    }
    options.user = value;
    return {};
}

std::string get_listen(const ServeOptions& options) {
    return options.listen.front();
}

// The defaults that --help shows.
std::string get_compress(const ServeOptions&) {
    return "auto";
}

std::string get_index(const ServeOptions& options) {
    return options.index.front();
}

std::string get_access_log(const ServeOptions& options) {
    return options.access_log;
}

}  // namespace tiderace::server
