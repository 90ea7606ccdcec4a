#include "server/config/site_reader.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "server/config/table_reader.h"
#include "server/password_file.h"
#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::server::config {
namespace {

constexpr std::size_t presets_max = 16;  // of one table

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

// Paths alone, then patterns in their order, then paths with all below them, the longest first.
std::pair<int, std::ptrdiff_t> nearness(const CacheControlRule& rule) {
    const std::string& pattern = rule.pattern;
    if (pattern == "*") return {3, 0};
    if (!is_pattern(pattern)) return {0, 0};
    const bool is_prefix =
        pattern.ends_with("/**") && !is_pattern(pattern.substr(0, pattern.size() - 3));
    return is_prefix ? std::pair(2, -std::ssize(pattern)) : std::pair(1, std::ptrdiff_t{0});
}

constexpr std::string_view handlers[] = {"root", "redirect", "respond", "deny", "fastcgi", "cgi"};

std::string type_fault(std::string_view name, std::string_view expects, const Value& value) {
    return std::string(name) + " expects " + std::string(expects) + ", and this is " +
           std::string(value.noun());
}

}  // namespace

SiteReader::SiteReader(const Table& top, const ServeOptions& server, const Reading& reading)
    : top_(&top), server_(&server), reading_(reading) {
    check_presets();
}

// Where no site uses a preset, its keys are looked at all the same.
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
            const bool names_it = each.key == "hosts" || each.key == "default" ||
                                  each.key == "route" || each.key == "path" || each.key == "use";
            if (names_it) {
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
        const bool* const truth = is_default->value.get<bool>();
        if (truth == nullptr) {
            reading_.problems.error(is_default->value.at,
                                    type_fault("default", "true or false", is_default->value));
        }
        site.is_default = truth != nullptr && *truth;
    }
    // A file with one site need not say for whom.
    if (table.find("hosts") == nullptr && table.find("default") == nullptr) site.is_default = true;
    if (!site.is_default && site.hosts.empty() && reading_.problems.errors() == before) {
        reading_.problems.error(at, "no request comes to this site: it has no hosts",
                                "hosts = [\"example.org\"], or default = true for all others");
    }
    const Scope whole{.kind = TableKind::site, .path = "/", .at = at};
    site.options.root.clear();
    page_places_.clear();
    answered_.clear();
    read_settings(whole, table, site.options);
    for_each_table(table, "route", reading_, [&](const Member& key, const Table& route) {
        read_route(route, key.at, site.options);
        ++site.routes;
    });
    find_error_pages(site.options);
    // The first that matches wins, and the nearest should.
    std::ranges::stable_sort(site.options.cache_control, {}, nearness);
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
            reading_.problems.error(each.at, "hosts are names without scheme, port and path",
                                    "\"example.org\", or \"*.example.org\" for all below it");
        }
    }
}

// Presets first, in their order: what the table says itself stands above them.
void SiteReader::read_settings(const Scope& scope, const Table& table, ServeOptions& options) {
    use_presets(scope, table, options);
    read_answer(scope, table, options);
    read_table(scope.kind, table, options, reading_,
               [&](const Member& member) { return read_own(scope, member, options); });
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
    if (key == "error_pages") {
        read_error_pages(scope, member, options);
    } else if (key == "response") {
        read_response(scope, member, options);
    } else if (key == "auth") {
        read_auth(scope, member, options);
    } else if (key == "rate") {
        read_rate(scope, member, options);
    } else if (key == "index") {
        read_index(member, options);
    } else if (key == "fastcgi" || key == "cgi") {
        read_programs(scope, member, options);
    } else if (key == "root") {
        const auto* const folder = member.value.get<std::string>();
        if (folder == nullptr || folder->empty()) {
            reading_.problems.error(member.value.at, "root expects the name of a folder");
        } else {
            options.root = reading_.path_of(*folder, member.value.at, FileKind::folder);
        }
    } else if (scope.kind == TableKind::route &&
               (key == "compress" || key == "cors" || key == "log" || key == "cache_control")) {
        const auto* const text = member.value.get<std::string>();
        if (text == nullptr) {
            reading_.problems.error(member.value.at, type_fault(key, "a string", member.value));
        } else if (key == "cache_control") {
            const std::string path = scope.path == "/" ? "" : scope.path;
            if (!scope.only_itself && !is_pattern(path)) {
                options.cache_control.push_back({path + "/**", *text});
            }
            if (!path.empty()) options.cache_control.push_back({path, *text});
        } else {
            const bool is_file = key == "log" && *text != "-" && *text != "off";
            read_path_flag(scope, "path-" + key,
                           is_file ? reading_.path_of(*text, member.value.at) : *text,
                           member.value.at, options);
        }
    } else {
        return find_key(scope.kind, key)->flag.empty();  // read before, or by the caller
    }
    return true;
}

void SiteReader::read_index(const Member& member, ServeOptions& options) {
    const Array* const names = member.value.get<Array>();
    std::string joined;
    bool are_texts = names != nullptr;
    for (const Value& each : names != nullptr ? *names : Array{}) {
        const auto* const name = each.get<std::string>();
        are_texts = are_texts && name != nullptr;
        if (name != nullptr) joined += (joined.empty() ? "" : ",") + *name;
    }
    if (!are_texts) {
        reading_.problems.error(member.value.at,
                                type_fault("index", "a list of file names", member.value),
                                "index = [\"index.html\"], or [] for none");
        return;
    }
    read_flag_text("index", names->empty() ? "none" : joined, member.value.at, options,
                   reading_.problems);
}

void SiteReader::read_error_pages(const Scope& scope, const Member& member, ServeOptions& options) {
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
        const std::size_t known = options.paths.error_pages.size();
        read_path_flag(scope, "path-error-page", each.key + "=" + *file, each.at, options);
        if (options.paths.error_pages.size() > known) page_places_.push_back(each.value.at);
    }
}

// They are relative to the root, which may stand behind them, and without one to the file.
void SiteReader::find_error_pages(ServeOptions& options) {
    const std::string& root = options.root;
    // What is wrong with it is a problem already.
    if (!root.empty() && !reading_.world.look(root, FileKind::folder)) return;
    for (std::size_t i = 0; i < page_places_.size(); ++i) {
        std::string& file = options.paths.error_pages[i].page.file;
        if (root.empty()) file = reading_.path_of(file, page_places_[i]);
        const std::string path = file.starts_with('/') || root.empty() ? file : root + "/" + file;
        if (auto found = reading_.world.look(path, FileKind::file); !found) {
            reading_.problems.error(page_places_[i], "cannot " + found.error().message());
        }
    }
}

void SiteReader::read_response(const Scope& scope, const Member& member, ServeOptions& options) {
    const Table* const response = member.value.get<Table>();
    if (response == nullptr) {
        reading_.problems.error(member.value.at, type_fault("response", "a table", member.value),
                                "response.set.X-Frame-Options = \"DENY\"");
        return;
    }
    refuse_unknown(TableKind::response, *response, reading_);
    const Table* const set = table_in(*response, "set", reading_);
    if (set == nullptr) return;
    for (const Member& each : set->members) {
        const auto* const value = each.value.get<std::string>();
        if (value == nullptr) {
            reading_.problems.error(each.value.at, type_fault(each.key, "a string", each.value));
            continue;
        }
        read_path_flag(scope, "path-header", each.key + ":" + *value, each.at, options);
    }
}

void SiteReader::read_auth(const Scope& scope, const Member& member, ServeOptions& options) {
    if (const auto* const word = member.value.get<std::string>(); word && *word == "off") {
        if (scope.path == "/") {
            reading_.problems.error(member.value.at, "nothing asks for a password here",
                                    "leave auth out: \"off\" is for a route of a site that has it");
            return;
        }
        read_path_flag(scope, "path-auth", "off", member.value.at, options);
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
        read_password_file(scope, users->value, options);
        return;
    }
    const Table* const all = table_in(*top_, "users", reading_);
    const Member* const known = all != nullptr ? all->find(*name) : nullptr;
    if (known == nullptr) {
        reading_.problems.error(users->value.at, "[users] has no \"" + *name + "\"",
                                "a name with a slash is a file: \"./" + *name + "\"");
    } else if (known->value.get<std::string>() != nullptr) {
        read_password_file(scope, known->value, options);
    } else if (const Table* const people = known->value.get<Table>()) {
        for (const Member& each : people->members) {
            const auto* const password = each.value.get<std::string>();
            if (password == nullptr) {
                reading_.problems.error(each.value.at,
                                        type_fault(each.key, "a password", each.value));
                continue;
            }
            read_path_flag(scope, "path-auth", each.key + ":" + *password, each.at, options);
        }
    }
}

void SiteReader::read_password_file(const Scope& scope, const Value& value, ServeOptions& options) {
    const std::string& file = *value.get<std::string>();
    if (file.contains(':')) {
        reading_.problems.error(value.at, "the name of a password file has no \":\"");
        return;
    }
    const std::string path = reading_.path_of(file, value.at, FileKind::file);
    // A pipe can be read once, when the server starts.
    std::error_code fault;
    if (std::filesystem::is_regular_file(path, fault)) {
        if (auto loaded = PasswordFile::load(std::span(&path, 1)); !loaded) {
            reading_.problems.error(value.at, "cannot " + loaded.error().message());
        }
    }
    read_path_flag(scope, "path-auth", path, value.at, options);
}

void SiteReader::read_rate(const Scope& scope, const Member& member, ServeOptions& options) {
    if (const auto* const word = member.value.get<std::string>(); word && *word == "off") {
        read_path_flag(scope, "path-rate", "off", member.value.at, options);
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
    read_path_flag(scope, "path-rate", value, limit->value.at, options);
}

void SiteReader::read_programs(const Scope& scope, const Member& member, ServeOptions& options) {
    const auto* const where = member.value.get<std::string>();
    if (where == nullptr || where->empty()) {
        const bool is_cgi = member.key == "cgi";
        reading_.problems.error(
            member.value.at,
            type_fault(member.key, is_cgi ? "a folder" : "an address", member.value));
        return;
    }
    const bool is_folder = member.key == "cgi";
    read_path_flag(scope, member.key,
                   is_folder ? reading_.path_of(*where, member.value.at, FileKind::folder) : *where,
                   member.value.at, options);
}

// The key that says what answers; nullptr: the files of the site do.
const Member* SiteReader::answering_key(const Table& table) {
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
void SiteReader::read_answer(const Scope& scope, const Table& table, ServeOptions& options) {
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
    PathAnswer answer{.prefix = scope.rule_path(), .status = status.value_or(404)};
    if (key->key == "redirect") {
        read_redirect(scope, *key, status.value_or(308), options);
    } else if (key->key == "respond") {
        const auto* const text = key->value.get<std::string>();
        if (text == nullptr) {
            reading_.problems.error(key->value.at, type_fault("respond", "a text", key->value));
            return;
        }
        answer.text = *text;
        answer.status = status.value_or(200);
        options.paths.answers.push_back(std::move(answer));
    } else if (key->key == "deny") {
        read_deny(std::move(answer), *key, options);
    } else if (key->key == "status") {
        options.paths.answers.push_back(std::move(answer));
    }
}

void SiteReader::read_redirect(const Scope& scope, const Member& key, int status,
                               ServeOptions& options) {
    const auto* const target = key.value.get<std::string>();
    if (target == nullptr) {
        reading_.problems.error(key.value.at, type_fault("redirect", "a target", key.value));
        return;
    }
    if (status < 301 || status > 308 || (status > 303 && status < 307)) {
        reading_.problems.error(key.at, "a redirect has the status 301, 302, 303, 307 or 308");
        return;
    }
    std::string_view text = *target;
    if (!text.starts_with('/') && !text.starts_with("http://") && !text.starts_with("https://")) {
        reading_.problems.error(key.value.at,
                                "a redirect leads to a path, or to an address with http:// or "
                                "https://",
                                "redirect = \"/new{rest}\", or \"https://example.org{rest}\"");
        return;
    }
    const bool keeps_rest = text.ends_with("{rest}");
    if (keeps_rest) text.remove_suffix(6);
    const std::size_t before = options.paths.answers.size();
    read_path_flag(scope, "path-redirect", text, key.value.at, options);
    if (options.paths.answers.size() == before) return;
    options.paths.answers.back().status = status;
    options.paths.answers.back().keeps_rest = keeps_rest;
}

void SiteReader::read_deny(PathAnswer answer, const Member& key, ServeOptions& options) {
    const bool* const truth = key.value.get<bool>();
    const auto* const code = key.value.get<std::int64_t>();
    if (truth == nullptr && (code == nullptr || *code < 400 || *code > 499)) {
        reading_.problems.error(key.value.at, "deny expects true, or a code from 400 to 499");
        return;
    }
    if (truth != nullptr && !*truth) return;
    answer.status = code != nullptr ? static_cast<int>(*code) : 404;
    options.paths.answers.push_back(std::move(answer));
}

void SiteReader::read_route(const Table& table, Place at, ServeOptions& options) {
    const Member* const path = table.find("path");
    if (path == nullptr) {
        reading_.problems.error(at, "a route needs a path",
                                "path = \"/api\" holds for all below it");
        return;
    }
    const Array one{path->value};
    const Array* const several = path->value.get<Array>();
    if (several != nullptr && several->empty()) {
        reading_.problems.error(path->value.at, "a route needs a path, and this list has none");
    }
    for (const Value& each : several != nullptr ? *several : one) {
        const auto scope = read_path(each, table);
        if (!scope) continue;
        check_answered(*scope, table);
        read_settings(*scope, table, options);
    }
}

// Of two answers the last would win, and nobody sees it.
void SiteReader::check_answered(const Scope& scope, const Table& route) {
    const bool answers =
        route.find("status") != nullptr || std::ranges::any_of(handlers, [&](std::string_view key) {
            return route.find(key) != nullptr;
        });
    if (!answers) return;
    const auto [known, is_new] = answered_.emplace(scope.rule_path(), scope.at);
    if (is_new) return;
    reading_.problems.error(scope.at, "two routes answer this path",
                            "the other is at " + reading_.sources.name_of(known->second));
}

std::optional<SiteReader::Scope> SiteReader::read_path(const Value& value, const Table& route) {
    const auto* const text = value.get<std::string>();
    std::string_view path = text != nullptr ? std::string_view(*text) : "";
    const bool is_alone = path.starts_with('=');
    if (is_alone) path.remove_prefix(1);
    const bool is_glob = is_pattern(path);
    const bool only_caches = route.members.size() == 2 && route.find("cache_control") != nullptr;
    const bool takes_glob = (route.find("fastcgi") != nullptr || only_caches) && !is_alone;
    const std::string_view above = path.ends_with("/*") ? path.substr(0, path.size() - 2) : "*";
    if (is_glob && !is_pattern(above)) {
        reading_.problems.error(value.at, "a path holds for all below it already",
                                "write \"" + std::string(above.empty() ? "/" : above) + "\"");
    } else if (is_glob && !takes_glob) {
        reading_.problems.error(value.at,
                                "only `fastcgi` and `cache_control` take a pattern so far",
                                "write the path as it is, without * ? [");
    } else if (!path.starts_with('/') && !is_glob) {
        reading_.problems.error(value.at, "a path begins with \"/\"",
                                "\"/api\" for all below it, \"=/api\" for that path alone");
    } else if ((std::string(path) + "/").contains("/../") || path.contains("//")) {
        reading_.problems.error(value.at,
                                "no request has this path: \"..\" and \"//\" are taken out");
    } else if (is_alone && path.find_first_of("{}") != path.npos) {
        reading_.problems.error(value.at, "a path alone has no braces");
    } else {
        return Scope{.kind = TableKind::route,
                     .path = std::string(path),
                     .only_itself = is_alone,
                     .at = value.at};
    }
    return std::nullopt;
}

void SiteReader::read_path_flag(const Scope& scope, std::string_view flag, std::string_view value,
                                Place at, ServeOptions& options) {
    // A flag splits its text at the first '='.
    std::string text = scope.only_itself ? "=" : "";
    for (const char c : scope.path) text += c == '=' ? "%3D" : std::string(1, c);
    text.append("=").append(value);
    // The sentences of the other two name what they are about.
    const bool has_name = flag != "path-header" && flag != "path-error-page";
    const std::string_view name = flag.starts_with("path-") ? flag.substr(5) : flag;
    read_flag_text(flag, text, at, options, reading_.problems, has_name ? name : "");
}

}  // namespace tiderace::server::config
