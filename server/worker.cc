#include "server/worker.h"

#include <algorithm>
#include <map>
#include <utility>

#include "server/site/fixed_answer.h"
#include "server/version.h"

namespace tiderace::server {
namespace {

// Bytes of files that the cache has dropped, or never kept, and that answers still send. The help
// of --cache names this number.
constexpr std::size_t file_bytes_being_sent = 64_MiB;

core::Links links(SymlinkPolicy policy) {
    switch (policy) {
        case SymlinkPolicy::inside:
            return core::Links::inside;
        case SymlinkPolicy::anywhere:
            return core::Links::anywhere;
        case SymlinkPolicy::never:
            break;
    }
    return core::Links::never;
}

// A time-out of zero is off; the clock gets a hundred years instead.
Duration or_never(Duration timeout) {
    return timeout == Duration::zero() ? Duration(24h) * 36'500 : timeout;
}

http::handler::StaticFilesOptions static_options(const ServeOptions& options) {
    http::handler::StaticFilesOptions files;
    files.root = options.root;
    files.links = links(options.symlinks);
    files.paths.index = options.index;
    files.paths.clean_urls = options.clean_urls;
    files.paths.hidden = options.hidden_files;
    files.paths.precompressed = options.precompressed;
    if (options.cache.bytes_max > 0) {
        // Compressed files are kept beside the cache's entries, so without a cache there are none.
        files.paths.compress = {
            .codings_of = [&options](ByteView path) { return codings_of(options, path); },
            .bytes_min = options.compress.bytes_min,
            .bytes_max = options.compress.bytes_max};
    }
    for (const CacheControlRule& rule : options.cache_control) {
        files.paths.cache_control.push_back({rule.pattern, rule.value});
    }
    for (const MimeAddition& addition : options.mime_additions) {
        files.paths.mime.add(addition.extension, addition.type);
    }
    if (options.spa_file) files.spa = "/" + *options.spa_file;
    files.listing = options.listing.value_or(false);
    files.small_copy_bytes_max = options.cache.small_copy_bytes_max;
    files.cache.bytes_max = options.cache.bytes_max;
    const CacheSizes sizes = cache_sizes(options.cache, options.tls.on());
    files.cache.memory_file_bytes_max = sizes.memory_file_bytes_max;
    files.cache.sendfile_bytes_min = sizes.sendfile_bytes_min;
    files.cache.revalidate = options.cache.revalidate;
    return files;
}

// For one of many workers with a connection each: what a few would have had is divided.
void shrink(http::files::FileCacheLimits& cache, std::size_t workers) {
    cache.bytes_max = std::max<std::size_t>(256_KiB, cache.bytes_max / workers);
    cache.descriptors_max = Worker::small_descriptors;
    cache.room.open_max = Worker::small_descriptors + 24;
    cache.missing_max = 64;
}

// The cache of a loop, divided among its sites.
void share_cache(http::files::FileCacheLimits& cache, std::size_t sites) {
    if (sites == 1 || cache.bytes_max == 0) return;
    cache.bytes_max = std::max<std::size_t>(256_KiB, cache.bytes_max / sites);
    cache.descriptors_max = std::max<std::size_t>(4, cache.descriptors_max / sites);
}

// A listing that is being made holds a directory: a part of the descriptors for files is kept for
// these.
void share_descriptors(http::handler::StaticFilesOptions& files, std::size_t open_max) {
    const std::size_t listings =
        std::clamp<std::size_t>(open_max / 4, 1, files.listings.listings_max);
    files.listings.listings_max = listings;
    files.cache.room.open_max = std::max<std::size_t>(1, open_max - listings);
    files.cache.descriptors_max = std::min(files.cache.descriptors_max, files.cache.room.open_max);
}

http::files::FileBudgetLimits room_for_files(const http::files::FileCacheLimits& cache,
                                             const SharedParts& parts) {
    const std::size_t workers = parts.small ? parts.loops : 1;
    return {.bytes_max =
                cache.bytes_max + std::max<std::size_t>(1_MiB, file_bytes_being_sent / workers),
            .open_max = cache.room.open_max};
}

// Deadlines are or_never(): 0 means no limit on the command line, and "at once" to a timer.
serve::HttpOptions http_options(const ServeOptions& options) {
    return {
        .message = {.header_timeout = or_never(options.timeouts.header),
                    .body_timeout = or_never(options.timeouts.body),
                    .receive_bytes_per_second_min =
                        options.minimum_rates.receive_bytes_per_second_min,
                    .idle_timeout = or_never(options.timeouts.idle),
                    .half_closed_timeout = or_never(options.timeouts.half_closed),
                    .body_bytes_max = options.limits.body_bytes_max,
                    .server_name =
                        options.server_header ? "tiderace/" + std::string(version()) : ""},
        .head = {.request_line_bytes_max = options.limits.request_line_bytes_max,
                 .head_bytes_max = options.limits.head_bytes_max,
                 .fields_max = options.limits.fields_max},
        .connection = connection_limits(options),
        .http1 = options.http2 != Http2::only,
        .http2 = options.http2 != Http2::off,
    };
}

}  // namespace

net::ConnectionLimits connection_limits(const ServeOptions& options) {
    return {.write = or_never(options.timeouts.write),
            .send_bytes_per_second_min = options.minimum_rates.send_bytes_per_second_min};
}

std::string busy_answer() {
    // For connections that are refused before anything is read of them.
    return "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
           "Connection: close\r\n\r\n";
}

// What the redirects of the plain port log goes where the same path of the site logs.
class Worker::RedirectLog final : public http::AccessLog {
  public:
    RedirectLog(core::EventLoop& loop, const http::SiteLoop& site) : loop_(&loop), site_(&site) {}
    void write(const http::AccessRecord& record) override {
        http::AccessRecord same = record;
        same.chain = &site_->chain_of(record.request->authority, record.request->path);
        site_->write_log(loop_->log(), same);
    }

  private:
    core::EventLoop* loop_;
    const http::SiteLoop* site_;
};

// One for each loop, made by the main thread before the loops run.
Result<std::unique_ptr<Worker>> Worker::create(core::EventLoop& loop, const SharedParts& parts,
                                               bool is_first) {
    const ServeOptions& options = *parts.options;
    std::unique_ptr<Worker> worker(new Worker(loop, options));
    worker->nothing_ = std::make_unique<FixedAnswer>(PathAnswer{.prefix = "", .status = 404});
    for (const ServedSite& site : parts.sites) {
        if (auto opened = worker->open_content(parts, site, is_first); !opened) {
            return fail(opened.error());
        }
    }
    if (auto opened = worker->open_sites(parts); !opened) return fail(opened.error());
    if (options.tls.on()) {
        const auto encrypted =
            worker->http_->encrypt({.certificates = options.tls.certificates,
                                    .client_certificates = options.tls.client_auth,
                                    .client_ca = options.tls.client_ca.value_or(""),
                                    .says_reloads = is_first,
                                    .tickets = parts.tickets});
        if (!encrypted) return fail(encrypted.error());
    }
    if (parts.redirect_tree != nullptr) {
        if (auto opened = worker->open_redirect(parts); !opened) return fail(opened.error());
    }
    return worker;
}

Result<> Worker::open_content(const SharedParts& parts, const ServedSite& site, bool is_first) {
    auto content = std::make_unique<Content>();
    auto pages = load_error_pages(site.options, "");
    if (!pages) return fail(pages.error());
    content->pages = std::move(*pages);
    http::Handler* answers = nothing_.get();
    if (site.has_files()) {
        if (auto opened = open_files(parts, site, *content, is_first); !opened) return opened;
        answers = content->files.get();
    }
    if (Programs::wanted(site.options)) {
        auto programs = Programs::create(*loop_, site.options, parts.places, *answers);
        if (!programs) return fail(programs.error());
        content->programs = std::move(*programs);
        answers = content->programs.get();
    }
    if (parts.redirect_tree != nullptr) {
        http::Handler* challenges = nothing_.get();
        if (content->files != nullptr) {
            // RFC 8555, 8.3: an ACME server asks over plain HTTP.
            content->challenges = std::make_unique<http::handler::OnlyBeneath>(
                *content->files, http::handler::HttpsRedirect::challenges);
            challenges = content->challenges.get();
        }
        content->redirect =
            std::make_unique<http::handler::HttpsRedirect>(parts.encrypted_port, *challenges);
    }
    loop_sites_.push_back(
        {.answers = answers, .redirects = content->redirect.get(), .pages = &content->pages});
    contents_.push_back(std::move(content));
    return {};
}

Result<> Worker::open_files(const SharedParts& parts, const ServedSite& site, Content& content,
                            bool is_first) {
    http::handler::StaticFilesOptions file_options = static_options(site.options);
    if (parts.small) shrink(file_options.cache, parts.loops);
    if (!parts.small) {
        share_cache(file_options.cache, parts.folders);
        share_descriptors(file_options,
                          std::max<std::size_t>(2, parts.files_open_max / parts.folders));
    }
    file_options.cache.room = room_for_files(file_options.cache, parts);
    // A small worker has no descriptor to spare for it.
    file_options.watch.on = !parts.small;
    // One loop logs for all, or each message would come once a loop.
    file_options.watch.logs = is_first;
    file_options.watch.notices = parts.notices;
    file_options.pool = parts.disk_pool;
    file_options.compress_pool = parts.compress_pool;
    file_options.variants = parts.variants;
    auto files = http::handler::StaticFiles::create(*loop_, std::move(file_options));
    if (!files) return fail(files.error());
    content.files = std::move(*files);
    return {};
}

Result<> Worker::open_sites(const SharedParts& parts) {
    encoders_ = core::make_ref<http::coding::EncoderPool>();
    states_.add({http::state_key<LoopSites>, &loop_sites_});
    states_.add({http::state_key<http::coding::EncoderPool>, encoders_.get()});
    http::LayerPlace place{*loop_, nullptr, runner_, states_};
    site_ = std::make_unique<http::SiteLoop>(parts.tree, place);
    if (place.fault) return fail(*place.fault);
    http_ = std::make_unique<serve::HttpLoop>(*loop_, *site_, http_options(*parts.options));
    if (parts.logs != nullptr) http_->log_to(*parts.logs, nullptr);
    return {};
}

net::SessionFactory& Worker::sessions(std::size_t place) {
    if (is_redirect(place)) return redirect_http_->sessions();
    if (options_->echo) return echo_;
    return http_->sessions();
}

net::TransportLayer* Worker::layer(std::size_t place) {
    return is_redirect(place) ? nullptr : http_->encryption();
}

// The plain port has a tree of its own. It speaks HTTP/1.1 alone, because all that it answers is a
// redirect.
Result<> Worker::open_redirect(const SharedParts& parts) {
    http::LayerPlace place{*loop_, nullptr, runner_, states_};
    redirect_site_ = std::make_unique<http::SiteLoop>(parts.redirect_tree, place);
    if (place.fault) return fail(*place.fault);
    redirect_log_ = std::make_unique<RedirectLog>(*loop_, *site_);
    if (site_->logs()) redirect_site_->set_log(redirect_log_.get());
    serve::HttpOptions http = http_options(*options_);
    http.http1 = true;
    http.http2 = false;
    redirect_http_ = std::make_unique<serve::HttpLoop>(*loop_, *redirect_site_, http);
    return {};
}

}  // namespace tiderace::server
