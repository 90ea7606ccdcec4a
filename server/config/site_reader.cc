#include "server/config/site_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "server/config/observe_reader.h"
#include "server/config/table_reader.h"
#include "server/password_file.h"
#include "server/programs.h"
#include "server/root_folder.h"
#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::server::config {
namespace {

constexpr std::size_t presets_max = 16;  // of one table
constexpr std::size_t no_route = std::numeric_limits<std::size_t>::max();
constexpr std::array<std::string_view, 4> placed_keys{"fallback", "cgi", "fastcgi", "clean_urls"};

// A name as requests have it: lower case, without a port and a final dot.
std::optional<std::string> host_of(std::string_view text) {
    std::string host = lower_case(text);
    if (host.ends_with('.')) host.pop_back();
    std::string_view rest = host;
    if (rest.starts_with("*.")) rest.remove_prefix(2);
    const auto fits = [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
    };
    const bool is_literal = text.starts_with('[') && http::wire::is_ip_address(text);
    const bool is_name = !rest.empty() && rest.size() <= 253 && std::ranges::all_of(rest, fits) &&
                         !rest.starts_with('.') && !rest.ends_with('.') &&
                         rest.find("..") == rest.npos;
    return is_name || is_literal ? std::optional(host) : std::nullopt;
}

// "100/min", "5/s": how many in a minute.
std::optional<std::uint32_t> rate_of(std::string_view text) {
    std::uint32_t count = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failure] = std::from_chars(text.data(), last, count);
    const std::string_view unit = failure == std::errc{} ? std::string_view(end, last) : "";
    if (count == 0 || count > 1'000'000) return std::nullopt;
    if (unit == "/min") return count;
    return unit == "/s" && count <= 16'666 ? std::optional(count * 60) : std::nullopt;
}

// RFC 9110, 15.3.2, 15.4, 15.5.2, 15.5.6: answers of these statuses have the field.
bool is_promised(std::string_view name) {
    return name == "allow" || name == "location" || name == "www-authenticate";
}

}  // namespace

SiteReader::SiteReader(const Table& top, const ServeOptions& server, const Reading& reading)
    : top_(&top), server_(&server), reading_(reading), files_(reading) {
    check_presets();
}

// The keys of a preset are checked even if no site uses it.
void SiteReader::check_presets() {
    const Table* const presets = table_in(*top_, "preset", reading_);
    if (presets == nullptr) return;
    for (const Member& preset : presets->members) {
        const Table* const content = preset.value.get<Table>();
        if (content == nullptr) {
            reading_.problems.error(preset.at, type_fault("a preset", "a table", preset.value));
            continue;
        }
        for (const Member& each : content->members) {
            if (!is_setting(each.key)) {
                reading_.problems.error(each.at, "a preset cannot have \"" + each.key + "\"",
                                        "presets hold settings for sites and routes");
            } else if (find_key(TableKind::route, each.key) == nullptr) {
                refuse_unknown(TableKind::site, {.members = {each}}, reading_);
            }
        }
    }
}

SiteConfig SiteReader::read(Place at, const Table& table) {
    SiteConfig site;
    site.at = at;
    site.options = *server_;
    site.is_default = false;
    const std::size_t before = reading_.problems.errors();
    if (const Member* const hosts = table.find("hosts")) read_hosts(*hosts, site);
    if (const Member* const is_default = table.find("default")) {
        site.is_default = read_truth(*is_default, reading_.problems);
    }
    // A file with one site need not say for whom.
    if (table.find("hosts") == nullptr && table.find("default") == nullptr) site.is_default = true;
    if (!site.is_default && site.hosts.empty() && reading_.problems.errors() == before) {
        reading_.problems.error(at, "no request comes to this site: it has no hosts",
                                "hosts = [\"example.org\"], or default = true for all others");
    }
    site.options.root.clear();
    pages_.clear();
    places_.clear();
    RouteReader reader(reading_);
    read_settings({TableKind::site, &site.options.whole, &reader}, table, site.options);
    reader.check_promises(site.options.whole, table);
    for_each_table(table, "route", reading_, [&](const Member& key, const Table& route) {
        read_route(route, key.at, reader, site.options);
        site.routes_at.resize(site.options.routes.size(), key.at);
        ++site.routes;
    });
    check_logs(at, site.options);
    const std::string& canonical = site.options.canonical_host;
    const auto is_name = [&](const std::string& name) {
        return name == canonical || (name.starts_with("*.") && canonical.ends_with(name.substr(1)));
    };
    if (!canonical.empty() && !site.is_default && std::ranges::none_of(site.hosts, is_name)) {
        reading_.problems.error(table.find("canonical_host")->value.at,
                                "no request for " + canonical + " comes to this site",
                                "it is one of its hosts");
    }
    find_error_pages(site.options);
    if (reading_.world.looks_closely) find_content_faults(site.options);
    reader.check_shadowed(site.options.routes);
    return site;
}

void SiteReader::read_hosts(const Member& member, SiteConfig& site) {
    const Array* const names = member.value.get<Array>();
    if (names == nullptr) {
        reading_.problems.error(member.value.at,
                                type_fault("hosts", "a list of names", member.value),
                                "hosts = [\"example.org\", \"*.example.org\"]");
        return;
    }
    for (const Value& each : *names) {
        const auto* const text = each.get<std::string>();
        const auto host = text != nullptr ? host_of(*text) : std::nullopt;
        if (host) {
            site.hosts.push_back(*host);
        } else {
            const bool is_foreign = text != nullptr && std::ranges::any_of(*text, [](char c) {
                                        return static_cast<unsigned char>(c) >= 0x80;
                                    });
            reading_.problems.error(each.at, "hosts are names without scheme, port and path",
                                    is_foreign
                                        ? "write it as DNS has it: \"xn--bcher-kva.example\""
                                        : "\"example.org\", or \"*.example.org\" for all below it");
        }
    }
}

// Presets first, in their order: what the table says itself stands above them.
void SiteReader::read_settings(const Scope& scope, const Table& table, ServeOptions& options) {
    use_presets(scope, table, options);
    scope.reader->read_reply(*scope.route, table);
    read_table(scope.kind, table, options, reading_,
               [&](const Member& member) { return read_own(scope, member, options); });
    files_.check(table, *scope.route);
}

void SiteReader::use_presets(const Scope& scope, const Table& table, ServeOptions& options) {
    const Member* const use = table.find("use");
    if (use == nullptr) return;
    const Array* const names = use->value.get<Array>();
    const Table* const presets = table_in(*top_, "preset", reading_);
    if (names == nullptr || names->size() > presets_max) {
        reading_.problems.error(use->value.at, "use expects a list of presets, at most 16",
                                "use = [\"hardened\"] for [preset.hardened]");
        return;
    }
    for (const Value& each : *names) {
        const auto* const name = each.get<std::string>();
        const Member* const preset =
            name != nullptr && presets != nullptr ? presets->find(*name) : nullptr;
        const Table* const content = preset != nullptr ? preset->value.get<Table>() : nullptr;
        if (content == nullptr) {
            reading_.problems.error(each.at, "there is no [preset." + (name ? *name : "") + "]");
        } else if (content->find("use") != nullptr) {
            reading_.problems.error(content->find("use")->at, "a preset does not use others");
        } else {
            read_settings(scope, *content, options);
        }
    }
}

bool SiteReader::read_own(const Scope& scope, const Member& member, ServeOptions& options) {
    const std::string& key = member.key;
    if (const auto known = std::ranges::find(placed_keys, key); known != placed_keys.end()) {
        const bool is_route = scope.kind == TableKind::route;
        places_[{is_route ? options.routes.size() : no_route, *known}] = member.value.at;
    }
    if (key == "log") reading_.look_at_log(member.value, *server_);
    if (key == "error_pages") {
        read_error_pages(*scope.route, member);
    } else if (key == "response") {
        read_response(*scope.route, member);
    } else if (key == "auth") {
        read_auth(scope, member);
    } else if (key == "rate") {
        read_rate(*scope.route, member);
    } else if (key == "fastcgi" || key == "cgi") {
        scope.reader->read_programs(*scope.route, member);
    } else if (key == "metrics") {
        scope.route->shows_metrics = read_truth(member, reading_.problems);
    } else if (files_.read(scope.kind, member, *scope.route, options)) {
        return true;
    } else if (key == "slow") {
        scope.route->slow = read_time(member, reading_);
    } else if (key == "server_timing") {
        const auto* const word = member.value.get<std::string>();
        const bool is_off = word != nullptr && *word == "off";
        scope.route->server_timing =
            is_off ? std::vector<net::Network>() : read_networks(key, member.value, reading_);
    } else if (key == "body_max" || key == "head_timeout") {
        read_limit(*scope.route, member);
    } else if (key == "canonical_host") {
        read_canonical_host(member, options);
    } else if (scope.kind == TableKind::route &&
               (key == "compress" || key == "cors" || key == "log" || key == "cache_control")) {
        read_text(*scope.route, member);
    } else {
        return find_key(scope.kind, key)->flag.empty();  // read before, or by the caller
    }
    return true;
}

// A setting that is a string, and a flag's for the whole site.
void SiteReader::read_text(Route& route, const Member& member) {
    const std::string& key = member.key;
    const auto* const text = member.value.get<std::string>();
    if (text == nullptr) {
        reading_.problems.error(member.value.at, type_fault(key, "a string", member.value));
    } else if (key == "cache_control") {
        if (route.match.conditions() > 0) {
            reading_.problems.error(member.at, "cache_control is about a path alone",
                                    "leave the other conditions out, or set the field for them: "
                                    "response.set.Cache-Control");
        }
        route.cache_control = *text;
    } else {
        const bool is_file = key == "log" && *text != "-" && *text != "off";
        const RouteValue what = key == "compress" ? RouteValue::compress
                                : key == "cors"   ? RouteValue::cors
                                                  : RouteValue::log;
        read_route_value(route, what, is_file ? reading_.path_of(*text, member.value.at) : *text,
                         member.value.at, reading_, key);
    }
}

void SiteReader::check_logs(Place at, const ServeOptions& options) {
    const auto has_log = [](const Route& route) { return route.log.has_value(); };
    if (std::cmp_greater(std::ranges::count_if(options.routes, has_log), path_logs_max)) {
        reading_.problems.error(
            at, "more than " + std::to_string(path_logs_max) + " routes of this site have a log");
    }
}

void SiteReader::read_limit(Route& route, const Member& member) {
    if (member.key == "head_timeout") {
        if (const auto time = read_time(member, reading_)) route.timeout = time;
        return;
    }
    ServeOptions read;
    const Key& key = *find_key(TableKind::limits, "body_max");
    if (read_key({key.in, member.key, key.flag}, member.value, read, reading_)) {
        route.body_bytes_max = read.limits.body_bytes_max;
    }
}

void SiteReader::read_canonical_host(const Member& member, ServeOptions& options) {
    const auto* const text = member.value.get<std::string>();
    const auto host = text != nullptr ? host_of(*text) : std::nullopt;
    if (!host || host->starts_with("*.")) {
        reading_.problems.error(member.value.at, "canonical_host expects one name of the site",
                                "canonical_host = \"example.org\"");
        return;
    }
    options.canonical_host = *host;
}

void SiteReader::read_error_pages(Route& route, const Member& member) {
    const Table* const pages = member.value.get<Table>();
    if (pages == nullptr) {
        reading_.problems.error(member.value.at, type_fault("error_pages", "a table", member.value),
                                "error_pages = { 404 = \"404.html\" }");
        return;
    }
    for (const Member& each : pages->members) {
        const auto* const file = each.value.get<std::string>();
        if (file == nullptr) {
            reading_.problems.error(each.value.at,
                                    type_fault("an error page", "a file", each.value));
            continue;
        }
        read_route_value(route, RouteValue::error_page, each.key + "=" + *file, each.at, reading_);
        pages_.emplace(*file, each.value.at);
    }
}

// They are relative to the root, which may stand behind them, and without one to the file.
void SiteReader::find_error_pages(ServeOptions& options) {
    const std::string& root = options.root;
    // A folder that cannot be read was reported before.
    if (!root.empty() && !reading_.world.look(root, FileKind::folder)) return;
    std::vector<Route*> all{&options.whole};
    for (Route& route : options.routes) all.push_back(&route);
    std::set<std::string> reported;
    for (Route* const route : all) {
        for (ErrorPage& page : route->error_pages) {
            const Place at = pages_.at(page.file);
            if (root.empty()) page.file = reading_.path_of(page.file, at);
            const bool is_whole = page.file.starts_with('/') || root.empty();
            const std::string path = is_whole ? page.file : root + "/" + page.file;
            auto found = reading_.world.look(path, FileKind::file);
            if (found || !reported.insert(path).second) continue;
            reading_.problems.error(at, "cannot " + found.error().message());
        }
    }
}

// What the server would refuse when it opens the files and programs of the site.
void SiteReader::find_content_faults(const ServeOptions& options) {
    const auto has_root = [&](const ServeOptions& of) {
        return !of.root.empty() && reading_.world.look(of.root, FileKind::folder).has_value();
    };
    const auto check_fallback = [&](const ServeOptions& of, const Route* route) {
        if (!of.spa_file || !has_root(of)) return;
        if (auto found = check_spa_file(of); !found)
            report(options, route, "fallback", found.error());
    };
    check_fallback(options, nullptr);
    for (const SourceFault& fault : source_faults(options)) {
        // A folder that is not there is a problem already.
        if (fault.error.code() == 0) report(options, fault.route, fault.key, fault.error);
    }
    for (const Route& route : options.routes) {
        if (!route.files.fallback && !route.files.clean_urls.value_or(false)) continue;
        const ServeOptions own = with_files_of(options, route);
        if (route.files.fallback) check_fallback(own, &route);
        for (const SourceFault& fault : source_faults(own)) {
            const bool is_own =
                fault.key == "fallback" ? route.files.fallback.has_value() : fault.key == "fastcgi";
            if (is_own) report(options, &route, fault.key, fault.error);
        }
    }
}

void SiteReader::report(const ServeOptions& options, const Route* route, std::string_view key,
                        const Error& error) {
    const std::size_t index =
        route != nullptr ? static_cast<std::size_t>(route - options.routes.data()) : no_route;
    const auto page = pages_.find(error.object());
    const auto known = places_.find({index, key});
    const Place at = key == "error_pages" && page != pages_.end() ? page->second
                     : known != places_.end()                     ? known->second
                                                                  : Place{};
    reading_.problems.error(at, "cannot " + in_words_of_the_file(error.message()));
}

void SiteReader::read_response(Route& route, const Member& member) {
    const Table* const response = member.value.get<Table>();
    if (response == nullptr) {
        reading_.problems.error(member.value.at, type_fault("response", "a table", member.value),
                                "response.set.X-Frame-Options = \"DENY\"");
        return;
    }
    refuse_unknown(TableKind::response, *response, reading_);
    if (const Member* const removed = response->find("remove")) {
        const Array* const names = removed->value.get<Array>();
        for (const Value& each : names != nullptr ? *names : Array{removed->value}) {
            const auto* const name = each.get<std::string>();
            if (name == nullptr || names == nullptr) {
                reading_.problems.error(each.at, "remove expects a list of fields",
                                        "response.remove = [\"X-Powered-By\"]");
                continue;
            }
            if (lower_case(*name) == "server") {
                reading_.problems.error(each.at, "Server is left out everywhere, or nowhere",
                                        "[server] name_field = false");
                continue;
            }
            if (is_promised(lower_case(*name))) {
                reading_.problems.error(each.at, "\"" + *name + "\" is what its status promises",
                                        "without it clients cannot follow the answer");
                continue;
            }
            // As one that is set, it must be none of the server's own.
            Route read;
            read_route_value(read, RouteValue::header, *name + ":x", each.at, reading_);
            if (!read.headers.empty()) route.headers.push_back({*name, std::nullopt});
        }
    }
    const Table* const set = table_in(*response, "set", reading_);
    if (set == nullptr) return;
    for (const Member& each : set->members) {
        const auto* const value = each.value.get<std::string>();
        if (value == nullptr) {
            reading_.problems.error(each.value.at, type_fault(each.key, "a string", each.value));
            continue;
        }
        read_route_value(route, RouteValue::header, each.key + ":" + *value, each.at, reading_);
    }
}

void SiteReader::read_auth(const Scope& scope, const Member& member) {
    scope.route->auth.reset();
    if (const auto* const word = member.value.get<std::string>(); word && *word == "off") {
        if (scope.kind == TableKind::site) {
            reading_.problems.error(member.value.at, "nothing asks for a password here",
                                    "leave auth out: \"off\" is for a route of a site that has it");
            return;
        }
        scope.route->auth.emplace();
        return;
    }
    const Table* const table = member.value.get<Table>();
    const Member* const users = table != nullptr ? table->find("users") : nullptr;
    const auto* const name = users != nullptr ? users->value.get<std::string>() : nullptr;
    if (name == nullptr || name->empty()) {
        reading_.problems.error(member.value.at, "auth expects a table with users, or \"off\"",
                                "auth = { users = \"/etc/tiderace/staff.htpasswd\" }");
        return;
    }
    refuse_unknown(TableKind::auth, *table, reading_);
    if (name->contains('/')) {
        read_password_file(*scope.route, users->value);
        return;
    }
    const Table* const all = table_in(*top_, "users", reading_);
    const Member* const known = all != nullptr ? all->find(*name) : nullptr;
    if (known == nullptr) {
        reading_.problems.error(users->value.at, "[users] has no \"" + *name + "\"",
                                "a name with a slash is a file: \"./" + *name + "\"");
    } else if (known->value.get<std::string>() != nullptr) {
        read_password_file(*scope.route, known->value);
    } else if (const Table* const people = known->value.get<Table>()) {
        for (const Member& each : people->members) {
            const auto* const password = each.value.get<std::string>();
            if (password == nullptr) {
                reading_.problems.error(each.value.at,
                                        type_fault(each.key, "a password", each.value));
                continue;
            }
            read_route_value(*scope.route, RouteValue::auth, each.key + ":" + *password, each.at,
                             reading_, "auth");
        }
    }
}

void SiteReader::read_password_file(Route& route, const Value& value) {
    const std::string& file = *value.get<std::string>();
    if (file.contains(':')) {
        reading_.problems.error(value.at, "the name of a password file has no \":\"");
        return;
    }
    const std::string path = reading_.path_of(file, value.at, FileKind::file);
    // A pipe can be read once, when the server starts.
    std::error_code fault;
    const bool may_read = reading_.world.looks_closely && reading_.world.look(path, FileKind::file);
    if (may_read && std::filesystem::is_regular_file(path, fault)) {
        if (auto loaded = PasswordFile::load(std::span(&path, 1)); !loaded) {
            reading_.problems.error(value.at, "cannot " + loaded.error().message());
        }
    }
    read_route_value(route, RouteValue::auth, path, value.at, reading_, "auth");
}

void SiteReader::read_rate(Route& route, const Member& member) {
    if (const auto* const word = member.value.get<std::string>(); word && *word == "off") {
        route.rate.emplace();
        return;
    }
    const Table* const table = member.value.get<Table>();
    const Member* const limit = table != nullptr ? table->find("limit") : nullptr;
    const auto* const text = limit != nullptr ? limit->value.get<std::string>() : nullptr;
    const auto per_minute = text != nullptr ? rate_of(*text) : std::nullopt;
    if (!per_minute) {
        reading_.problems.error(limit != nullptr ? limit->value.at : member.value.at,
                                "rate expects a limit of requests, such as \"100/min\" or \"5/s\"",
                                "rate = { limit = \"100/min\", burst = 20 }, or \"off\"");
        return;
    }
    refuse_unknown(TableKind::rate, *table, reading_);
    if (const Member* const by = table->find("by")) {
        const auto* const whom = by->value.get<std::string>();
        if (whom == nullptr || *whom != "client") {
            reading_.problems.error(by->value.at,
                                    "requests are counted by \"client\" alone so far");
        }
    }
    std::string value = std::to_string(*per_minute);
    if (const Member* const burst = table->find("burst")) {
        const auto* const count = burst->value.get<std::int64_t>();
        if (count == nullptr || *count < 1 || *count > 1'000'000) {
            reading_.problems.error(burst->value.at,
                                    "burst expects a whole number from 1 to 1000000");
            return;
        }
        value += "," + std::to_string(*count);
    }
    read_route_value(route, RouteValue::rate, value, limit->value.at, reading_, "rate");
}

void SiteReader::read_route(const Table& table, Place at, RouteReader& reader,
                            ServeOptions& options) {
    for (const RouteReader::Found& found : reader.read_matches(at, table)) {
        if (options.routes.size() == routes_max) {
            reading_.problems.error(
                found.at, "more than " + std::to_string(routes_max) + " routes in one site");
        }
        if (options.routes.size() >= routes_max) return;
        // Its settings may name the options: the route is put among them when it is whole.
        Route route{.match = found.match};
        read_settings({TableKind::route, &route, &reader}, table, options);
        reader.check_promises(route, table);
        reader.check_metrics_page(route, table);
        reader.check_answered(found, route);
        options.routes.push_back(std::move(route));
    }
}

}  // namespace tiderace::server::config
