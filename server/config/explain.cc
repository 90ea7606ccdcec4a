#include "server/config/explain.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config/asked_request.h"
#include "server/config/dump.h"
#include "server/config/key_texts.h"
#include "server/config/toml_text.h"
#include "server/site/about.h"
#include "server/site/canonical_host.h"
#include "server/site/fixed_answer.h"
#include "server/site/mapped_files.h"
#include "server/terminal.h"
#include "tiderace/base/ascii.h"
#include "tiderace/core/clock.h"
#include "tiderace/http/access_log.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring.h"

namespace tiderace::server::config {
namespace {

constexpr std::size_t explain_origin_column = 48;
constexpr std::string_view fixed_answers[] = {"redirect", "respond", "deny", "status"};

bool is_same(Place one, Place other) {
    return one.file == other.file && one.line == other.line && one.column == other.column;
}

// The table of a list that stands there.
const Table* table_at(const Table& in, std::string_view list, Place at) {
    const Member* const member = in.find(list);
    const Array* const all = member != nullptr ? member->value.get<Array>() : nullptr;
    if (all == nullptr) return nullptr;
    const auto found =
        std::ranges::find_if(*all, [&](const Value& each) { return is_same(each.at, at); });
    return found != all->end() ? found->get<Table>() : nullptr;
}

// A table, or a preset that it uses.
struct Source {
    const Table* table;
    std::string preset = {};
};

class Explainer {
  public:
    Explainer(const Config& config, const Table& top, const Sources& sources,
              const http::Request& request)
        : config_(config), top_(top), sources_(sources), request_(request) {}

    std::string explain() {
        if (!add_listener()) return text_;
        find_client();
        const std::vector<ServedSite> sites(config_.sites.begin(), config_.sites.end());
        const http::Site tree = make_site(sites, {});
        http::route::Parameters unused;
        const http::route::Found found =
            tree.find(request_.authority, request_.method(), request_.path, unused);
        if (found.kind != http::route::Found::Kind::route) {
            add("site", "none has this host");
            add("answer", "status 421");
            status_ = 421;
            add_line(config_.server.access_log);
            return text_;
        }
        const http::Site::Endpoint& endpoint = tree.endpoints()[found.route];
        find_site(tree, endpoint.scope);
        const bool is_found = endpoint.routes == nullptr || find_routes(*endpoint.routes);
        sources_of(*site_table_, near_);
        if (!is_found) {
            add("answer", "status 500");
            status_ = 500;
            add_line(nearest_log());
            return text_;
        }
        if (endpoint.pattern == About::path && endpoint.routes == nullptr) {
            add("answer", "about", origin_in("server", "about"));
            return text_;
        }
        add_answer();
        add_settings();
        add_line(nearest_log());
        return text_;
    }

  private:
    // Whether requests of this scheme come to the sites.
    bool add_listener() {
        const bool has_tls = config_.server.tls.on();
        if (request_.secure && !has_tls) add("listen", "no address has TLS");
        if (request_.secure || !has_tls) return true;
        const Member* const all = top_.find("listen");
        const Array* const list = all != nullptr ? all->value.get<Array>() : nullptr;
        for (const Value& each : list != nullptr ? *list : Array{}) {
            const Member* const leads = each.get<Table>()->find("redirect_to_https");
            if (leads == nullptr || !*leads->value.get<bool>()) continue;
            add("answer", "redirect to https", origin(leads->value));
            return false;
        }
        add("listen", "no address is without TLS");
        return false;
    }

    // As the server does before it looks for a route.
    void find_client() {
        const auto proxies = proxies_of(config_.server);
        if (proxies != nullptr) client_ = proxies->client_of(request_);
        if (!client_) return;
        request_.peer = &client_->address;
        request_.secure = client_->secure.value_or(request_.secure);
        std::array<char, core::Address::ip_text_bytes_max> text;
        add("client", std::string(text.data(), client_->address.format_ip(text.data())),
            origin_in("server", "trusted_proxies"));
    }

    // The default site is the outermost scope; each other has one that is inside of none.
    void find_site(const http::Site& tree, std::uint32_t scope) {
        while (tree.scopes()[scope].parent != http::Site::no_scope) {
            scope = tree.scopes()[scope].parent;
        }
        const auto before = std::ranges::count(tree.scopes().begin() + 1,
                                               tree.scopes().begin() + std::max(scope, 1U),
                                               http::Site::no_scope, &http::Site::Scope::parent);
        auto others = config_.sites | std::views::filter([&](const SiteConfig& each) {
                          return each.is_default == (scope == 0);
                      });
        site_ = &*std::ranges::next(others.begin(), before);
        site_table_ = table_at(top_, "site", site_->at);
        std::string hosts;
        for (const std::string& host : site_->hosts) hosts += (hosts.empty() ? "" : ", ") + host;
        if (site_->is_default) hosts += hosts.empty() ? "default" : ", default";
        add("site", hosts, place_text(site_->at));
    }

    // Their scopes were made in the order of the file. False: an expression gave up.
    bool find_routes(const http::SiteRoutes& routes) {
        http::SiteRoutes::List found;
        const std::uint32_t number = routes.find(request_, found);
        const bool gave_up = number == http::SiteRoutes::gave_up;
        const http::SiteRoutes::List& list =
            gave_up || number == http::SiteRoutes::none ? found : routes.lists()[number];
        const auto scope_of = [](const http::SiteRoutes::Route& each) { return each.scope; };
        const std::uint32_t first =
            std::ranges::min(routes.routes() | std::views::transform(scope_of));
        const auto index_of = [&](const http::SiteRoutes::Route& each) {
            return static_cast<std::size_t>(each.scope - first);
        };
        if (gave_up) {
            const std::size_t index = index_of(routes.routes()[list.front()]);
            add("gave up", "path = " + string_text(site_->options.routes[index].match.path),
                place_text(site_->routes_at[index]));
            return false;
        }
        for (const std::uint32_t each : list) add_route(index_of(routes.routes()[each]));
        const http::SiteRoutes::Route* const answering = routes.answering(list);
        const http::SiteRoutes::Route* const refining = routes.refining(list, answering);
        is_refined_ = refining != nullptr;
        const auto* const answers = is_refined_ ? refining : answering;
        if (answers != nullptr) route_ = &site_->options.routes[index_of(*answers)];
        return true;
    }

    void add_route(std::size_t index) {
        const Table& table = *table_of(index);
        const http::RouteMatch& match = site_->options.routes[index].match;
        std::string text = match.path.empty() ? "" : "path = " + string_text(match.path);
        for (const std::string_view key :
             {"method", "header", "query", "remote", "scheme", "priority"}) {
            const Member* const member = table.find(key);
            if (member == nullptr) continue;
            text += text.empty() ? "" : ", ";
            text.append(key).append(" = ").append(value_text(member->value));
        }
        if (text.empty()) text = "all paths";
        add("route", text, place_text(site_->routes_at[index]));
        if (match.regex != nullptr) add_groups(match);
        sources_of(table, near_);
    }

    // What the groups of its expression stand for.
    void add_groups(const http::RouteMatch& match) {
        http::route::Captures groups;
        if (!match.path_holds(request_.path, &groups)) return;
        for (std::size_t i = 0; i < groups.count; ++i) {
            add("group",
                "{" + std::to_string(i + 1) + "} = " + string_text(std::string(groups.texts[i])));
        }
    }

    const Table* table_of(std::size_t index) const {
        return table_at(*site_table_, "route", site_->routes_at[index]);
    }

    // Its own values stand above the values of its presets. The last preset counts first.
    void sources_of(const Table& table, std::vector<Source>& into) const {
        into.push_back({&table});
        const Member* const use = table.find("use");
        const Array* const names = use != nullptr ? use->value.get<Array>() : nullptr;
        for (std::size_t i = names != nullptr ? names->size() : 0; i-- > 0;) {
            const std::string& name = *(*names)[i].get<std::string>();
            into.push_back(
                {top_.find("preset")->value.get<Table>()->find(name)->value.get<Table>(), name});
        }
    }

    // --- what answers ---

    void add_answer() {
        const ServeOptions& options = site_->options;
        if (!options.canonical_host.empty()) {
            const auto target = CanonicalHost(options.canonical_host).location(request_);
            if (target) {
                status_ = 308;
                add_answer_of("redirect 308 " + *target, {"canonical_host"}, site_sources());
                return;
            }
        }
        if (route_ == nullptr) {
            if (options.whole.reply) return add_reply(options.whole, site_sources());
            return add_files(options, {});
        }
        const std::vector<Source> own = own_sources();
        if (is_refined_ || route_->files.root) {
            return add_files(with_files_of(options, *route_), route_->match);
        }
        if (route_->reply) {
            if (!route_->reply->is_off()) return add_reply(*route_, own);
            route_ = nullptr;
            return add_files(options, {});
        }
        if (route_->shows_metrics) return add_answer_of("metrics", {"metrics"}, own);
        if (!route_->cgi.empty()) {
            runs_program_ = true;
            return add_answer_of("cgi " + route_->cgi, {"cgi"}, own);
        }
        runs_program_ = true;
        add_answer_of("fastcgi " + route_->fastcgi->to_string(), {"fastcgi"}, own);
        if (route_->has_scripts()) add("script", options.root + std::string(request_.path));
    }

    void add_reply(const Route& route, const std::vector<Source>& sources) {
        const FixedReply& reply = *route.reply;
        status_ = reply.status;
        const Member* const key = find(fixed_answers, sources).first;
        std::string text = key != nullptr ? key->key : "status";
        text += " " + std::to_string(reply.status);
        if (!reply.target.empty()) {
            const auto target = FixedAnswer(reply, route.match).location(request_);
            if (!target) {
                status_ = 404;
                return add("answer", "status 404");
            }
            text += " " + *target;
        } else if (!reply.text.empty()) {
            text += " " + string_text(reply.text);
        }
        add_answer_of(text, fixed_answers, sources);
    }

    void add_files(const ServeOptions& options, const http::RouteMatch& match) {
        sends_files_ = true;
        if (options.root.empty()) {
            status_ = 404;
            return add("answer", "status 404");
        }
        file_sources();
        add_answer_of("files " + options.root, {"root"}, files_);
        const MappedFiles mapped(nullptr, nullptr, options.whole.files, match, {});
        for (const std::string& name : mapped.names(request_)) {
            if (!name.ends_with('/') || options.index.empty()) {
                add_file(options, name);
                continue;
            }
            for (const std::string& index : options.index) add_file(options, name + index);
        }
    }

    // Cache-Control goes by the path of the file.
    void add_file(const ServeOptions& options, const std::string& name) {
        const bool runs = is_script(name, options);
        add(runs ? "script" : "file", options.root + name);
        if (runs) return;
        for (const Route* const each : routes_by_path(options.routes)) {
            if (!each->cache_control || !each->match.path_holds(name)) continue;
            const auto index = static_cast<std::size_t>(each - options.routes.data());
            return add_cache_control(*each->cache_control, sources_of(index));
        }
        for (const CacheControlRule& rule : options.cache_control) {
            if (!http::route::matches_glob(rule.pattern, name)) continue;
            return add_cache_control(rule.value, files_);
        }
    }
    void add_cache_control(const std::string& value, const std::vector<Source>& sources) {
        static constexpr std::string_view keys[] = {"cache_control"};
        const auto [member, preset] = find(keys, sources);
        add("cache", value, member != nullptr ? origin(member->value, preset) : "");
    }

    // A folder of its own has no scripts.
    bool is_script(const std::string& path, const ServeOptions& options) const {
        return options.root == site_->options.root &&
               std::ranges::any_of(site_->options.routes, [&](const Route& each) {
                   return each.has_scripts() && each.match.conditions() == 0 &&
                          each.match.path_holds(path);
               });
    }

    std::vector<Source> site_sources() const {
        std::vector<Source> sources;
        sources_of(*site_table_, sources);
        return sources;
    }
    std::vector<Source> sources_of(std::size_t route) const {
        std::vector<Source> sources;
        sources_of(*table_of(route), sources);
        return sources;
    }
    std::vector<Source> own_sources() const {
        return sources_of(static_cast<std::size_t>(route_ - site_->options.routes.data()));
    }

    // Where with_files_of() looks, the nearest first.
    void file_sources() {
        if (route_ != nullptr) {
            files_ = own_sources();
            const std::vector<Route>& routes = site_->options.routes;
            for (const Route* const each : routes_by_path(routes)) {
                const bool is_around = each->match.kind() == http::RouteMatch::Kind::below &&
                                       each->match != route_->match &&
                                       each->match.path_holds(route_->match.folder());
                if (!is_around) continue;
                sources_of(*table_of(static_cast<std::size_t>(each - routes.data())), files_);
            }
        }
        sources_of(*site_table_, files_);
    }

    // --- settings ---

    void add_settings() {
        for (const std::string_view key : {"auth", "rate", "cors"}) add_setting(key, near_);
        add_setting("compress", near_, TableKind::site);
        add_setting("log", near_, TableKind::log, "access");
        add_setting("slow", near_, TableKind::log);
        add_setting("server_timing", near_);
        add_setting("body_max", near_, TableKind::limits);
        if (runs_program_) add_setting("head_timeout", near_, TableKind::cgi, "timeout");
        add_setting("hsts", near_);
        if (sends_files_) add_file_settings();
        add_fields();
        add_error_pages();
    }

    void add_file_settings() {
        for (const std::string_view key : {"index", "listing", "fallback", "clean_urls", "hidden",
                                           "precompressed", "symlinks"}) {
            add_setting(key, files_, TableKind::site);
        }
        // A route with a folder of its own does not inherit the names of another folder.
        const auto root = std::ranges::find_if(
            files_, [](const Source& each) { return each.table->find("root") != nullptr; });
        const std::vector<Source> inner(files_.begin(), root == files_.end() ? root : root + 1);
        add_setting("strip", inner);
        add_setting("prefix", inner);
        static constexpr std::string_view tries[] = {"try", "rewrite"};
        if (const auto [member, preset] = find(tries, inner); member != nullptr) {
            add_value(member->key, member->value, preset);
        }
    }

    // The nearest of the sources has it, or the table for all sites, or the default counts.
    void add_setting(std::string_view key, const std::vector<Source>& sources,
                     std::optional<TableKind> otherwise = {}, std::string_view name = {}) {
        const std::string_view keys[] = {key};
        if (const auto [member, preset] = find(keys, sources); member != nullptr) {
            return add_value(std::string(key), member->value, preset);
        }
        if (!otherwise) return;
        if (name.empty()) name = key;
        std::string_view title = title_of(*otherwise);
        title = title.substr(1, title.size() - 2);
        const Member* const table = *otherwise == TableKind::site ? nullptr : top_.find(title);
        const Table* const whole = table != nullptr ? table->value.get<Table>() : nullptr;
        const Member* const member = whole != nullptr ? whole->find(name) : nullptr;
        if (member != nullptr) return add_value(std::string(key), member->value, "");
        const Key* const known = find_key(*otherwise, name);
        if (known == nullptr) return;
        const KeyFacts facts = facts_of(*known);
        const std::string value =
            facts.initial.empty() && !facts.unset.empty() ? "(" + facts.unset + ")" : facts.initial;
        if (!value.empty()) add("set", std::string(key) + " = " + value, "default");
    }

    // The nearest setting of a name counts. Setting a field stands above removing it.
    void add_fields() {
        std::set<std::string> seen;
        for (const auto& [table, preset] : near_) {
            const Member* const member = table->find("response");
            if (member == nullptr) continue;
            const Table& response = *member->value.get<Table>();
            if (const Member* const set = response.find("set")) {
                for (const Member& each : set->value.get<Table>()->members) {
                    if (!seen.insert(lower_case(each.key)).second) continue;
                    add_value("response.set." + key_text(each.key), each.value, preset);
                }
            }
            const Member* const removed = response.find("remove");
            for (const Value& each : removed != nullptr ? *removed->value.get<Array>() : Array{}) {
                if (!seen.insert(lower_case(*each.get<std::string>())).second) continue;
                add_value("response.remove", each, preset);
            }
        }
    }

    void add_error_pages() {
        std::set<std::string> seen;
        for (const auto& [table, preset] : near_) {
            const Member* const member = table->find("error_pages");
            if (member == nullptr) continue;
            for (const Member& each : member->value.get<Table>()->members) {
                if (!seen.insert(each.key).second) continue;
                add_value("error_pages." + key_text(each.key), each.value, preset);
            }
        }
    }

    std::string nearest_log() const {
        static constexpr std::string_view keys[] = {"log"};
        const auto [member, preset] = find(keys, near_);
        return member != nullptr ? *member->value.get<std::string>() : config_.server.access_log;
    }

    // What the access log has of it.
    void add_line(const std::string& log) {
        if (log == "off") return;
        log::Doorbell bell;
        log::Ring ring(32_KiB, bell);
        http::AccessLogRules rules = config_.server.log_rules;
        rules.thinned = 0;
        http::RingAccessLog access(ring, config_.server.log_format, rules);
        const std::string name = site_ != nullptr ? site_->name() : "default";
        const http::Matched matched{
            .pattern = route_ != nullptr ? std::string_view(route_->match.path) : "", .site = name};
        access.write({.request = &request_,
                      .status = status_,
                      .when = core::SystemClock().unix_now(),
                      .matched = &matched});
        ring.publish();
        const ByteView line = ring.readable(ring.published());
        add("line", std::string(line.substr(0, line.find('\n'))));
    }

    // --- lines ---

    std::pair<const Member*, std::string> find(std::span<const std::string_view> keys,
                                               const std::vector<Source>& sources) const {
        for (const Source& each : sources) {
            for (const std::string_view key : keys) {
                const Member* const member = each.table->find(key);
                if (member != nullptr) return {member, each.preset};
            }
        }
        return {};
    }

    void add_answer_of(const std::string& text, std::span<const std::string_view> keys,
                       const std::vector<Source>& sources) {
        const auto [member, preset] = find(keys, sources);
        add("answer", text, member != nullptr ? origin(member->value, preset) : "");
    }
    void add_answer_of(const std::string& text, std::initializer_list<std::string_view> keys,
                       const std::vector<Source>& sources) {
        add_answer_of(text, std::span(keys.begin(), keys.size()), sources);
    }

    void add_value(const std::string& key, const Value& value, const std::string& preset) {
        add("set", key + " = " + value_text(value), origin(value, preset));
    }

    std::string place_text(Place at) const {
        return sources_.file(at.file).name + ":" + std::to_string(at.line);
    }
    std::string origin(const Value& value, const std::string& preset = {}) const {
        std::string text = place_text(value.at);
        if (!preset.empty()) text += ", preset " + preset;
        if (!value.variables.empty()) text += ", variable " + value.variables;
        return text;
    }
    std::string origin_in(std::string_view table, std::string_view key) const {
        const Member* const member = top_.find(table)->value.get<Table>()->find(key);
        return origin(member->value);
    }

    void add(std::string_view what, const std::string& text, const std::string& from = {}) {
        std::string line(what);
        line.resize(8, ' ');
        line += printable(text);
        if (!from.empty()) {
            line.resize(std::max(line.size() + 2, explain_origin_column), ' ');
            line += "# " + printable(from);
        }
        text_ += line + "\n";
    }

    const Config& config_;
    const Table& top_;
    const Sources& sources_;
    http::Request request_;
    std::optional<http::filter::TrustedProxies::Client> client_;
    const SiteConfig* site_ = nullptr;
    const Table* site_table_ = nullptr;
    std::vector<Source> near_;      // of the settings, the nearest first
    std::vector<Source> files_;     // of those about files
    const Route* route_ = nullptr;  // what answers; nullptr: the site
    int status_ = 0;                // 0: only the answer itself has it
    bool is_refined_ = false;
    bool runs_program_ = false;
    bool sends_files_ = false;
    std::string text_;
};

}  // namespace

std::string explain(const Config& config, const Table& top, const Sources& sources,
                    const http::Request& request) {
    return Explainer(config, top, sources, request).explain();
}

int explain_request(const CommandWords& words) {
    const std::string& path = words.operands[0];
    const std::vector<std::string> urls(words.operands.begin() + 1, words.operands.end());
    std::deque<AskedRequest> asked;
    for (const std::string& url : urls) {
        if (const std::string fault = asked.emplace_back().read(url, words); !fault.empty()) {
            complain("tiderace", url + ": " + fault);
            return 2;
        }
    }
    Sources sources;
    Problems problems;
    DocumentWorld world = this_world();
    const auto look = std::exchange(world.look, [](const auto&, FileKind) { return Result<>(); });
    world.looks_closely = false;
    const Reading reading{sources, problems, world};
    const Table top = DocumentReader(reading).read(path);
    std::optional<Config> config;
    if (problems.errors() == 0 || !top.members.empty()) config = read_config(top, reading);
    std::fputs(problems.text(sources).c_str(), stderr);
    if (!config) return look(path, FileKind::file) ? 1 : 2;
    std::string text;
    for (const AskedRequest& each : asked) {
        if (!text.empty()) text += '\n';
        text += explain(*config, top, sources, each.request());
    }
    return print("tiderace", text);
}

}  // namespace tiderace::server::config
