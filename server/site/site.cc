#include "server/site/site.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "server/site/about.h"
#include "server/site/path_redirect.h"
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
    add(paths.redirects);
    add(paths.compress);
    add(paths.logs);
    return prefixes;
}

std::string file_of(const ServeOptions& options, const ErrorPage& page) {
    // Relative to the site, where pages are written, and not to where the server was started.
    return page.file.starts_with('/') ? page.file : options.root + "/" + page.file;
}

http::wire::AvailableCodings built_in_of(const http::wire::AvailableCodings& wanted) {
    // A build may lack a library. Its coding is left out here, so that no answer promises it.
    const http::wire::AvailableCodings known = http::coding::built_in_codings();
    return {.gzip = wanted.gzip && known.gzip,
            .zstd = wanted.zstd && known.zstd,
            .br = wanted.br && known.br};
}

// One for all loops, or each would allow the whole rate.
using RateTables = std::map<const PathRate*, std::shared_ptr<http::filter::RateTable>>;

void add_rate(Settings& settings, const ServeOptions& options, std::string_view prefix,
              RateTables& tables) {
    const PathRate* const rule = nearest(options.paths.rates, prefix);
    if (rule == nullptr || !rule->limit) return;
    auto& table = tables[rule];
    if (table == nullptr) table = std::make_shared<http::filter::RateTable>(*rule->limit);
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
        if (is_below(prefix, header.prefix)) own.push_back(&header);
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

Setting::Make error_pages_of(const ServeOptions& options, const std::string& prefix) {
    const bool has_own = nearest(options.paths.error_pages, prefix) != nullptr;
    return [&options, prefix, has_own](LayerPlace& place) {
        if (!has_own) {
            return Layer(std::shared_ptr<http::filter::ErrorPages>(
                std::shared_ptr<void>(), &place.states.get<http::filter::ErrorPages>()));
        }
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

std::shared_ptr<http::Handler> files_of(LayerPlace& place) {
    return {std::shared_ptr<void>(), &place.states.get<http::Handler>()};
}

void add_endpoint(http::Site& site, std::uint32_t scope, const ServeOptions& options,
                  const std::string& prefix) {
    http::Site::Endpoint endpoint{.pattern = prefix, .scope = scope, .is_prefix = true};
    endpoint.make = &files_of;
    const PathRedirection* const rule = nearest(options.paths.redirects, prefix);
    if (rule != nullptr && !rule->target.empty()) {
        endpoint.make = [rule = *rule](LayerPlace&) {
            return std::make_shared<PathRedirect>(rule.prefix, rule.target);
        };
    }
    TR_CHECK(site.add(std::move(endpoint)), "each prefix once");
}

// Where nobody chose an address, only this machine is served, and so only its names: the page of
// another site, whose name was made to lead here, would read the folder (DNS rebinding).
Setting::Make rule_of_this_machine(const ServeOptions& options) {
    if (!options.listen_is_default) return {};
    for (const std::string& text : options.listen) {
        const auto address = core::Address::parse(text);
        if (!address || !address->is_loopback()) return {};
    }
    return [](LayerPlace&) {
        return Layer(std::make_shared<http::filter::AllowedHosts>(
            std::vector<std::string>{net::host_name()},
            "This server answers for names of this machine alone. Start it with --listen to serve "
            "others.\n"));
    };
}

// Before all rules: it is opt-in, and answers programs that have no password. Other methods go to
// the folder, which answers them as it does for any file.
void add_about(http::Site& site, const SiteFacts& facts, std::uint32_t around) {
    const std::uint32_t open = site.add_scope(0, "");
    site.scope(open).asks_nobody = true;
    const auto make = [facts](LayerPlace&) {
        return std::make_shared<About>(facts.engine, facts.loops);
    };
    const std::string path(About::path);
    bool added =
        site.add({.pattern = path, .method = http::wire::Method::get, .scope = open, .make = make})
            .has_value();
    added &= site.add({.pattern = path, .scope = around, .make = &files_of}).has_value();
    TR_CHECK(added, "no other rule has this path and these methods");
}

}  // namespace

bool SharedPasswords::any() const {
    return std::ranges::any_of(places, [](const Place& each) { return each.file != nullptr; });
}

Result<SharedPasswords> load_passwords(const ServeOptions& options) {
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
        auto passwords = PasswordFile::load(all);
        if (!passwords) return fail(passwords.error());
        place.file = std::make_shared<const PasswordFile>(std::move(*passwords));
    }
    return loaded;
}

http::Site make_site(const ServeOptions& options, const SharedPasswords& passwords,
                     const SiteFacts& facts) {
    http::Site site;
    site.before_all = rule_of_this_machine(options);
    RateTables tables;
    std::uint32_t around_about = 0;
    for (const std::string& prefix : prefixes_of(options.paths)) {
        std::uint32_t scope = 0;
        if (!prefix.empty()) {
            scope = site.add_scope(0, prefix);
            // What is nearest was looked up here, for each kind of rule.
            site.scope(scope).parent = http::Site::no_scope;
        }
        Settings& settings = site.scope(scope).settings;
        // The order in which rules see a request; filters see its answer in the opposite one. The
        // rate comes first, so that it bounds guesses of passwords; CORS before these, because
        // browsers send preflights without credentials (Fetch standard).
        add_rate(settings, options, prefix, tables);
        add_fields(settings, options, prefix);
        add_cors(settings, options, prefix);
        add_passwords(settings, passwords, prefix);
        add_compression(settings, options, prefix);
        add_log(settings, options, prefix);
        site.scope(scope).error_pages = error_pages_of(options, prefix);
        add_endpoint(site, scope, options, prefix);
        if (is_below(About::path, prefix)) around_about = scope;
    }
    if (options.about) add_about(site, facts, around_about);
    return site;
}

// A path has the pages of those above it, and its own in their place.
Result<http::filter::ErrorPages> load_error_pages(const ServeOptions& options,
                                                  std::string_view prefix) {
    std::map<int, std::string> files;
    for (const ErrorPage& page : options.error_pages) files[page.code] = file_of(options, page);
    std::vector<const PathErrorPage*> own;
    for (const PathErrorPage& page : options.paths.error_pages) {
        if (is_below(prefix, page.prefix)) own.push_back(&page);
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
