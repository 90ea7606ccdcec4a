#include "server/path/path_rules.h"

#include <algorithm>
#include <map>
#include <set>

namespace tiderace::server {
namespace {

// Each prefix once. In this order a path comes behind those above it, so that what is set for it
// counts.
template <typename Values>
std::set<std::string_view> prefixes_of(const Values& values) {
    std::set<std::string_view> prefixes;
    for (const auto& value : values) prefixes.insert(value.prefix);
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

}  // namespace

Result<SharedPasswords> load_passwords(const ServeOptions& options) {
    SharedPasswords all;
    const auto load =
        [](const std::vector<std::string>& sources) -> Result<std::shared_ptr<const PasswordFile>> {
        // No users: the path is open ("off").
        if (sources.empty()) return nullptr;
        auto passwords = PasswordFile::load(sources);
        if (!passwords) return fail(passwords.error());
        return std::make_shared<const PasswordFile>(std::move(*passwords));
    };
    auto otherwise = load(options.basic_auth);
    if (!otherwise) return fail(otherwise.error());
    all.otherwise = std::move(*otherwise);
    for (const std::string_view prefix : prefixes_of(options.paths.auth)) {
        std::vector<std::string> sources;
        for (const auto& rule : options.paths.auth) {
            if (rule.prefix == prefix && rule.source != "off") sources.push_back(rule.source);
        }
        // Users win over an "off" of the same path: a mistake should not open it.
        auto passwords = load(sources);
        if (!passwords) return fail(passwords.error());
        all.paths.emplace_back(prefix, std::move(*passwords));
    }
    return all;
}

PathRates make_path_rates(const ServeOptions& options) {
    PathRates all;
    for (const auto& rate : options.paths.rates) {
        std::shared_ptr<http::filter::RateTable> table;
        if (rate.limit) table = std::make_shared<http::filter::RateTable>(*rate.limit);
        all.emplace_back(rate.prefix, std::move(table));
    }
    return all;
}

PathTable<http::wire::AvailableCodings> codings_by_path(const ServeOptions& options) {
    PathTable<http::wire::AvailableCodings> table;
    // The empty prefix is above all paths.
    table.set("", built_in_of(options.compress.codings));
    for (const PathCompress& rule : options.paths.compress) {
        table.set(rule.prefix, built_in_of(rule.codings));
    }
    return table;
}

bool compresses(const ServeOptions& options) {
    return built_in_of(options.compress.codings).any() ||
           std::ranges::any_of(options.paths.compress, [](const PathCompress& rule) {
               return built_in_of(rule.codings).any();
           });
}

http::AccessRule* PathAccess::rule_of(std::string_view path) const {
    http::AccessRule* const* const rule = rules_.find(path);
    return rule != nullptr ? *rule : nullptr;
}

http::AccessRule::Verdict PathAccess::check(http::Exchange& exchange) {
    http::AccessRule* const rule = rule_of(exchange.request().path);
    return rule != nullptr ? rule->check(exchange) : Verdict::pass;
}

void PathFilter::filter(http::Exchange& exchange, http::Response& response) {
    http::ResponseFilter* const* const filter = filters_.find(exchange.request().path);
    if (filter != nullptr && *filter != nullptr) (*filter)->filter(exchange, response);
}

PathFields::PathFields(const std::vector<PathHeader>& headers) {
    for (const std::string_view prefix : prefixes_of(headers)) {
        std::vector<http::filter::AddedField> fields;
        for (const auto& header : headers) {
            if (header.prefix == prefix) fields.push_back({header.field.name, header.field.value});
        }
        fields_.emplace_back(prefix, std::move(fields));
    }
}

void PathFields::filter(http::Exchange& exchange, http::Response& response) {
    for (auto& [prefix, fields] : fields_) {
        // All prefixes of the path, from the outermost in: fields add up, unlike all other rules.
        if (is_below(exchange.request().path, prefix)) fields.filter(exchange, response);
    }
}

// A rate has no "otherwise": for the whole site there is --path-rate /=N itself.
void PathRules::add_rates(http::Site& site, const PathRates& rates) {
    if (rates.empty()) return;
    for (const auto& [prefix, table] : rates) {
        if (table == nullptr) {
            // "off": an entry without a rule ends the rule of the path above it.
            rate_access_.set(prefix, nullptr);
            continue;
        }
        // The table is common to all loops; only the rule is this loop's.
        rates_.push_back(std::make_unique<http::filter::RateLimit>(table));
        rate_access_.set(prefix, rates_.back().get());
    }
    site.add(rate_access_);
}

void PathRules::add_cors(http::Site& site, http::filter::Cors* otherwise) {
    // The usual site has one rule for all paths, and then no request needs a look into the table.
    if (options_->paths.cors.empty()) {
        if (otherwise != nullptr) site.add(static_cast<http::AccessRule&>(*otherwise));
        return;
    }
    cors_access_.set("", otherwise);
    cors_filter_.set("", otherwise);
    for (const auto& rule : options_->paths.cors) {
        http::filter::Cors* cors = nullptr;
        if (rule.origin) {
            cors_.push_back(std::make_unique<http::filter::Cors>(
                http::filter::CorsOptions{.origins = {*rule.origin}}));
            cors = cors_.back().get();
        }
        cors_access_.set(rule.prefix, cors);
        cors_filter_.set(rule.prefix, cors);
    }
    site.add(cors_access_);
}

void PathRules::add_cors_fields(http::Site& site, http::filter::Cors* otherwise) {
    if (!options_->paths.cors.empty()) {
        site.add(cors_filter_);
    } else if (otherwise != nullptr) {
        site.add(static_cast<http::ResponseFilter&>(*otherwise));
    }
}

void PathRules::make_passwords(core::EventLoop& loop, const SharedPasswords& passwords) {
    const auto make = [&](std::string_view prefix,
                          const std::shared_ptr<const PasswordFile>& file) {
        if (file == nullptr) return password_access_.set(prefix, nullptr);
        http::filter::BasicAuthOptions auth;
        // Browsers keep one password for each realm of a site.
        if (!prefix.empty()) auth.realm.append(" ").append(prefix);
        auth.verify = [file](ByteView user, ByteView password) {
            return file->verify(user, password);
        };
        passwords_.push_back(
            std::make_unique<http::filter::BasicAuth>(loop, *passwords.pool, std::move(auth)));
        password_access_.set(prefix, passwords_.back().get());
    };
    has_passwords_ = passwords.any();
    make("", passwords.otherwise);
    for (const auto& [prefix, file] : passwords.paths) make(prefix, file);
}

bool PathRules::asks_password(std::string_view path) const {
    return password_access_.rule_of(path) != nullptr;
}

// A site with one list of users has no path to look up.
void PathRules::add_passwords(http::Site& site) {
    if (!has_passwords_) return;
    if (options_->paths.auth.empty()) return site.add(*passwords_.front());
    site.add(password_access_);
}

// Behind the passwords, so that where a protected path leads is not shown to strangers.
void PathRules::add_redirects(http::Site& site) {
    if (options_->paths.redirects.empty()) return;
    for (const auto& [prefix, target] : options_->paths.redirects) {
        if (target.empty()) {
            redirect_access_.set(prefix, nullptr);
            continue;
        }
        redirects_.push_back(std::make_unique<PathRedirect>(prefix, target));
        redirect_access_.set(prefix, redirects_.back().get());
    }
    site.add(redirect_access_);
}

// A path has the pages of those above it, and its own in their place.
Result<> PathRules::load_error_pages() {
    const auto prefixes = prefixes_of(options_->paths.error_pages);
    for (const std::string_view prefix : prefixes) {
        std::map<int, std::string> files;
        for (const ErrorPage& page : options_->error_pages) {
            files[page.code] = file_of(*options_, page);
        }
        for (const std::string_view outer : prefixes) {
            if (!is_below(prefix, outer)) continue;
            for (const auto& own : options_->paths.error_pages) {
                if (own.prefix == outer) files[own.page.code] = file_of(*options_, own.page);
            }
        }
        // Read now: later the server may lack root's rights, and an error is a bad moment to wait
        // for a disk.
        auto pages = http::filter::ErrorPages::load(files);
        if (!pages) return fail(pages.error());
        error_pages_.emplace_back(prefix, std::move(*pages));
    }
    return {};
}

void PathRules::add_error_pages(http::Site& site, http::filter::ErrorPages& otherwise) {
    if (error_pages_.empty()) return site.add(otherwise);
    page_filter_.set("", &otherwise);
    for (auto& [prefix, pages] : error_pages_) page_filter_.set(prefix, &pages);
    site.add(page_filter_);
}

void PathRules::add_fields(http::Site& site) {
    if (options_->paths.headers.empty()) return;
    fields_ = std::make_unique<PathFields>(options_->paths.headers);
    site.add(*fields_);
}

// All of them borrow from one shelf, which bounds the encoders of a loop.
void PathRules::add_compression(http::Site& site) {
    if (!compresses(*options_)) return;
    const auto shelf = core::make_ref<http::coding::EncoderShelf>();
    const auto make = [&](const http::wire::AvailableCodings& wanted) -> http::filter::Compress* {
        const http::wire::AvailableCodings codings = built_in_of(wanted);
        if (!codings.any()) return nullptr;
        compressors_.push_back(std::make_unique<http::filter::Compress>(
            shelf, http::filter::CompressOptions{.codings = codings,
                                                 .bytes_min = options_->compress.bytes_min}));
        return compressors_.back().get();
    };
    http::filter::Compress* const otherwise = make(options_->compress.codings);
    if (options_->paths.compress.empty()) return site.add(*otherwise);
    compress_filter_.set("", otherwise);
    for (const PathCompress& rule : options_->paths.compress) {
        compress_filter_.set(rule.prefix, make(rule.codings));
    }
    site.add(compress_filter_);
}

}  // namespace tiderace::server
