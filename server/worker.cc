#include "server/worker.h"

#include <algorithm>
#include <utility>

#include "server/live/admin_socket.h"
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

// The first that matches counts, and the nearest comes first.
void add_cache_control(http::files::PathRules& rules, const Route& route) {
    if (route.match.regex != nullptr) {
        rules.cache_control.push_back({"", *route.cache_control, route.match.regex});
        return;
    }
    const std::string path(route.match.plain_path());
    if (route.match.kind() != http::RouteMatch::Kind::alone) {
        rules.cache_control.push_back({path + "/**", *route.cache_control});
    }
    if (!path.empty()) rules.cache_control.push_back({path, *route.cache_control});
}

http::files::FileCacheLimits cache_limits(const ServeOptions& options) {
    http::files::FileCacheLimits cache;
    cache.bytes_max = options.cache.bytes_max;
    const CacheSizes sizes = cache_sizes(options.cache, options.tls.on());
    cache.memory_file_bytes_max = sizes.memory_file_bytes_max;
    cache.sendfile_bytes_min = sizes.sendfile_bytes_min;
    cache.revalidate = options.cache.revalidate;
    return cache;
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
        files.paths.compress = {.codings_of = [codings = CodingsByPath(options)](
                                                  ByteView path) { return codings.of(path); },
                                .bytes_min = options.compress.bytes_min,
                                .bytes_max = options.compress.bytes_max};
    }
    files.paths.unsent = unsent_paths(options);
    for (const Route* const route : routes_by_path(options.routes)) {
        if (route->cache_control) add_cache_control(files.paths, *route);
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
    files.cache = cache_limits(options);
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

// What one folder has of a loop that serves so many.
void share(http::handler::StaticFilesOptions& files, const SharedParts& parts,
           const Generation& generation) {
    const std::size_t folders = std::max<std::size_t>(1, generation.folders);
    if (parts.small) {
        shrink(files.cache, parts.loops);
    } else {
        share_cache(files.cache, folders);
        share_descriptors(files,
                          std::max<std::size_t>(2, generation.shares.files_open_max / folders));
    }
    files.cache.room = room_for_files(files.cache, parts);
}

tls::ServerOptions tls_options(const TlsOptions& tls) {
    return {.certificates = tls.certificates,
            .client_certificates = tls.client_auth,
            .client_ca = tls.client_ca.value_or("")};
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

// Of plain addresses: all that they answer is a redirect.
serve::HttpOptions plain(serve::HttpOptions http) {
    http.http1 = true;
    http.http2 = false;
    return http;
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
    explicit RedirectLog(http::SiteLoop& site) : site_(&site) {}
    void write(const http::AccessRecord& record) override {
        http::AccessRecord same = record;
        same.chain = &site_->chain_of(*record.request);
        if (same.chain->log != nullptr) same.chain->log->write(same);
    }

  private:
    http::SiteLoop* site_;
};

// Where the plain addresses of a site lead.
struct Worker::Redirect {
    std::shared_ptr<Content> content;
    std::optional<http::handler::OnlyBeneath> challenges;
    std::optional<http::handler::HttpsRedirect> handler;
};

Worker::Worker(core::EventLoop& loop, const SharedParts& parts, bool is_first)
    : loop_(&loop),
      parts_(&parts),
      options_(parts.options),
      is_first_(is_first),
      nothing_(std::make_shared<FixedAnswer>(FixedReply{.status = 404})),
      encoders_(core::make_ref<http::coding::EncoderPool>()),
      runner_(loop) {}

// One for each loop, made by the main thread before the loops run.
Result<std::unique_ptr<Worker>> Worker::create(core::EventLoop& loop, const SharedParts& parts,
                                               bool is_first) {
    const ServeOptions& options = *parts.options;
    std::unique_ptr<Worker> worker(new Worker(loop, parts, is_first));
    if (auto prepared = worker->prepare(parts.generation); !prepared) {
        return fail(prepared.error());
    }
    worker->open_http();
    if (parts.generation->options.metrics.on) worker->count_requests();
    if (options.tls.on()) {
        tls::ServerOptions tls = tls_options(options.tls);
        tls.says_reloads = is_first;
        tls.tickets = parts.tickets;
        const auto encrypted = worker->http_->encrypt(std::move(tls));
        if (!encrypted) return fail(encrypted.error());
    }
    return worker;
}

Result<> Worker::prepare(const std::shared_ptr<const Generation>& generation) {
    next_.emplace();
    if (site_ != nullptr && generation->options.metrics.on) count_requests();
    LoopSites sites;
    for (const ServedSite& site : generation->sites) {
        const auto known = contents_.find(site.id);
        auto content = known != contents_.end() ? known->second : std::shared_ptr<Content>();
        if (content == nullptr) {
            auto opened = open_content(*generation, site);
            if (!opened) return fail(opened.error());
            content = std::move(*opened);
        }
        next_->contents[site.id] = content;
        auto opened = open_site(*generation, site, content);
        if (!opened) return fail(opened.error());
        sites.push_back(std::move(*opened));
    }
    http::States states;
    states.add({http::state_key<LoopSites>, &sites});
    states.add({http::state_key<http::coding::EncoderPool>, encoders_.get()});
    http::LayerPlace place{*loop_, nullptr, runner_, states};
    auto site = http::SiteLoop::prepare(tree_of(generation), place);
    if (!site) return fail(site.error());
    next_->site = std::move(*site);
    if (site_ != nullptr) site_->make_ready(next_->site, *loop_);
    if (auto prepared = prepare_http(*generation); !prepared) return prepared;
    if (!generation->redirects) return {};
    auto redirects = http::SiteLoop::prepare(redirect_tree_of(generation), place);
    if (!redirects) return fail(redirects.error());
    next_->redirects = std::move(*redirects);
    if (redirect_site_ != nullptr) redirect_site_->make_ready(next_->redirects, *loop_);
    return {};
}

// Takes the options that may change while it serves.
Result<> Worker::prepare_http(const Generation& generation) {
    if (http_ == nullptr) return {};
    const ServeOptions& options = generation.options;
    http::handler::StaticFilesOptions files{.cache = cache_limits(options)};
    share(files, *parts_, generation);
    next_->share = files.cache;
    next_->shares = generation.shares;
    next_->send_bytes_max = options.limits.send_bytes_max;
    next_->limits = connection_limits(options);
    next_->backlog = static_cast<int>(options.backlog);
    const serve::HttpOptions http = http_options(options);
    if (redirect_http_ != nullptr) {
        if (auto done = redirect_http_->prepare(plain(http), {}); !done) return done;
    }
    return http_->prepare(http, tls_options(options.tls));
}

void Worker::publish() noexcept {
    site_->publish(std::move(next_->site));
    if (next_->redirects) redirect_site_->publish(std::move(next_->redirects));
    http_->publish();
    if (redirect_http_ != nullptr) redirect_http_->publish();
    for (net::TcpServer* const server : servers_) {
        const bool redirects = server != servers_.front();
        server->change(next_->limits, next_->backlog,
                       redirects ? next_->shares.redirects_max : next_->shares.connections_max);
    }
    loop_->blocks().set_bytes_max(next_->send_bytes_max);
    contents_ = std::move(next_->contents);
    for (const auto& [id, content] : contents_) content->set_share(next_->share);
    next_.reset();
}

void Worker::Content::set_share(const http::files::FileCacheLimits& share) {
    if (files != nullptr) files->set_share(share);
    for (const OfRoute& route : routes) route.files->set_share(share);
}

Result<std::shared_ptr<Worker::Content>> Worker::open_content(const Generation& generation,
                                                              const ServedSite& site) const {
    auto content = std::make_shared<Content>();
    if (site.has_files()) {
        auto files = open_files(generation, site.options);
        if (!files) return fail(files.error());
        content->files = std::move(*files);
    }
    if (Programs::wanted(site.options)) {
        auto programs = Programs::create(*loop_, site.options, parts_->places);
        if (!programs) return fail(programs.error());
        content->programs = std::move(*programs);
    }
    const FileSettings& whole = site.options.whole.files;
    if (content->programs != nullptr || whole.maps_paths()) {
        content->mapped =
            std::make_unique<MappedFiles>(content->files.get(), content->programs.get(), whole,
                                          http::RouteMatch(), site.options.index);
    }
    if (auto opened = open_routes(generation, site, *content); !opened) {
        return fail(opened.error());
    }
    return content;
}

// A folder of its own has no scripts: these lie in the root of the site.
Result<> Worker::open_routes(const Generation& generation, const ServedSite& site,
                             Content& content) const {
    for (const Route& route : site.options.routes) {
        if (!route.files.any()) continue;
        const ServeOptions options = with_files_of(site.options, route);
        if (options.root.empty()) continue;
        auto files = open_files(generation, options, place_inside(site.options.root, options.root));
        if (!files) return fail(files.error());
        Programs* const programs =
            options.root == site.options.root ? content.programs.get() : nullptr;
        Content::OfRoute& made =
            content.routes.emplace_back(route.match, std::move(*files), nullptr);
        made.mapped = std::make_unique<MappedFiles>(made.files.get(), programs, options.whole.files,
                                                    route.match, options.index);
    }
    return {};
}

http::Handler* Worker::Content::of_route(const http::RouteMatch& match) const {
    const auto found = std::ranges::find(routes, match, &OfRoute::match);
    if (found != routes.end()) return found->mapped.get();
    return programs != nullptr ? programs->of_route(match) : nullptr;
}

Result<LoopSite> Worker::open_site(const Generation& generation, const ServedSite& site,
                                   const std::shared_ptr<Content>& content) const {
    auto pages = load_error_pages(site.options);
    if (!pages) return fail(pages.error());
    LoopSite made{.answers = nothing_,
                  .pages = std::make_shared<http::filter::ErrorPages>(std::move(*pages))};
    if (content->answers() != nullptr) made.answers = {content, content->answers()};
    for (const Route& route : site.options.routes) {
        made.routes.push_back(route.shows_metrics ? parts_->metrics_page
                                                  : std::shared_ptr<http::Handler>(
                                                        content, content->of_route(route.match)));
    }
    if (!generation.redirects) return made;
    auto redirect = std::make_shared<Redirect>();
    redirect->content = content;
    http::Handler* challenges = nothing_.get();
    if (content->files != nullptr) {
        // RFC 8555, 8.3: an ACME server asks over plain HTTP.
        challenges = &redirect->challenges.emplace(*content->files,
                                                   http::handler::HttpsRedirect::challenges);
    }
    redirect->handler.emplace(generation.encrypted_port, *challenges);
    made.redirects = {redirect, &*redirect->handler};
    return made;
}

Result<std::unique_ptr<http::handler::StaticFiles>> Worker::open_files(
    const Generation& generation, const ServeOptions& options,
    const std::string& place_in_site) const {
    const SharedParts& parts = *parts_;
    http::handler::StaticFilesOptions file_options = static_options(options);
    share(file_options, parts, generation);
    // A small worker has no descriptor to spare for it.
    file_options.watch.on = !parts.small;
    // One loop logs for all, or each message would come once a loop.
    file_options.watch.logs = is_first_;
    file_options.watch.notices = parts.notices;
    file_options.pool = parts.disk_pool;
    file_options.cache_counters = file_counters_.get();
    file_options.paths.unsent_from = place_in_site;
    file_options.compress_pool = parts.compress_pool;
    file_options.variants = parts.variants;
    return http::handler::StaticFiles::create(*loop_, std::move(file_options));
}

// The plain addresses have a tree of their own.
void Worker::open_http() {
    http::SiteLoop::Prepared redirects = std::move(next_->redirects);
    site_ = std::make_unique<http::SiteLoop>(std::move(next_->site), runner_);
    contents_ = std::move(next_->contents);
    next_.reset();
    const serve::HttpOptions http = http_options(*options_);
    http_ = std::make_unique<serve::HttpLoop>(*loop_, *site_, http);
    if (parts_->logs != nullptr) http_->log_to(*parts_->logs, nullptr);
    if (!redirects) return;
    redirect_site_ = std::make_unique<http::SiteLoop>(std::move(redirects), runner_);
    redirect_log_ = std::make_unique<RedirectLog>(*site_);
    redirect_site_->set_log(redirect_log_.get());
    redirect_http_ = std::make_unique<serve::HttpLoop>(*loop_, *redirect_site_, plain(http));
}

// From then on, for as long as it serves: a reading that shows nothing loses no number.
void Worker::count_requests() {
    if (metrics_ != nullptr) return;
    metrics_ = &parts_->metrics->add_loop();
    site_->set_metrics(*metrics_);
    if (redirect_site_ != nullptr) redirect_site_->set_metrics(*metrics_);
    lag_.emplace(*loop_, *metrics_);
}

net::SessionFactory& Worker::sessions(std::size_t place) {
    if (is_redirect(place)) return redirect_http_->sessions();
    if (options_->echo) return echo_;
    return http_->sessions();
}

net::TransportLayer* Worker::layer(std::size_t place) {
    return is_redirect(place) ? nullptr : http_->encryption();
}

void Worker::drain(Instant deadline, unique_function<void()> done) {
    if (!is_first_ || parts_->admin == nullptr) return done();
    parts_->admin->drain(deadline, std::move(done));
}

std::uint64_t Worker::connections() const {
    std::uint64_t opened = 0;
    std::uint64_t closed = 0;
    for (const net::TcpServer* const server : servers_) {
        const net::TcpServerCounters& counters = server->counters();
        // The closed ones first: read later, they could be more than were opened.
        for (const auto& count : counters.closed) closed += count.load(std::memory_order_acquire);
        opened += counters.opened.load(std::memory_order_relaxed);
    }
    return opened > closed ? opened - closed : 0;
}

}  // namespace tiderace::server
