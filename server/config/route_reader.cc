#include "server/config/route_reader.h"

#include <algorithm>
#include <optional>

#include "server/config/files_reader.h"
#include "server/config/observe_reader.h"
#include "server/site/variables.h"
#include "tiderace/base/ascii.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/route/regex.h"
#include "tiderace/http/route/regex_front.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::server::config {
namespace {

using http::RouteMatch;

constexpr std::string_view handlers[] = {"root",    "redirect", "respond", "deny",
                                         "fastcgi", "cgi",      "metrics"};
constexpr std::int64_t priority_max = 1'000;

// A value that may be one, or a list of such.
std::vector<const Value*> one_or_all(const Value& value) {
    std::vector<const Value*> all;
    const Array* const array = value.get<Array>();
    if (array == nullptr) return {&value};
    for (const Value& each : *array) all.push_back(&each);
    return all;
}

// Whether the expression matches every path with a front that all paths of the other have.
bool has_front_of(const RouteMatch& match, const RouteMatch& other) {
    const auto front = http::route::front_of(std::string_view(match.path).substr(1));
    // Every path begins with '/'.
    if (!front.is_all || front.text.size() <= 1) return front.is_all;
    const std::string fixed =
        other.regex != nullptr
            ? http::route::front_of(std::string_view(other.path).substr(1)).text
            : other.folder() + (other.kind() == RouteMatch::Kind::pattern ? "/" : "");
    return fixed.starts_with(front.text);
}

// Whether the nearer route answers every request of the other.
bool shadows(const Route& nearer, const Route& other) {
    const RouteMatch& match = nearer.match;
    using Kind = RouteMatch::Kind;
    if (match.conditions() > 0) return false;
    // Of patterns one that denies counts first.
    const bool denies = other.reply && other.reply->status >= 400;
    const bool is_pattern = match.kind() == Kind::pattern;
    if (denies && is_pattern && other.match.kind() == Kind::pattern &&
        match.priority == other.match.priority) {
        return false;
    }
    if (match.path.empty() || match.path == "**" || match.path == "/**") return true;
    if (match.kind() == Kind::below) return match.path_holds(other.match.folder());
    const std::string_view path = other.match.plain_path();
    if (other.match.kind() == Kind::alone) return match.path_holds(path);
    if (match.regex != nullptr) return has_front_of(match, other.match);
    // A glob of names: the last part of a path that it matches is the same below every folder.
    return is_pattern && other.match.kind() == Kind::below && !path.empty() &&
           match.path_holds(path);
}

// As it is for some request: what a path stands for begins with '/', or is nothing.
std::string without_variables(std::string_view target) {
    std::string plain;
    while (!target.empty()) {
        const std::size_t begin = std::min(target.find('{'), target.size());
        plain += target.substr(0, begin);
        target.remove_prefix(begin);
        if (target.empty()) break;
        const bool is_whole = target.starts_with("{path}") || target.starts_with("{rest}");
        plain += is_whole ? "" : "x";
        target.remove_prefix(target.find('}') + 1);
    }
    return plain;
}

// Whether requests below the path of `closed` may have a path that the pattern matches.
bool may_match_below(const Route& pattern, const Route& closed) {
    const std::string_view glob = pattern.match.path;
    const std::string_view path = closed.match.path;
    if (!glob.contains('/')) return true;
    std::string fixed(glob.substr(0, glob.find_first_of("*?")));
    if (!fixed.starts_with('/')) fixed.insert(0, "/");
    return http::wire::is_below(fixed, path) || path.starts_with(fixed);
}

bool answers(const Route& route) {
    return (route.reply && !route.reply->is_off()) || route.runs_programs() ||
           route.shows_metrics || route.files.root;
}

}  // namespace

std::string type_fault(std::string_view name, std::string_view expects, const Value& value) {
    return std::string(name) + " expects " + std::string(expects) + ", and this is " +
           std::string(value.noun());
}

bool read_truth(const Member& member, Problems& problems) {
    const bool* const truth = member.value.get<bool>();
    if (truth != nullptr) return *truth;
    problems.error(member.value.at, type_fault(member.key, "true or false", member.value));
    return false;
}

void read_route_value(Route& route, RouteValue what, std::string_view value, Place at,
                      const Reading& reading, std::string_view name) {
    const Applied applied = set_of_route(route, what, value);
    if (applied) return;
    reading.problems.error(
        at, name.empty() ? applied.error() : std::string(name) + ": " + applied.error());
}

std::vector<RouteReader::Found> RouteReader::read_matches(Place at, const Table& route) {
    RouteMatch match;
    if (const Member* const method = route.find("method")) read_methods(method->value, match);
    if (const Member* const header = route.find("header")) read_values(*header, match.header);
    if (const Member* const query = route.find("query")) read_values(*query, match.query);
    if (const Member* const remote = route.find("remote")) {
        match.remote = read_networks("remote", remote->value, reading_);
    }
    if (const Member* const scheme = route.find("scheme")) read_scheme(scheme->value, match);
    if (const Member* const priority = route.find("priority")) {
        read_priority(priority->value, match);
    }
    const Member* const path = route.find("path");
    if (path == nullptr) return {{std::move(match), at}};
    const std::vector<const Value*> paths = one_or_all(path->value);
    if (paths.empty()) {
        reading_.problems.error(path->value.at, "this list of paths is empty",
                                "leave it out for a route of all paths");
    }
    std::vector<Found> found;
    for (const Value* const each : paths) {
        if (read_path(*each, match)) found.push_back({match, each->at});
    }
    return found;
}

bool RouteReader::read_path(const Value& value, RouteMatch& match) {
    const auto* const text = value.get<std::string>();
    std::string path = text != nullptr ? *text : "";
    match.regex.reset();
    if (path.starts_with('~')) return read_regex(value, path, match);
    const bool is_alone = path.starts_with('=');
    if (is_alone) path.erase(0, 1);
    const bool is_glob = !is_alone && http::route::is_glob(path);
    const std::string above = path.ends_with("/*") ? path.substr(0, path.size() - 2) : "*";
    if (is_glob && !http::route::is_glob(above)) {
        reading_.problems.error(value.at, "a path holds for all below it already",
                                "write \"" + (above.empty() ? "/" : above) + "\"");
    } else if ((!path.starts_with('/') && !is_glob) || path.starts_with('^')) {
        reading_.problems.error(value.at, "a path begins with \"/\"",
                                path.starts_with('^')
                                    ? "a \"~\" before it makes it a regular expression"
                                    : "\"/api\" for all below it, \"=/api\" for that path alone");
    } else if ((path + "/").contains("/../") || path.contains("//")) {
        reading_.problems.error(value.at,
                                "no request has this path: \"..\" and \"//\" are taken out");
    } else if (is_glob) {
        match.path = std::move(path);
        return true;
    } else if (!make_canonical(path)) {
        reading_.problems.error(value.at, "no request has this path",
                                "write it as a browser shows it, with escapes that are sound");
    } else {
        match.path = is_alone ? "=" + (path.empty() ? "/" : path) : path;
        return true;
    }
    return false;
}

bool RouteReader::read_regex(const Value& value, const std::string& path, RouteMatch& match) {
    if (!http::route::has_regexes()) {
        reading_.problems.error(value.at,
                                "this program was built without PCRE2, and has no regular "
                                "expressions",
                                "build it with libpcre2-dev, or write a pattern: * for a part of a "
                                "name, ** for any path");
        return false;
    }
    auto compiled = http::route::compile_regex(std::string_view(path).substr(1));
    if (compiled) {
        match.path = path;
        match.regex = std::move(*compiled);
        return true;
    }
    reading_.problems.error(reading_.place_in(value, 1 + compiled.error().at),
                            "this regular expression has a fault: " + compiled.error().what,
                            "a backslash takes the meaning from a sign, as in '~\\.php$'; single "
                            "quotes keep it as it is");
    return false;
}

void RouteReader::read_methods(const Value& value, RouteMatch& match) {
    const std::vector<const Value*> all = one_or_all(value);
    for (const Value* const each : all) {
        const auto* const name = each->get<std::string>();
        const auto method =
            name != nullptr ? http::wire::parse_method(*name) : http::wire::Method::other;
        if (method != http::wire::Method::other) {
            match.methods.push_back(method);
            continue;
        }
        std::string upper = name != nullptr ? *name : "";
        for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        const bool is_known = http::wire::parse_method(upper) != http::wire::Method::other;
        reading_.problems.error(each->at, "no request has this method",
                                is_known ? "methods are in capitals: \"" + upper + "\""
                                         : "method = [\"GET\", \"POST\"]; GET is HEAD, too");
    }
    if (!all.empty()) return;
    reading_.problems.error(value.at, "this list of methods is empty",
                            "leave it out for every method");
}

void RouteReader::read_values(const Member& member, std::vector<http::ValueCondition>& conditions) {
    const Table* const table = member.value.get<Table>();
    if (table == nullptr || table->members.empty()) {
        reading_.problems.error(
            member.value.at, member.key + " expects a table of names with the values they have",
            member.key + " = { name = \"value\", other = true, third = false }");
        return;
    }
    for (const Member& each : table->members) {
        const auto* const text = each.value.get<std::string>();
        const bool* const is_there = each.value.get<bool>();
        if (member.key == "header" && !http::wire::is_token(each.key)) {
            reading_.problems.error(each.at, "no request has a field of this name");
        } else if (text != nullptr) {
            conditions.push_back({.name = each.key, .value = *text});
        } else if (is_there != nullptr) {
            conditions.push_back({.name = each.key, .is_absent = !*is_there});
        } else {
            reading_.problems.error(each.value.at,
                                    type_fault(each.key, "a string, true or false", each.value));
        }
    }
}

void RouteReader::read_scheme(const Value& value, RouteMatch& match) {
    const auto* const text = value.get<std::string>();
    if (text != nullptr && (*text == "http" || *text == "https")) {
        match.secure = *text == "https";
        return;
    }
    reading_.problems.error(value.at, "scheme expects \"http\" or \"https\"");
}

void RouteReader::read_priority(const Value& value, RouteMatch& match) {
    const auto* const number = value.get<std::int64_t>();
    if (number != nullptr && *number >= -priority_max && *number <= priority_max) {
        match.priority = static_cast<int>(*number);
        return;
    }
    reading_.problems.error(value.at, "priority expects a whole number from -1000 to 1000",
                            "0 is every route's; one with more is nearer");
}

// The key that says what answers; nullptr: the files of the site do.
const Member* RouteReader::answering_key(const Table& table) {
    const Member* found = nullptr;
    for (const Member& each : table.members) {
        if (std::ranges::find(handlers, each.key) == std::end(handlers)) continue;
        if (found != nullptr) {
            reading_.problems.error(each.at,
                                    "\"" + each.key + "\" stands beside \"" + found->key + "\"",
                                    "one of them answers: leave the other out");
        }
        found = &each;
    }
    return found != nullptr ? found : table.find("status");
}

// `status` alone answers; beside `redirect` and `respond` it is theirs.
void RouteReader::read_reply(Route& route, const Table& table) {
    const Member* const key = answering_key(table);
    if (key == nullptr) return;
    std::optional<int> status;
    if (const Member* const given = table.find("status")) {
        const auto* const code = given->value.get<std::int64_t>();
        if (code == nullptr || *code < 200 || *code > 599) {
            reading_.problems.error(given->value.at, "status expects a code from 200 to 599");
            return;
        }
        status = static_cast<int>(*code);
    }
    if (key->key != "redirect" && status && *status >= 300 && *status < 400) {
        reading_.problems.error(table.find("status")->value.at,
                                "a status from 300 to 399 says where to go, and no `redirect` does",
                                "redirect = \"/new{rest}\" beside it");
        return;
    }
    if (key->key == "redirect") {
        read_redirect(route, *key, status.value_or(308));
    } else if (key->key == "respond") {
        const auto* const text = key->value.get<std::string>();
        if (text == nullptr) {
            reading_.problems.error(key->value.at, type_fault("respond", "a text", key->value));
            return;
        }
        route.reply = FixedReply{.status = status.value_or(200), .text = *text};
    } else if (key->key == "deny") {
        read_deny(route, *key);
    } else if (key->key == "status") {
        route.reply = FixedReply{.status = *status};
    }
}

void RouteReader::read_redirect(Route& route, const Member& key, int status) {
    const auto* const target = key.value.get<std::string>();
    if (target == nullptr) {
        reading_.problems.error(key.value.at, type_fault("redirect", "a target", key.value));
        return;
    }
    if (status < 301 || status > 308 || (status > 303 && status < 307)) {
        reading_.problems.error(key.at, "a redirect has the status 301, 302, 303, 307 or 308");
        return;
    }
    const bool is_path = target->starts_with('/');
    if (!is_path && !target->starts_with("http://") && !target->starts_with("https://")) {
        reading_.problems.error(key.value.at,
                                "a redirect leads to a path, or to an address with http:// or "
                                "https://",
                                "redirect = \"/new{rest}\", or \"https://example.org{rest}\"");
        return;
    }
    if (!has_sound_variables(*target, route.match, key.value.at, reading_)) return;
    if (!is_path && has_path_variable(authority_of(*target))) {
        reading_.problems.error(key.value.at, "the path of a request may not choose the host",
                                "put a \"/\" before it: https://example.org/{1}");
        return;
    }
    route.reply.reset();
    read_route_value(route, RouteValue::redirect, without_variables(*target), key.value.at,
                     reading_, "redirect");
    if (!route.reply) return;
    route.reply->status = status;
    route.reply->target = *target;
}

void RouteReader::read_deny(Route& route, const Member& key) {
    const bool* const truth = key.value.get<bool>();
    const auto* const code = key.value.get<std::int64_t>();
    if (truth == nullptr && (code == nullptr || *code < 400 || *code > 499)) {
        reading_.problems.error(key.value.at, "deny expects true, or a code from 400 to 499");
        return;
    }
    if (truth != nullptr && !*truth) return;
    route.reply = FixedReply{.status = code != nullptr ? static_cast<int>(*code) : 404};
}

void RouteReader::read_programs(Route& route, const Member& member) {
    const auto* const where = member.value.get<std::string>();
    const bool is_folder = member.key == "cgi";
    if (where == nullptr || where->empty()) {
        reading_.problems.error(
            member.value.at,
            type_fault(member.key, is_folder ? "a folder" : "an address", member.value));
        return;
    }
    if (!is_folder && route.match.regex != nullptr) {
        reading_.problems.error(member.at, "a regular expression chooses no scripts",
                                "path = \"*.php\", or \"/app\" for all below it");
        return;
    }
    if (is_folder && route.match.kind() != RouteMatch::Kind::below) {
        reading_.problems.error(member.at, "the programs of a folder stand below a path",
                                "path = \"/cgi-bin\"");
        return;
    }
    read_route_value(
        route, is_folder ? RouteValue::cgi : RouteValue::fastcgi,
        is_folder ? reading_.path_of(*where, member.value.at, FileKind::folder) : *where,
        member.value.at, reading_, member.key);
}

// The page says much about a server, so it is never open by mistake: what guards it stands beside
// it, and not in a table around it that may change.
void RouteReader::check_metrics_page(const Route& route, const Table& table) {
    const Member* const key = table.find("metrics");
    const bool is_guarded = !route.match.remote.empty() || (route.auth && !route.auth->empty());
    if (key == nullptr || !route.shows_metrics || is_guarded) return;
    reading_.problems.error(key->at, "everybody could read the numbers of this server here",
                            "say who may: remote = [\"10.0.0.0/8\"], or auth, in this route");
}

void RouteReader::check_promises(const Route& route, const Table& table) {
    struct Promise {
        int status;
        std::string_view field;
        std::string_view advice;
    };
    // RFC 9110, 15.5.2, 15.5.6, 15.5.8, 15.5.22.
    static constexpr Promise promises[] = {
        {401, "WWW-Authenticate",
         "auth asks for a password; or response.set.WWW-Authenticate = \"Bearer\""},
        {405, "Allow", "response.set.Allow = \"GET, HEAD\""},
        {407, "Proxy-Authenticate", "403 refuses a client"},
        {426, "Upgrade", "400 refuses a request"}};
    const Member* key = nullptr;
    for (const std::string_view name : {"status", "deny", "use"}) {
        if (key == nullptr) key = table.find(name);
    }
    if (!route.reply || key == nullptr) return;
    const auto promise = std::ranges::find(promises, route.reply->status, &Promise::status);
    if (promise == std::end(promises)) return;
    const auto sets_it = [&](const AddedHeader& header) {
        return header.value && equals_ignoring_case(header.name, promise->field);
    };
    if (std::ranges::any_of(route.headers, sets_it)) return;
    reading_.problems.error(key->value.at,
                            "the status " + std::to_string(promise->status) +
                                " promises the field " + std::string(promise->field),
                            std::string(promise->advice));
}

void RouteReader::check_answered(const Found& found, const Route& route) {
    if (!answers(route) && !route.files.any()) return;
    std::vector<Found>& same_path = answered_[found.match.path];
    const auto known = std::ranges::find(same_path, found.match, &Found::match);
    if (known != same_path.end()) {
        reading_.problems.error(found.at, "two routes answer this path",
                                "the other is at " + reading_.sources.name_of(known->at));
        return;
    }
    same_path.push_back(found);
}

Place RouteReader::place_of(const RouteMatch& match) const {
    const std::vector<Found>& all = answered_.at(match.path);
    return std::ranges::find(all, match, &Found::match)->at;
}

// Patterns come before paths, which is rarely meant where a folder is closed.
void RouteReader::check_open_scripts(const std::vector<Route>& routes) {
    for (const Route& closed : routes) {
        const bool denies = closed.reply && closed.reply->status >= 400;
        // Hidden names are no scripts.
        const bool is_hidden = http::wire::has_hidden_segment(closed.match.path);
        if (!denies || is_hidden || closed.match.kind() != RouteMatch::Kind::below) continue;
        const auto open = std::ranges::find_if(routes, [&](const Route& each) {
            return each.has_scripts() && each.match.priority >= closed.match.priority &&
                   may_match_below(each, closed);
        });
        if (open == routes.end()) continue;
        reading_.problems.warning(
            place_of(closed.match), "scripts below this path are run: their pattern is nearer",
            "that is at " + reading_.sources.name_of(place_of(open->match)) + "; priority = " +
                std::to_string(open->match.priority + 1) + " puts this route before it");
    }
}

void RouteReader::check_shadowed(const std::vector<Route>& routes) {
    check_open_scripts(routes);
    std::vector<const RouteMatch*> matches;
    for (const Route& route : routes) matches.push_back(&route.match);
    // Few routes shadow others: patterns and routes with a priority.
    std::vector<const Route*> nearer;
    for (const std::uint32_t index : http::nearest_first(matches)) {
        const Route& route = routes[index];
        if (!answers(route)) continue;
        const auto found =
            std::ranges::find_if(nearer, [&](const Route* one) { return shadows(*one, route); });
        if (found != nearer.end()) {
            reading_.problems.warning(
                place_of(route.match), "this route never answers: another is nearer",
                "that is at " + reading_.sources.name_of(place_of((*found)->match)) +
                    "; a higher `priority` puts this one before it");
        }
        const bool may_shadow = route.match.kind() != RouteMatch::Kind::alone &&
                                (route.match.priority != 0 || route.match.path.empty() ||
                                 route.match.kind() == RouteMatch::Kind::pattern);
        if (may_shadow && route.match.conditions() == 0) nearer.push_back(&route);
    }
}

}  // namespace tiderace::server::config
