#include "server/site/site.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <ranges>
#include <system_error>
#include <utility>

#include "server/programs.h"
#include "server/site/about.h"
#include "server/site/canonical_host.h"
#include "server/site/fixed_answer.h"
#include "tiderace/http/coding/encoder_pool.h"
#include "tiderace/http/filter/added_fields.h"
#include "tiderace/http/filter/allowed_hosts.h"
#include "tiderace/http/filter/basic_auth.h"
#include "tiderace/http/filter/compress.h"
#include "tiderace/http/filter/cors.h"
#include "tiderace/http/filter/rate_limit.h"
#include "tiderace/http/filter/server_timing.h"
#include "tiderace/net/lan_address.h"

namespace tiderace::server {
namespace {

using http::Layer;
using http::LayerPlace;
using http::Setting;
using http::SettingKind;
using Settings = std::vector<Setting>;
using MakeHandler = decltype(http::Site::Endpoint::make);

std::string file_of(const ServeOptions& options, const ErrorPage& page) {
    // Relative to the site, where pages are written, and not to where the server was started.
    const bool is_below_root = !options.root.empty() && !page.file.starts_with('/');
    return is_below_root ? options.root + "/" + page.file : page.file;
}

http::wire::AvailableCodings built_in_of(const http::wire::AvailableCodings& wanted) {
    // A build may lack a library. Its coding is left out here, so that no answer promises it.
    const http::wire::AvailableCodings known = http::coding::built_in_codings();
    return {.gzip = wanted.gzip && known.gzip,
            .zstd = wanted.zstd && known.zstd,
            .br = wanted.br && known.br};
}

http::filter::AddedField field_of(const AddedHeader& header) {
    return {header.name, header.value};
}

void add_fields(Settings& settings, std::vector<http::filter::AddedField> fields) {
    if (fields.empty()) return;
    settings.push_back({.make =
                            [fields = std::move(fields)](LayerPlace&) {
                                return Layer(std::make_shared<http::filter::AddedFields>(fields));
                            },
                        .kind = SettingKind::fields,
                        .adds_up = true});
}

// Files have these methods, but scripts among them have others.
std::string methods_of_files(const ServeOptions& options) {
    return std::ranges::any_of(options.routes, &Route::has_scripts) ? "" : "GET, HEAD, OPTIONS";
}

void add_cors(Settings& settings, const std::optional<std::string>& origin) {
    if (!origin) return;
    Setting cors{.kind = SettingKind::cors};
    if (*origin != "off") {
        cors.make = [origin = *origin](LayerPlace&) {
            return Layer(std::make_shared<http::filter::Cors>(
                http::filter::CorsOptions{.origins = {origin}}));
        };
    }
    settings.push_back(std::move(cors));
}

// nullptr: open.
void add_passwords(Settings& settings, std::shared_ptr<const PasswordFile> file,
                   core::WorkerPool* pool, std::string_view path) {
    Setting password{.kind = SettingKind::password};
    if (file != nullptr) {
        http::filter::BasicAuthOptions auth;
        // Browsers keep one password for each realm of a site.
        if (!path.empty()) auth.realm.append(" ").append(path);
        auth.verify = [file = std::move(file)](ByteView user, ByteView text) {
            return file->verify(user, text);
        };
        password.make = [auth, pool](LayerPlace& place) {
            Layer layer(std::make_shared<http::filter::BasicAuth>(place.loop, *pool, auth));
            layer.authenticates = true;
            return layer;
        };
    }
    settings.push_back(std::move(password));
}

void add_compression(Settings& settings, const http::wire::AvailableCodings& wanted,
                     std::uint64_t bytes_min) {
    const http::wire::AvailableCodings codings = built_in_of(wanted);
    Setting compression{.kind = SettingKind::compression};
    if (codings.any()) {
        compression.make = [codings, bytes_min](LayerPlace& place) {
            // All of them borrow from one pool, which bounds the encoders of a loop.
            auto pool = core::Ref(&place.states.get<http::coding::EncoderPool>());
            Layer layer(std::make_shared<http::filter::Compress>(
                std::move(pool),
                http::filter::CompressOptions{.codings = codings, .bytes_min = bytes_min}));
            // It needs the body and the fields as all others have left them.
            layer.goes_last = true;
            return layer;
        };
    }
    settings.push_back(std::move(compression));
}

void add_log(Settings& settings, const std::string& file, const ServeOptions& options) {
    settings.push_back({.kind = SettingKind::log,
                        .access_log = std::make_shared<const http::AccessLogTarget>(
                            http::AccessLogTarget{file, options.log_format, options.log_rules})});
}

void add_server_timing(Settings& settings, const std::vector<net::Network>& networks) {
    Setting timing{.kind = SettingKind::server_timing};
    if (!networks.empty()) {
        timing.make = [networks](LayerPlace&) {
            return Layer(std::make_shared<http::filter::ServerTiming>(networks));
        };
    }
    settings.push_back(std::move(timing));
}

// `where` names the route within its site.
void add_rate(Settings& settings, const RouteRate& rate, const std::string& where,
              RateTables& tables) {
    Setting limit{.kind = SettingKind::rate};
    if (rate.limit) {
        auto& known = tables[{where, rate.limit->per_minute, rate.limit->burst}];
        std::shared_ptr<http::filter::RateTable> table = known.lock();
        if (table == nullptr) table = std::make_shared<http::filter::RateTable>(*rate.limit);
        known = table;
        limit.make = [table](LayerPlace&) {
            return Layer(std::make_shared<http::filter::RateLimit>(table));
        };
    }
    settings.push_back(std::move(limit));
}

// The order in which rules see a request is that of SettingKind; filters see its answer in the
// opposite one. The rate comes first, so that it bounds guesses of passwords; CORS before
// passwords, because browsers send preflights without credentials (Fetch standard).
void add_settings(Settings& settings, const Route& route, const std::string& where,
                  const ServedSite& site) {
    const ServeOptions& options = site.options;
    const SharedPasswords& passwords = site.passwords;
    if (route.rate) add_rate(settings, *route.rate, where, *site.rates);
    std::vector<http::filter::AddedField> fields;
    for (const AddedHeader& header : route.headers) fields.push_back(field_of(header));
    add_fields(settings, std::move(fields));
    add_cors(settings, route.cors);
    if (route.auth) {
        add_passwords(settings, passwords.of(*route.auth), passwords.pool,
                      route.match.plain_path());
    }
    if (route.compress) add_compression(settings, *route.compress, options.compress.bytes_min);
    if (route.log) add_log(settings, *route.log, options);
    if (route.server_timing) add_server_timing(settings, *route.server_timing);
    if (route.slow) settings.push_back({.slow = route.slow});
    if (route.body_bytes_max || route.timeout) {
        settings.push_back(
            {.body_bytes_max = route.body_bytes_max, .handler_timeout = route.timeout});
    }
}

// What the flags of the whole site say.
void add_site_settings(Settings& settings, const ServedSite& site) {
    const ServeOptions& options = site.options;
    const SharedPasswords& passwords = site.passwords;
    std::vector<http::filter::AddedField> fields;
    if (options.tls.hsts > Duration::zero()) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.tls.hsts);
        fields.push_back(
            {"Strict-Transport-Security", "max-age=" + std::to_string(seconds.count())});
    }
    for (const AddedHeader& header : options.added_headers) fields.push_back(field_of(header));
    add_fields(settings, std::move(fields));
    add_cors(settings, options.cors_origin);
    if (!options.basic_auth.empty()) {
        add_passwords(settings, passwords.of(options.basic_auth), passwords.pool, "");
    }
    add_compression(settings, options.compress.codings, options.compress.bytes_min);
    add_log(settings, options.access_log, options);
    if (options.slow > Duration::zero()) settings.push_back({.slow = options.slow});
    add_settings(settings, options.whole, "the site", site);
}

// One of `sites`, as it is made into the tree.
struct Making {
    const ServedSite& site;
    std::size_t number;
    std::uint32_t scope;  // around all of its own

    const ServeOptions& options() const { return site.options; }
    const LoopSite& on(const LayerPlace& place) const {
        return place.states.get<LoopSites>()[number];
    }
};

Layer pages_of(const Making& making, const LayerPlace& place) {
    return Layer(making.on(place).pages);
}

// Read when the loop gets the site: later the server may lack root's rights, and an error is a bad
// moment to wait for a disk.
Setting::Make error_pages_of(const Making& making, const Route& route) {
    if (route.error_pages.empty()) return {};
    return [&options = making.options(), &route](LayerPlace& place) {
        auto loaded = load_error_pages(options, route.error_pages);
        if (!loaded) place.refuse(loaded.error());
        return Layer(std::make_shared<http::filter::ErrorPages>(
            loaded ? std::move(*loaded) : http::filter::ErrorPages()));
    };
}

MakeHandler replying(const Route& route) {
    return
        [&route](LayerPlace&) { return std::make_shared<FixedAnswer>(*route.reply, route.match); };
}

// Some routes change how files are served and name no folder. The folder of the site answers for
// them, with their settings.
void add_file_settings(http::Site& site, const Making& making,
                       std::vector<http::SiteRoutes::Route>& all) {
    const ServeOptions& options = making.options();
    const std::vector<const Route*> by_path = routes_by_path(options.routes);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Route& route = options.routes[i];
        if (!route.files.any() || route.files.root) continue;
        const auto around = std::ranges::find_if(by_path, [&](const Route* each) {
            return each->files.root && each->match.kind() == http::RouteMatch::Kind::below &&
                   each->match.path_holds(route.match.folder());
        });
        if (around == by_path.end() && (options.root.empty() || options.whole.reply)) continue;
        all[i].refines =
            around == by_path.end()
                ? http::SiteRoutes::base
                : all[static_cast<std::size_t>(*around - options.routes.data())].endpoint;
        all[i].endpoint = site.add_for_routes(
            {.pattern = route.match.path,
             .scope = making.scope,
             .make = [making, i](LayerPlace& place) { return making.on(place).routes[i]; },
             .methods = methods_of_files(options)});
    }
}

// The routes inside the endpoint of the site's files.
std::shared_ptr<const http::SiteRoutes> add_routes(http::Site& site, const Making& making,
                                                   std::uint32_t files) {
    const ServeOptions& options = making.options();
    if (options.routes.empty()) return {};
    std::vector<http::SiteRoutes::Route> all;
    std::map<std::string, std::size_t> same_path;
    for (std::size_t i = 0; i < options.routes.size(); ++i) {
        const Route& route = options.routes[i];
        const std::uint32_t number = site.add_scope(making.scope, "");
        http::Site::Scope& scope = site.scope(number);
        scope.is_of_routes = true;
        // Of several routes of one path by their order.
        const std::size_t before = same_path[route.match.path]++;
        add_settings(scope.settings, route, route.match.path + "#" + std::to_string(before),
                     making.site);
        scope.error_pages = error_pages_of(making, route);
        http::SiteRoutes::Route& added = all.emplace_back(route.match, number);
        http::Site::Endpoint endpoint{.pattern = route.match.path, .scope = making.scope};
        if (route.reply && route.reply->is_off()) {
            added.endpoint = files;
        } else if (route.reply) {
            endpoint.make = replying(route);
            added.denies = route.reply->status >= 400;
        } else if (route.runs_programs() || route.shows_metrics) {
            endpoint.make = [making, i](LayerPlace& place) { return making.on(place).routes[i]; };
        }
        if (route.files.root) {
            endpoint.methods = methods_of_files(options);
            endpoint.make = [making, i](LayerPlace& place) { return making.on(place).routes[i]; };
        }
        if (endpoint.make) added.endpoint = site.add_for_routes(std::move(endpoint));
    }
    add_file_settings(site, making, all);
    return std::make_shared<const http::SiteRoutes>(std::move(all));
}

// Without a chosen address only this machine is served, and so only its names: the page of
// another site, whose name was made to lead here, would read the folder (DNS rebinding).
Setting::Make rule_of_this_machine(const ServedSite& site) {
    const ServeOptions& options = site.options;
    if (!options.listen_is_default) return {};
    for (const std::string& text : options.listen) {
        const auto address = core::Address::parse(text);
        if (!address || !address->is_loopback()) return {};
    }
    std::vector<std::string> names = site.hosts;
    names.push_back(net::host_name());
    return [names = std::move(names)](LayerPlace&) {
        return Layer(std::make_shared<http::filter::AllowedHosts>(
            names,
            "This server answers for names of this machine alone. Start it with --listen to serve "
            "others.\n"));
    };
}

// Before all rules: it is opt-in, and answers programs that have no password. Other methods go to
// the folder, which answers them as it does for any file.
void add_about(http::Site& site, const SiteFacts& facts, const Making& making,
               const http::Site::Endpoint& files) {
    const std::uint32_t open = site.add_scope(making.scope, "");
    site.scope(open).asks_nobody = true;
    const auto make = [facts](LayerPlace&) {
        return std::make_shared<About>(facts.engine, facts.loops);
    };
    const std::string path(About::path);
    bool added =
        site.add({.pattern = path, .method = http::wire::Method::get, .scope = open, .make = make})
            .has_value();
    http::Site::Endpoint others = files;
    others.pattern = path;
    others.is_prefix = false;
    added &= site.add(std::move(others)).has_value();
    TR_CHECK(added, "no other rule has this path and these methods");
}

}  // namespace

std::shared_ptr<const PasswordFile> SharedPasswords::of(
    const std::vector<std::string>& sources) const {
    const auto found = files.find(sources);
    return found != files.end() ? found->second : nullptr;
}

std::vector<const std::vector<std::string>*> password_lists(const ServeOptions& options) {
    std::vector<const std::vector<std::string>*> all{&options.basic_auth};
    if (options.whole.auth) all.push_back(&*options.whole.auth);
    for (const Route& route : options.routes) {
        if (route.auth) all.push_back(&*route.auth);
    }
    return all;
}

bool is_password_file(const std::string& source) {
    return !source.contains(':');
}

namespace {

// A hash that is made here has another salt each time, so it is kept.
Result<std::shared_ptr<const PasswordFile>> load_passwords(const std::vector<std::string>& sources,
                                                           const PasswordFiles* before) {
    std::shared_ptr<const PasswordFile> old;
    if (before != nullptr) {
        if (const auto found = before->find(sources); found != before->end()) old = found->second;
    }
    if (old != nullptr && std::ranges::none_of(sources, is_password_file)) return old;
    auto loaded = PasswordFile::load(sources);
    if (!loaded) return fail(loaded.error());
    if (old != nullptr && *old == *loaded) return old;
    return std::make_shared<const PasswordFile>(std::move(*loaded));
}

}  // namespace

Result<SharedPasswords> load_passwords(const ServeOptions& options, PasswordFiles& known,
                                       const PasswordFiles* before) {
    SharedPasswords loaded;
    for (const std::vector<std::string>* const sources : password_lists(options)) {
        if (sources->empty()) continue;
        auto& file = known[*sources];
        if (file == nullptr) {
            auto passwords = load_passwords(*sources, before);
            if (!passwords) return fail(passwords.error());
            file = std::move(*passwords);
        }
        loaded.files[*sources] = file;
    }
    return loaded;
}

namespace {

// The scope around all of a site, under its hosts' names.
std::uint32_t add_hosts(http::Site& tree, const ServedSite& site) {
    const std::uint32_t host = site.is_default ? 0 : tree.host(site.hosts.front());
    for (const std::string& name : site.hosts) tree.add_name(host, name);
    if (site.is_default) {
        tree.name_of_others = site.name();
        return 0;
    }
    const std::uint32_t scope = tree.add_scope(0, "");
    tree.scope(scope).parent = http::Site::no_scope;
    tree.scope(scope).host = host;
    return scope;
}

void add_site(http::Site& tree, const Making& making, const SiteFacts& facts) {
    const ServeOptions& options = making.options();
    http::Site::Scope& scope = tree.scope(making.scope);
    if (!options.canonical_host.empty()) {
        scope.settings.push_back(
            {.make = [host = options.canonical_host](
                         LayerPlace&) { return Layer(std::make_shared<CanonicalHost>(host)); },
             .kind = SettingKind::canonical_host});
    }
    add_site_settings(scope.settings, making.site);
    scope.error_pages = [making](LayerPlace& place) { return pages_of(making, place); };
    http::Site::Endpoint files{.pattern = "", .scope = making.scope, .is_prefix = true};
    files.make = [making](LayerPlace& place) { return making.on(place).answers; };
    files.methods = methods_of_files(options);
    // A route may lead back to the files where the site itself answers something else.
    const std::uint32_t plain = options.routes.empty() ? 0 : tree.add_for_routes(files);
    if (options.whole.reply) {
        files.make = replying(options.whole);
        files.methods.clear();
    }
    files.routes = add_routes(tree, making, plain);
    if (options.about) add_about(tree, facts, making, files);
    TR_CHECK(tree.add(std::move(files)), "each host once");
}

void trust_proxies(http::Site& tree, std::span<const ServedSite> sites) {
    auto proxies = sites.empty() ? nullptr : proxies_of(sites.front().options);
    if (proxies == nullptr) return;
    tree.before_match = [proxies = std::move(proxies)](http::Exchange& exchange) {
        proxies->apply(exchange);
    };
}

}  // namespace

std::shared_ptr<const http::filter::TrustedProxies> proxies_of(const ServeOptions& options) {
    if (options.trusted_proxies.empty()) return nullptr;
    std::string fault;
    auto made = std::make_shared<const http::filter::TrustedProxies>(
        http::TrustedProxyOptions{.networks = options.trusted_proxies}, fault);
    TR_CHECK(fault.empty(), "the networks were checked when they were read");
    return made;
}

http::Site make_site(std::span<const ServedSite> sites, const SiteFacts& facts) {
    http::Site tree;
    trust_proxies(tree, sites);
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const Making making{sites[i], i, add_hosts(tree, sites[i])};
        add_site(tree, making, facts);
        if (!sites[i].is_default) continue;
        const Setting::Make rule = rule_of_this_machine(sites[i]);
        if (sites.size() == 1) tree.before_all = rule;
        for (std::uint32_t scope = 0; rule && sites.size() > 1 && scope < tree.scopes().size();
             ++scope) {
            // The other sites have names. A scope without a password has the rule all the same.
            const http::Site::Scope& one = tree.scope(scope);
            if (one.host != 0 || one.is_of_routes) continue;
            tree.scope(scope).settings.push_back({.make = rule, .kind = SettingKind::first});
        }
    }
    return tree;
}

// Only the error pages of the site: passwords and added fields have no place in clear text.
http::Site make_redirect_site(std::span<const ServedSite> sites) {
    http::Site tree;
    trust_proxies(tree, sites);
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const Making making{sites[i], i, add_hosts(tree, sites[i])};
        tree.scope(making.scope).error_pages = [making](LayerPlace& place) {
            return pages_of(making, place);
        };
        const auto make = [making](LayerPlace& place) { return making.on(place).redirects; };
        const auto added =
            tree.add({.pattern = "", .scope = making.scope, .make = make, .is_prefix = true});
        TR_CHECK(added, "each host once");
    }
    return tree;
}

Result<http::filter::ErrorPages> load_error_pages(const ServeOptions& options) {
    std::vector<ErrorPage> pages = options.error_pages;
    const std::vector<ErrorPage>& own = options.whole.error_pages;
    pages.insert(pages.end(), own.begin(), own.end());
    std::map<int, std::string> files;
    for (const ErrorPage& page : pages) files[page.code] = file_of(options, page);
    return http::filter::ErrorPages::load(files);
}

Result<http::filter::ErrorPages> load_error_pages(const ServeOptions& options,
                                                  const std::vector<ErrorPage>& pages) {
    std::map<int, std::string> files;
    for (const ErrorPage& page : pages) files[page.code] = file_of(options, page);
    return http::filter::ErrorPages::load(files, http::filter::ErrorPages::Others::are_left);
}

ServeOptions with_files_of(const ServeOptions& options, const Route& route) {
    ServeOptions made = options;
    made.routes.clear();
    for (const Route& each : options.routes) {
        // The sources of programs are not sent from here, either.
        made.routes.push_back({.match = each.match,
                               .compress = each.compress,
                               .cache_control = each.cache_control,
                               .cgi = each.cgi,
                               .fastcgi = each.fastcgi});
    }
    const auto put = [&](const FileSettings& files) {
        if (files.root) made.whole.files = {};
        if (files.root) made.root = *files.root;
        if (files.index) made.index = *files.index;
        if (files.listing) made.listing = *files.listing;
        if (files.fallback) made.spa_file = *files.fallback;
        if (files.clean_urls) made.clean_urls = *files.clean_urls;
        if (files.hidden) made.hidden_files = *files.hidden;
        if (!files.maps_paths()) return;
        FileSettings& mapping = made.whole.files;
        if (!files.strip.empty()) mapping.strip = files.strip;
        if (!files.prefix.empty()) mapping.prefix = files.prefix;
        if (files.tries.empty()) return;
        mapping.tries = files.tries;
        mapping.or_status = files.or_status;
    };
    std::vector<const Route*> around = routes_by_path(options.routes);
    for (const Route* const each : around | std::views::reverse) {
        const bool is_around = each->match.kind() == http::RouteMatch::Kind::below &&
                               each->match != route.match &&
                               each->match.path_holds(route.match.folder());
        if (is_around) put(each->files);
    }
    put(route.files);
    std::error_code fault;
    const bool is_elsewhere = !std::filesystem::equivalent(made.root, options.root, fault);
    if (is_elsewhere) {
        // Where it is around the site's, that has its scripts below.
        const std::string site = place_inside(made.root, options.root);
        for (Route& each : made.routes) {
            if (!site.empty() && each.has_scripts() && each.match.path.contains('/')) {
                each.match.path =
                    site + (each.match.path.starts_with('/') ? "" : "/") + each.match.path;
            }
        }
    }
    for (Route& each : made.routes) {
        // A peer's path is one of the site's folder. A route inside it that names a folder means
        // its files.
        const bool is_inside = route.files.root && each.match.path_holds(route.match.folder());
        if (!each.has_scripts() && (is_elsewhere || is_inside)) each.fastcgi.reset();
    }
    if (!route.cache_control) return made;
    // Whatever its files are called; of the routes around it none counts then.
    const auto own = std::ranges::find(around, route.match, &Route::match);
    for (const Route* const each : std::ranges::subrange(own, around.end())) {
        made.routes[static_cast<std::size_t>(each - options.routes.data())].cache_control.reset();
    }
    made.cache_control.insert(made.cache_control.begin(), {"**", *route.cache_control});
    return made;
}

CodingsByPath::CodingsByPath(const ServeOptions& options)
    : otherwise_(options.whole.compress.value_or(options.compress.codings)) {
    for (const Route* const route : routes_by_path(options.routes)) {
        if (route->compress) choices_.push_back({route->match, *route->compress});
    }
}

http::wire::AvailableCodings CodingsByPath::of(std::string_view path) const {
    const auto nearest = std::ranges::find_if(
        choices_, [&](const Choice& choice) { return choice.match.path_holds(path); });
    return built_in_of(nearest != choices_.end() ? nearest->codings : otherwise_);
}

bool compresses(const ServeOptions& options) {
    const auto has_codings = [](const Route& route) {
        return route.compress && built_in_of(*route.compress).any();
    };
    return built_in_of(options.compress.codings).any() || has_codings(options.whole) ||
           std::ranges::any_of(options.routes, has_codings);
}

std::vector<std::string> access_logs(const ServeOptions& options) {
    std::vector<std::string> logs;
    const auto add = [&](const std::string& path) {
        const bool known = std::ranges::find(logs, path) != logs.end();
        if (path != "off" && !known) logs.push_back(path);
    };
    add(options.access_log);
    if (options.whole.log) add(*options.whole.log);
    for (const Route& route : options.routes) {
        if (route.log) add(*route.log);
    }
    return logs;
}

}  // namespace tiderace::server
