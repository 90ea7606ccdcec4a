#include "server/site/site.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "server/site/about.h"
#include "server/site/fixed_answer.h"
#include "tiderace/http/coding/encoder_pool.h"
#include "tiderace/http/filter/added_fields.h"
#include "tiderace/http/filter/allowed_hosts.h"
#include "tiderace/http/filter/basic_auth.h"
#include "tiderace/http/filter/compress.h"
#include "tiderace/http/filter/cors.h"
#include "tiderace/http/filter/rate_limit.h"
#include "tiderace/net/lan_address.h"

namespace tiderace::server {
namespace {

using http::Layer;
using http::LayerPlace;
using http::Setting;
using Settings = std::vector<Setting>;

// Each path that has rules of its own, and "" for all. In this order a path comes behind those
// above it.
std::set<std::string, std::less<>> prefixes_of(const PathOptions& paths) {
    std::set<std::string, std::less<>> prefixes{""};
    const auto add = [&](const auto& rules) {
        for (const auto& rule : rules) prefixes.insert(rule.prefix);
    };
    add(paths.auth);
    add(paths.cors);
    add(paths.rates);
    add(paths.headers);
    add(paths.error_pages);
    add(paths.answers);
    add(paths.compress);
    add(paths.logs);
    return prefixes;
}

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

void add_rate(Settings& settings, const ServeOptions& options, std::string_view prefix,
              RateTables& tables) {
    const PathRate* const rule = nearest(options.paths.rates, prefix);
    if (rule == nullptr || !rule->limit) return;
    auto& known = tables[{rule->prefix, rule->limit->per_minute, rule->limit->burst}];
    std::shared_ptr<http::filter::RateTable> table = known.lock();
    if (table == nullptr) table = std::make_shared<http::filter::RateTable>(*rule->limit);
    known = table;
    settings.push_back({.make = [table](LayerPlace&) {
        return Layer(std::make_shared<http::filter::RateLimit>(table));
    }});
}

// The fields of the whole site come first. The fields of the nearest path come last, and so replace
// others.
void add_fields(Settings& settings, const ServeOptions& options, std::string_view prefix) {
    std::vector<http::filter::AddedField> fields;
    if (options.tls.hsts > Duration::zero()) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.tls.hsts);
        fields.push_back(
            {"Strict-Transport-Security", "max-age=" + std::to_string(seconds.count())});
    }
    for (const AddedHeader& header : options.added_headers) {
        fields.push_back({header.name, header.value});
    }
    std::vector<const PathHeader*> own;
    for (const PathHeader& header : options.paths.headers) {
        if (holds_at(prefix, header.prefix)) own.push_back(&header);
    }
    std::ranges::stable_sort(own, {}, [](const PathHeader* each) { return each->prefix.size(); });
    for (const PathHeader* header : own)
        fields.push_back({header->field.name, header->field.value});
    if (fields.empty()) return;
    settings.push_back({.make = [fields = std::move(fields)](LayerPlace&) {
        return Layer(std::make_shared<http::filter::AddedFields>(fields));
    }});
}

void add_cors(Settings& settings, const ServeOptions& options, std::string_view prefix) {
    const PathCors* const rule = nearest(options.paths.cors, prefix);
    const std::optional<std::string> origin = rule != nullptr ? rule->origin : options.cors_origin;
    if (!origin) return;
    settings.push_back({.make = [origin = *origin](LayerPlace&) {
        return Layer(std::make_shared<http::filter::Cors>(
            http::filter::CorsOptions{.origins = {origin}, .methods = "GET, HEAD, OPTIONS"}));
    }});
}

void add_passwords(Settings& settings, const SharedPasswords& passwords, std::string_view prefix) {
    const SharedPasswords::Place* const rule = nearest(passwords.places, prefix);
    if (rule == nullptr || rule->file == nullptr) return;
    http::filter::BasicAuthOptions auth;
    // Browsers keep one password for each realm of a site.
    if (!rule->prefix.empty()) auth.realm.append(" ").append(rule->prefix);
    auth.verify = [file = rule->file](ByteView user, ByteView password) {
        return file->verify(user, password);
    };
    settings.push_back({.make = [auth, pool = passwords.pool](LayerPlace& place) {
        Layer layer(std::make_shared<http::filter::BasicAuth>(place.loop, *pool, auth));
        layer.authenticates = true;
        return layer;
    }});
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

Setting::Make error_pages_of(const Making& making, const std::string& prefix) {
    const ServeOptions& options = making.options();
    const bool has_own = nearest(options.paths.error_pages, prefix) != nullptr;
    return [making, &options, prefix, has_own](LayerPlace& place) {
        if (!has_own) return pages_of(making, place);
        // Read now: later the server may lack root's rights, and an error is a bad moment to wait
        // for a disk.
        auto loaded = load_error_pages(options, prefix);
        if (!loaded) place.refuse(loaded.error());
        return Layer(std::make_shared<http::filter::ErrorPages>(
            loaded ? std::move(*loaded) : http::filter::ErrorPages()));
    };
}

void add_compression(Settings& settings, const ServeOptions& options, std::string_view prefix) {
    const http::wire::AvailableCodings codings = codings_of(options, prefix);
    if (!codings.any()) return;
    settings.push_back(
        {.make = [codings, bytes_min = options.compress.bytes_min](LayerPlace& place) {
            // All of them borrow from one pool, which bounds the encoders of a loop.
            auto pool = core::Ref(&place.states.get<http::coding::EncoderPool>());
            Layer layer(std::make_shared<http::filter::Compress>(
                std::move(pool),
                http::filter::CompressOptions{.codings = codings, .bytes_min = bytes_min}));
            // It needs the body and the fields as all others have left them.
            layer.goes_last = true;
            return layer;
        }});
}

void add_log(Settings& settings, const ServeOptions& options, std::string_view prefix) {
    const PathLog* const rule = nearest(options.paths.logs, prefix);
    const std::string& file = rule != nullptr ? rule->file : options.access_log;
    settings.push_back({.access_log = std::make_shared<const http::AccessLogTarget>(
                            http::AccessLogTarget{file, options.log_format})});
}

void add_endpoint(http::Site& site, std::uint32_t scope, const Making& making,
                  const std::string& prefix) {
    const bool is_alone = prefix.starts_with('=');
    http::Site::Endpoint endpoint{
        .pattern = is_alone ? prefix.substr(1) : prefix, .scope = scope, .is_prefix = !is_alone};
    endpoint.make = [making](LayerPlace& place) { return making.on(place).answers; };
    const PathAnswer* const rule = nearest(making.options().paths.answers, prefix);
    if (rule != nullptr && !rule->is_off()) {
        endpoint.make = [rule = *rule](LayerPlace&) { return std::make_shared<FixedAnswer>(rule); };
    }
    TR_CHECK(site.add(std::move(endpoint)), "each prefix once");
}

// Where nobody chose an address, only this machine is served, and so only its names: the page of
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
               std::uint32_t around) {
    const std::uint32_t open = site.add_scope(making.scope, "");
    site.scope(open).asks_nobody = true;
    const auto make = [facts](LayerPlace&) {
        return std::make_shared<About>(facts.engine, facts.loops);
    };
    const std::string path(About::path);
    bool added =
        site.add({.pattern = path, .method = http::wire::Method::get, .scope = open, .make = make})
            .has_value();
    const auto files = [making](LayerPlace& place) { return making.on(place).answers; };
    added &= site.add({.pattern = path, .scope = around, .make = files}).has_value();
    TR_CHECK(added, "no other rule has this path and these methods");
}

}  // namespace

bool SharedPasswords::any() const {
    return std::ranges::any_of(places, [](const Place& each) { return each.file != nullptr; });
}

namespace {

// What was hashed here has another salt each time, so it is not made again.
Result<std::shared_ptr<const PasswordFile>> load_passwords(const std::vector<std::string>& sources,
                                                           const PasswordFiles* before) {
    std::shared_ptr<const PasswordFile> old;
    if (before != nullptr) {
        if (const auto found = before->find(sources); found != before->end()) old = found->second;
    }
    const bool names_file =
        std::ranges::any_of(sources, [](const std::string& each) { return !each.contains(':'); });
    if (old != nullptr && !names_file) return old;
    auto loaded = PasswordFile::load(sources);
    if (!loaded) return fail(loaded.error());
    if (old != nullptr && *old == *loaded) return old;
    return std::make_shared<const PasswordFile>(std::move(*loaded));
}

}  // namespace

Result<SharedPasswords> load_passwords(const ServeOptions& options, PasswordFiles& known,
                                       const PasswordFiles* before) {
    std::map<std::string, std::vector<std::string>> sources;
    for (const std::string& source : options.basic_auth) sources[""].push_back(source);
    std::map<std::string, std::vector<std::string>> own;
    for (const PathAuth& rule : options.paths.auth) {
        std::vector<std::string>& all = own[rule.prefix];
        // Users win over an "off" of the same path: a mistake should not open it.
        if (rule.source != "off") all.push_back(rule.source);
    }
    for (auto& [prefix, all] : own) sources[prefix] = std::move(all);
    SharedPasswords loaded;
    for (const auto& [prefix, all] : sources) {
        SharedPasswords::Place& place = loaded.places.emplace_back(prefix);
        if (all.empty()) continue;
        auto& file = known[all];
        if (file == nullptr) {
            auto passwords = load_passwords(all, before);
            if (!passwords) return fail(passwords.error());
            file = std::move(*passwords);
        }
        place.file = file;
    }
    return loaded;
}

namespace {

// The scope around all of a site, under its hosts' names.
std::uint32_t add_hosts(http::Site& tree, const ServedSite& site) {
    const std::uint32_t host = site.is_default ? 0 : tree.host(site.hosts.front());
    for (const std::string& name : site.hosts) tree.add_name(host, name);
    if (site.is_default) return 0;
    const std::uint32_t scope = tree.add_scope(0, "");
    tree.scope(scope).parent = http::Site::no_scope;
    tree.scope(scope).host = host;
    return scope;
}

void add_site(http::Site& tree, const Making& making, const SiteFacts& facts) {
    const ServeOptions& options = making.options();
    std::uint32_t around_about = making.scope;
    for (const std::string& prefix : prefixes_of(options.paths)) {
        std::uint32_t scope = making.scope;
        if (!prefix.empty()) {
            const std::string path = prefix.starts_with('=') ? prefix.substr(1) : prefix;
            scope = tree.add_scope(making.scope, path);
            // What is nearest was looked up here, for each kind of rule.
            tree.scope(scope).parent = http::Site::no_scope;
        }
        Settings& settings = tree.scope(scope).settings;
        // The order in which rules see a request; filters see its answer in the opposite one. The
        // rate comes first, so that it bounds guesses of passwords; CORS before these, because
        // browsers send preflights without credentials (Fetch standard).
        add_rate(settings, options, prefix, *making.site.rates);
        add_fields(settings, options, prefix);
        add_cors(settings, options, prefix);
        add_passwords(settings, making.site.passwords, prefix);
        add_compression(settings, options, prefix);
        add_log(settings, options, prefix);
        tree.scope(scope).error_pages = error_pages_of(making, prefix);
        add_endpoint(tree, scope, making, prefix);
        if (is_below(About::path, prefix)) around_about = scope;
    }
    if (options.about) add_about(tree, facts, making, around_about);
}

}  // namespace

http::Site make_site(std::span<const ServedSite> sites, const SiteFacts& facts) {
    http::Site tree;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const Making making{sites[i], i, add_hosts(tree, sites[i])};
        add_site(tree, making, facts);
        if (!sites[i].is_default) continue;
        const Setting::Make rule = rule_of_this_machine(sites[i]);
        if (sites.size() == 1) tree.before_all = rule;
        for (std::uint32_t scope = 0; rule && sites.size() > 1 && scope < tree.scopes().size();
             ++scope) {
            // The other sites have names.
            if (tree.scope(scope).host != 0) continue;
            auto& settings = tree.scope(scope).settings;
            settings.insert(settings.begin(), {.make = rule});
        }
    }
    return tree;
}

// Of the site only its error pages: passwords and added fields have no place in clear text.
http::Site make_redirect_site(std::span<const ServedSite> sites) {
    http::Site tree;
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

// A path has the pages of those above it, and its own in their place.
Result<http::filter::ErrorPages> load_error_pages(const ServeOptions& options,
                                                  std::string_view prefix) {
    std::map<int, std::string> files;
    for (const ErrorPage& page : options.error_pages) files[page.code] = file_of(options, page);
    std::vector<const PathErrorPage*> own;
    for (const PathErrorPage& page : options.paths.error_pages) {
        if (holds_at(prefix, page.prefix)) own.push_back(&page);
    }
    std::ranges::stable_sort(own, {},
                             [](const PathErrorPage* each) { return each->prefix.size(); });
    for (const PathErrorPage* each : own) files[each->page.code] = file_of(options, each->page);
    return http::filter::ErrorPages::load(files);
}

http::wire::AvailableCodings codings_of(const ServeOptions& options, std::string_view path) {
    const PathCompress* const rule = nearest(options.paths.compress, path);
    return built_in_of(rule != nullptr ? rule->codings : options.compress.codings);
}

bool compresses(const ServeOptions& options) {
    return built_in_of(options.compress.codings).any() ||
           std::ranges::any_of(options.paths.compress, [](const PathCompress& rule) {
               return built_in_of(rule.codings).any();
           });
}

std::vector<std::string> access_log_files(const ServeOptions& options) {
    std::vector<std::string> files;
    const auto add = [&](const std::string& path) {
        const bool known = std::ranges::find(files, path) != files.end();
        if (path != "-" && path != "off" && !known) files.push_back(path);
    };
    add(options.access_log);
    for (const PathLog& log : options.paths.logs) add(log.file);
    return files;
}

}  // namespace tiderace::server
