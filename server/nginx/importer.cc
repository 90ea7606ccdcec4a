#include "server/nginx/importer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "server/config/keys.h"
#include "server/config/toml_text.h"
#include "server/nginx/condition.h"
#include "server/nginx/location_order.h"
#include "server/nginx/regex.h"
#include "server/nginx/scope.h"
#include "server/nginx/values.h"
#include "server/terminal.h"
#include "tiderace/base/ascii.h"
#include "tiderace/base/utf8.h"
#include "tiderace/http/route/regex.h"

namespace tiderace::server::nginx {
namespace {

using config::string_text;
using config::TableKind;

bool has_word(const Directive& directive, std::string_view word) {
    return std::ranges::find(directive.words, word) != directive.words.end();
}

bool is_tls_listen(const Directive& directive) {
    return directive.name == "listen" && has_word(directive, "ssl");
}

bool has_tls(const Directive& server) {
    return std::ranges::any_of(server.block, [](const Directive& each) {
        return is_tls_listen(each) || (each.name == "ssl" && has_word(each, "on"));
    });
}

// `return 301 https://$host$request_uri`, also within the `if` that certbot writes.
bool leads_to_https(const std::vector<Directive>& block) {
    return std::ranges::any_of(block, [](const Directive& each) {
        if (each.name == "if") return leads_to_https(each.block);
        const bool leads = each.name == "return" || each.name == "rewrite";
        return leads && std::ranges::any_of(each.words, [](const std::string& word) {
                   return word.starts_with("https://$") ||
                          (word.starts_with("https://") && word.ends_with("$request_uri"));
               });
    });
}

// Whether some request is refused here that would be answered elsewhere.
bool closes(const std::vector<Directive>& block) {
    return std::ranges::any_of(block, [](const Directive& each) {
        const bool refuses = each.name == "return" && !each.words.empty() &&
                             (each.words[0].starts_with('4') || each.words[0].starts_with('5'));
        return refuses || Scope::is_guard(each.name) || each.name == "internal" ||
               each.name == "auth_basic" || closes(each.block);
    });
}

class Importer {
  public:
    Importer(const config::DocumentWorld& world, std::string folder)
        : around_{.world = world, .folder = std::move(folder), .upstreams = {}} {}

    Imported import(const std::vector<Directive>& all) {
        find_shared(all);
        read_main(all);
        for (const Directive* const each : servers_) read_server(*each);
        server_.finish(nullptr);
        std::string whole = in_utf8(text());
        return {std::move(whole), around_.has_dropped, std::move(around_.opened)};
    }

  private:
    struct Site {
        Scope scope;
        std::vector<Scope> routes;
        const Directive* server;
        std::vector<std::string> firm = {};  // the paths of locations with ^~
        bool has_open_guard = false;         // a location that is not carried closes something
    };

    // What has to be known before the first server is read.
    void find_shared(const std::vector<Directive>& block) {
        for (const Directive& each : block) {
            if (each.name == "http") find_shared(each.block);
            if (each.name == "server" && each.has_block) {
                servers_.push_back(&each);
                around_.has_tls |= has_tls(each);
            }
            const bool is_one = each.name == "upstream" && each.block.size() == 1 &&
                                each.words.size() == 1 && each.block[0].words.size() == 1;
            if (is_one) around_.upstreams.emplace_back(each.words[0], each.block[0].words[0]);
        }
        const auto is_default = [](const Directive* server) {
            return std::ranges::any_of(server->block, [](const Directive& each) {
                return each.name == "listen" &&
                       (has_word(each, "default_server") || has_word(each, "default"));
            });
        };
        has_default_ = std::ranges::any_of(servers_, is_default);
    }

    void read_main(const std::vector<Directive>& block) {
        for (const Directive& each : block) {
            if (each.name == "http" || each.name == "events") {
                read_main(each.block);
            } else if (each.name == "server" && each.has_block) {
                continue;
            } else if (!take_global(each) && !take_shared(each)) {
                server_.drop(each);
            }
        }
    }

    // What holds for all sites here as well.
    bool take_global(const Directive& directive) {
        const std::string& name = directive.name;
        const std::string value = directive.words.empty() ? "" : directive.words[0];
        const auto count = parse_number<std::uint32_t>(value);
        if (name == "user" && !value.empty()) {
            const bool has_group = directive.words.size() > 1;
            server_.set("user", string_text(value + (has_group ? ":" + directive.words[1] : "")));
        } else if (name == "worker_processes") {
            if (count) server_.set("threads", std::to_string(*count));
        } else if (name == "worker_connections" && count) {
            server_.set("connections_max", std::to_string(*count));
        } else if (name == "error_log") {
            take_error_log(directive);
        } else if (name == "upstream" || name == "map" || name == "log_format") {
            const bool is_used = std::ranges::any_of(
                around_.upstreams, [&](const auto& each) { return each.first == value; });
            if (!is_used) server_.drop(directive);
        } else {
            return take_limit(directive);
        }
        return true;
    }

    void take_error_log(const Directive& directive) {
        constexpr std::pair<std::string_view, std::string_view> levels[] = {
            {"debug", "debug"}, {"info", "info"},  {"notice", "info"}, {"warn", "warning"},
            {"error", "error"}, {"crit", "error"}, {"alert", "error"}, {"emerg", "error"}};
        const std::string level = directive.words.size() > 1 ? directive.words[1] : "error";
        for (const auto& [theirs, ours] : levels) {
            if (theirs == level) log_["level"] = string_text(ours);
        }
        const bool is_stderr = has_word(directive, "stderr") || has_word(directive, "/dev/stderr");
        if (!is_stderr) server_.drop(directive, "errors go to standard error");
    }

    bool take_limit(const Directive& directive) {
        constexpr std::pair<std::string_view, std::string_view> times[] = {
            {"keepalive_timeout", "idle_timeout"},
            {"send_timeout", "write_timeout"},
            {"client_header_timeout", "header_timeout"},
            {"client_body_timeout", "body_timeout"}};
        if (directive.words.empty()) return false;
        for (const auto& [theirs, ours] : times) {
            if (theirs != directive.name) continue;
            const auto time = time_of(directive.words[0]);
            return time && limit(ours, string_text(*time));
        }
        if (directive.name != "client_max_body_size") return false;
        const auto size = size_of(directive.words[0]);
        return size && *size != "0" && limit("body_max", string_text(*size));
    }

    // One value for all; another one of a second server is not carried.
    bool limit(std::string_view key, const std::string& value) {
        return limits_.emplace(key, value).first->second == value;
    }

    // What servers inherit, each name as a whole.
    bool take_shared(const Directive& directive) {
        if (Scope::is_built_in(directive.name)) {
            server_.mark_built_in(directive);
            return true;
        }
        Scope probe(TableKind::site, "", around_);
        const bool had_dropped = around_.has_dropped;
        const bool is_known = directive.name == "ssl_certificate" ||
                              directive.name == "ssl_certificate_key" ||
                              directive.name == "ssl_protocols" || probe.take(directive);
        around_.has_dropped = had_dropped;
        if (is_known) inherited_.push_back(directive);
        return is_known;
    }

    std::vector<Directive> with_inherited(const Directive& server) const {
        std::vector<Directive> all;
        for (const Directive& each : inherited_) {
            const bool is_replaced = std::ranges::any_of(
                server.block, [&](const Directive& own) { return own.name == each.name; });
            if (!is_replaced) all.push_back(each);
        }
        std::ranges::copy(server.block, std::back_inserter(all));
        return all;
    }

    void read_server(const Directive& server) {
        const bool only_leads = around_.has_tls && !has_tls(server) && leads_to_https(server.block);
        for (const Directive& each : server.block) {
            if (each.name == "listen") read_listen(each, only_leads);
        }
        const bool has_listen = std::ranges::any_of(
            server.block, [](const Directive& each) { return each.name == "listen"; });
        if (!has_listen) addresses_.emplace(":80", only_leads);
        if (only_leads) return;
        if (around_.has_tls && !has_tls(server)) {
            server_.drop(server, "in clear beside https, which is not possible yet");
            return;
        }
        Site site{Scope(TableKind::site, "", around_), {}, &server};
        std::vector<Directive> directives = with_inherited(server);
        if (!read_names(server, site)) return;
        // The root first: others look into it. Locations last: they change what the server says.
        std::ranges::stable_partition(directives,
                                      [](const Directive& each) { return each.name == "root"; });
        std::ranges::stable_partition(
            directives, [](const Directive& each) { return each.name != "location"; });
        for (const Directive& each : directives) read_directive(each, site, site.scope);
        read_certificate(directives);
        site.scope.finish(nullptr);
        for (Scope& route : site.routes) route.finish(&site.scope);
        keep_order(site.scope, site.routes, site.firm);
        if (site.has_open_guard) close_all(site);
        sites_.push_back(std::move(site));
    }

    // The routes become comments: some of them may lie where the guard was.
    static void close_all(Site& site) {
        site.scope.close(
            "a location that closes something is not carried: all is closed until you "
            "put a route in its place");
        for (const Scope& route : site.routes) {
            std::string lines = route_text(route);
            for (std::size_t end = lines.find('\n'); end != lines.npos; end = lines.find('\n')) {
                site.scope.note(lines.substr(0, end));
                lines.erase(0, end + 1);
            }
        }
        site.routes.clear();
    }

    static std::string route_text(const Scope& route) {
        const std::string& path = route.path();
        if (path.empty()) return "[[site.route]]\n" + route.text();
        return "[[site.route]]\npath = " + (path.starts_with('[') ? path : string_text(path)) +
               "\n" + route.text();
    }

    void read_listen(const Directive& listen, bool only_leads) {
        if (listen.words.empty()) return;
        if (around_.has_tls && !only_leads && !is_tls_listen(listen)) {
            server_.drop(listen, "in clear beside https, which is not possible yet");
            return;
        }
        const auto [known, is_new] = addresses_.emplace(address_of(listen.words[0]), only_leads);
        if (!is_new) known->second = known->second && only_leads;
        if (has_word(listen, "proxy_protocol")) server_.drop(listen, "no PROXY protocol yet");
    }

    // False: another server has all of its names.
    bool read_names(const Directive& server, Site& site) {
        std::vector<std::string> hosts;
        bool is_default = !has_default_ && servers_.front() == &server;
        for (const Directive& each : server.block) {
            if (each.name == "listen") {
                is_default |= has_word(each, "default_server") || has_word(each, "default");
            }
            if (each.name != "server_name") continue;
            for (const std::string& word : each.words) add_name(word, each, site, hosts);
        }
        std::erase_if(hosts, [&](const std::string& host) { return !hosts_.insert(host).second; });
        is_default = is_default && !has_default_site_;
        if (hosts.empty() && !is_default) {
            server_.drop(server, "another server has its names");
            return false;
        }
        has_default_site_ |= is_default;
        if (!hosts.empty()) site.scope.set("hosts", config::list_text(hosts));
        if (is_default) site.scope.set("default", "true");
        site.scope.set_hosts(std::move(hosts));
        return true;
    }

    static void add_name(const std::string& word, const Directive& directive, Site& site,
                         std::vector<std::string>& hosts) {
        const std::string name = lower_case(word);
        const auto below = std::string_view(name).substr(name.starts_with("*.") ? 2 : 0);
        if (name == "_" || name.empty()) return;
        if (name.starts_with('.')) {
            hosts.push_back(name.substr(1));
            hosts.push_back("*" + name);
        } else if (below.find_first_of("*~$/\\^") != below.npos) {
            site.scope.drop(directive, word);
        } else {
            hosts.push_back(name);
        }
    }

    void read_directive(const Directive& directive, Site& site, Scope& scope) {
        const std::string& name = directive.name;
        if (name == "listen" || name == "server_name" || name == "ssl" ||
            name == "ssl_certificate" || name == "ssl_certificate_key") {
            return;
        }
        if (name == "ssl_protocols") {
            scope.note(directive.place() + ": " + directive.text() + "  -- 1.2 and 1.3 are on");
        } else if (name == "location" && directive.has_block) {
            read_location(directive, site, scope);
        } else if (name == "if" && closes(directive.block)) {
            read_refusal(directive, site, scope);
        } else if (name == "rewrite") {
            read_rewrite(directive, site, scope);
        } else if (name == "fastcgi_read_timeout" && !directive.words.empty() &&
                   time_of(directive.words[0])) {
            timeout_ = string_text(*time_of(directive.words[0]));
        } else if (!take_limit(directive) && !scope.take(directive)) {
            scope.drop(directive);
        }
    }

    // An `if` that refuses. In a server it comes before all locations.
    void read_refusal(const Directive& directive, Site& site, Scope& scope) {
        const std::vector<Directive>& block = directive.block;
        const bool is_plain =
            block.size() == 1 && block[0].name == "return" && block[0].words.size() == 1;
        const auto conditions = is_plain ? conditions_of(directive) : std::vector<RouteCondition>();
        const bool is_of_path = !conditions.empty() && conditions[0].key == "path";
        if (conditions.empty() || (is_of_path && !scope.path().empty())) {
            scope.drop(directive, "it refused requests, which are answered now");
            around_.opened.push_back(directive.place() + ": " + directive.text());
            return;
        }
        const std::string& status = block[0].words[0];
        for (const RouteCondition& condition : conditions) {
            Scope route(TableKind::route, is_of_path ? condition.value : scope.path(), around_);
            if (!is_of_path) route.set(condition.key, condition.value);
            if (scope.path().empty()) route.set("priority", refusal_priority);
            const bool denies =
                status.starts_with('4') && status != "444" && status != "401" && status != "405";
            // An answer that nginx does not give (444), or whose field it leaves out.
            route.set("deny", denies ? status : "403");
            site.routes.push_back(std::move(route));
        }
    }

    void read_certificate(const std::vector<Directive>& directives) {
        std::string files[2];
        for (const Directive& each : directives) {
            if (each.words.size() != 1) continue;
            const std::string file =
                each.words[0].starts_with('/') ? each.words[0] : around_.folder + each.words[0];
            if (each.name == "ssl_certificate") files[0] = file;
            if (each.name == "ssl_certificate_key") files[1] = file;
        }
        if (!files[0].empty()) certificates_.emplace(files[0], files[1]);
    }

    // Files of the site's folder are scripts by their names; all else may be by an expression.
    static std::string path_of_expression(std::string_view regex, const Directive& location) {
        const bool runs_scripts = std::ranges::any_of(
            location.block, [](const Directive& each) { return each.name == "fastcgi_pass"; });
        if (!runs_scripts && http::route::has_regexes()) {
            return path_of_regex(regex, location.words[0] == "~*");
        }
        const auto patterns = patterns_of(regex);
        if (patterns.size() == 1) return patterns[0];
        std::string all;
        for (const std::string& each : patterns) {
            all += (all.empty() ? "[" : ", ") + string_text(each);
        }
        return all.empty() ? all : all + "]";
    }

    void read_location(const Directive& location, Site& site, const Scope& around) {
        const std::vector<std::string>& words = location.words;
        const std::string_view sign = words.size() == 2 ? std::string_view(words[0]) : "";
        const std::string path = words.empty() ? "" : words.back();
        if (words.size() == 1 && path == "/") return read_inner(location, site, site.scope);
        std::string ours;
        // Only others lead to it.
        if (path.starts_with('@')) return site.scope.drop(location);
        if (sign == "~" || sign == "~*") {
            if (path.starts_with("/\\.")) return hide(location, site);
            ours = path_of_expression(path, location);
            // What the location around it does not choose is not for this one, either.
            const bool is_outside = !around.path().empty() && !is_inside(path, around.path());
            if (ours.starts_with('~') && is_outside) ours.clear();
        } else if (path.starts_with('/') && (sign.empty() || sign == "^~")) {
            ours = path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
        } else if (path.starts_with('/') && sign == "=") {
            ours = "=" + path;
        }
        const bool is_known =
            !ours.empty() && (ours[0] == '~' || ours.find_first_of("{}?") == ours.npos) &&
            std::ranges::find(site.routes, ours, &Scope::path) == site.routes.end();
        if (!is_known) {
            site.has_open_guard |= closes(location.block);
            return site.scope.drop(location);
        }
        if (sign == "^~") site.firm.push_back(ours);
        Scope route(TableKind::route, ours, around_);
        read_inner(location, site, route);
        site.routes.push_back(std::move(route));
    }

    void read_inner(const Directive& location, Site& site, Scope& scope) {
        for (const Directive& each : location.block) read_directive(each, site, scope);
    }

    // `location ~ /\.` that denies: names with a dot are hidden anyway.
    void hide(const Directive& location, Site& site) {
        const bool denies = std::ranges::any_of(location.block, [](const Directive& each) {
            return each.name == "deny" || each.name == "return";
        });
        if (!denies) return site.scope.drop(location);
        site.scope.note(location.place() + ": " + location.text() +
                        "  -- names that begin with a dot are not served");
    }

    void read_rewrite(const Directive& rewrite, Site& site, Scope& scope) {
        const std::vector<std::string>& words = rewrite.words;
        if (words.size() < 2 || words.size() > 3) return scope.drop(rewrite);
        const std::string_view sign = words.size() == 3 ? std::string_view(words[2]) : "";
        const bool leads = sign == "permanent" || sign == "redirect" ||
                           (sign.empty() && words[1].starts_with("http"));
        const std::string status = sign == "permanent" ? "301" : "302";
        if (!scope.path().empty()) return rewrite_inside(rewrite, site, scope, leads ? status : "");
        const auto made = leads ? rewritten(words, site) : std::nullopt;
        const auto target = made ? scope.target_of(made->target) : std::nullopt;
        if (!target) return scope.drop(rewrite);
        if (made->path.empty() && !has_locations(site, "")) {
            site.scope.set("redirect", string_text(*target));
            site.scope.set("status", status);
            return;
        }
        Scope route(TableKind::route, made->path, around_);
        if (has_locations(site, "")) route.set("priority", rewrite_priority);
        route.set("redirect", string_text(*target));
        route.set("status", status);
        site.routes.push_back(std::move(route));
    }

    // Several are tried in their order, which only expressions have. A single one is a plain path
    // where it can be.
    static std::optional<Rewritten> rewritten(const std::vector<std::string>& words,
                                              const Site& site) {
        const auto is_rewrite = [](const Directive& each) { return each.name == "rewrite"; };
        const bool is_alone = std::ranges::count_if(site.server->block, is_rewrite) == 1;
        auto regex = rewritten_of(words[0], words[1]);
        const auto moved = moved_of(words[0], words[1]);
        const bool is_plain =
            moved && (moved->path.empty() || moved->path[0] == '=' || words[0].ends_with("/(.*)$"));
        if (moved && (!regex || moved->path.empty() || (is_alone && is_plain))) {
            return Rewritten{moved->path, moved->target};
        }
        return regex;
    }

    // Whether a location other than "/" stands below this path, or may by its expression.
    static bool has_locations(const Site& site, std::string_view path) {
        return std::ranges::any_of(site.server->block, [&](const Directive& each) {
            if (each.name != "location" || each.words.empty()) return false;
            if (path.empty()) return each.words.size() > 1 || each.words[0] != "/";
            return each.words[0].starts_with('~') ||
                   (each.words.back().starts_with(std::string(path) + "/") &&
                    each.words.back().size() > path.size() + 1);
        });
    }

    // In a location: of all its requests, or of some that no other location has.
    void rewrite_inside(const Directive& rewrite, Site& site, Scope& scope,
                        const std::string& status) {
        std::string regex = rewrite.words[0];
        std::string text = rewrite.words[1];
        const bool is_whole =
            regex == "^" || regex == ".*" || regex == "^(.*)$" || regex == "^/(.*)$";
        if (!status.empty() && is_whole) {
            const std::string_view all = regex == "^/(.*)$" ? "/$1" : "$1";
            if (text.ends_with(all)) text.replace(text.size() - all.size(), all.size(), "$uri");
            if (text.ends_with('?')) text.pop_back();
            const auto target = text.contains("$1") ? std::nullopt : scope.target_of(text);
            if (!target || scope.answers()) return scope.drop(rewrite);
            scope.set("redirect", string_text(*target));
            scope.set("status", status);
            return;
        }
        const bool stays = rewrite.words.size() == 3 && rewrite.words[2] == "break";
        const auto made = rewritten_of(regex, text);
        const bool is_own = made && scope.path().starts_with('/') &&
                            is_inside(regex, scope.path()) && !has_locations(site, scope.path());
        if (!is_own || scope.answers() || made->target.contains('$') ||
            (status.empty() && !(stays && made->target.starts_with('/')))) {
            return scope.drop(rewrite);
        }
        const auto target = scope.target_of(made->target);
        if (!target) return scope.drop(rewrite);
        Scope route(TableKind::route, made->path, around_);
        route.set(status.empty() ? "rewrite" : "redirect", string_text(*target));
        if (!status.empty()) route.set("status", status);
        site.routes.push_back(std::move(route));
    }

    static std::string table(std::string_view header,
                             const std::map<std::string, std::string>& keys) {
        std::string text = keys.empty() ? "" : "\n" + std::string(header) + "\n";
        for (const auto& [key, value] : keys) text += key + " = " + value + "\n";
        return text;
    }

    // TOML is UTF-8, and nginx takes any byte.
    std::string in_utf8(const std::string& text) {
        std::string whole;
        for (std::string_view rest = text; !rest.empty();) {
            const Utf8Char next = first_utf8_char(rest);
            whole += next.valid ? rest.substr(0, next.size) : utf8_replacement;
            around_.has_dropped |= !next.valid;
            rest.remove_prefix(next.size);
        }
        return whole;
    }

    std::string text() const {
        std::string text =
            "# Made from a configuration of nginx. A comment with a place is a "
            "directive that is not here.\n";
        text += server_.comments();
        if (server_.has_settings()) text += "\n[server]\n" + server_.text();
        for (const auto& [address, leads] : addresses_) {
            text += "\n[[listen]]\naddress = " + string_text(address) + "\n";
            if (leads) text += "redirect_to_https = true\n";
        }
        for (const auto& [cert, key] : certificates_) {
            text += "\n[[tls.certificate]]\ncert = " + string_text(cert) + "\n";
            if (!key.empty()) text += "key = " + string_text(key) + "\n";
        }
        text += table("[log]", log_) + table("[limits]", limits_);
        if (!timeout_.empty()) text += "\n[cgi]\ntimeout = " + timeout_ + "\n";
        for (const Site& site : sites_) {
            text += "\n[[site]]\n" + site.scope.comments() + site.scope.text();
            for (const Scope& route : site.routes) {
                std::string lines = route_text(route);
                text += "\n" + lines.insert(lines.find('\n') + 1, route.comments());
            }
        }
        return text;
    }

    Surroundings around_;
    Scope server_{TableKind::server, "", around_};
    std::vector<const Directive*> servers_;
    std::vector<Directive> inherited_;
    std::map<std::string, bool> addresses_;  // whether it only leads to https
    std::map<std::string, std::string> certificates_;
    std::map<std::string, std::string> log_;
    std::map<std::string, std::string> limits_;
    std::string timeout_;
    std::set<std::string> hosts_;
    std::vector<Site> sites_;
    bool has_default_ = false;
    bool has_default_site_ = false;
};

}  // namespace

std::expected<Imported, Fault> import_files(std::span<const std::string> files,
                                            const config::DocumentWorld& world) {
    std::vector<Directive> all;
    for (const std::string& file : files) {
        auto read = Reader(world).read(file);
        if (!read) return std::unexpected(std::move(read.error()));
        std::ranges::move(*read, std::back_inserter(all));
    }
    const std::string& first = files.front();
    return Importer(world, first.substr(0, first.rfind('/') + 1)).import(all);
}

int import_and_print(std::span<const std::string> files) {
    const auto imported = import_files(files, config::this_world());
    if (!imported) {
        complain("tiderace", imported.error().sentence);
        return 1;
    }
    for (const std::string& each : imported->opened) {
        complain("tiderace", "warning: " + each +
                                 " refused requests and is not carried: they are "
                                 "answered now");
    }
    const int status = print("tiderace", imported->text);
    return status == 0 && imported->has_dropped ? 3 : status;
}

}  // namespace tiderace::server::nginx
