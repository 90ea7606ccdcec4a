// Worker: all that one loop needs to serve the site. Workers share nothing but the log's writer and
// the pool for slow work.
//
//   HttpLoop -> SiteLoop of the site (server/site/site.h)
//   HttpLoop -> SiteLoop: HttpsRedirect -> log                    where there is --https-redirect
//
// Its places are the addresses of --listen, then the addresses of --https-redirect, in clear text.
//
// Owner    net::Serving; made before the loops run, destroyed after.
// Thread   Its loop's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/echo.h"
#include "server/live/generation.h"
#include "server/options.h"
#include "server/programs.h"
#include "server/site/mapped_files.h"
#include "server/site/site.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/coding/encoder_pool.h"
#include "tiderace/http/filter/error_pages.h"
#include "tiderace/http/handler/https_redirect.h"
#include "tiderace/http/handler/static_files.h"
#include "tiderace/http/request_metrics.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/net/serving.h"
#include "tiderace/serve/http_loop.h"
#include "tiderace/serve/log_files.h"
#include "tiderace/task/runner.h"

namespace tiderace::server {

class AdminSocket;

// What the workers of one server have in common.
struct SharedParts {
    const ServeOptions* options = nullptr;
    std::shared_ptr<const Generation> generation;  // the first
    const serve::LogFiles* logs = nullptr;
    bool small = false;                         // many workers of one connection each
    std::shared_ptr<tls::TicketShare> tickets;  // with TLS
    core::WorkerPool* compress_pool = nullptr;  // nullptr: no file is compressed
    http::files::VariantStore* variants = nullptr;
    std::shared_ptr<core::SharedNotices> notices;      // of changed files
    std::shared_ptr<http::cgi::ProgramPlaces> places;  // with programs
    core::WorkerPool* disk_pool = nullptr;             // waits for the disk in the loops' place
    std::size_t loops = 1;
    AdminSocket* admin = nullptr;  // drains with the first worker
    std::shared_ptr<http::ServerMetrics> metrics = std::make_shared<http::ServerMetrics>();
    std::shared_ptr<http::Handler> metrics_page;  // of routes that show it
};

// What the connections of a worker are allowed besides their number.
net::ConnectionLimits connection_limits(const ServeOptions& options);
// What a connection over a limit is sent.
std::string busy_answer();

class Worker final : public net::LoopService {
  public:
    // What a small worker keeps open of the files that it serves.
    static constexpr std::size_t small_descriptors = 8;

    // Fails when the root, an error page or a certificate cannot be read. The first of a server's
    // workers logs reloaded certificates.
    static Result<std::unique_ptr<Worker>> create(core::EventLoop& loop, const SharedParts& parts,
                                                  bool is_first = true);

    net::SessionFactory& sessions(std::size_t place) override;
    net::TransportLayer* layer(std::size_t place) override;
    // nullptr: nothing is encrypted.
    tls::ServerContext* encryption() { return http_->encryption(); }
    core::EventLoop& loop() { return *loop_; }
    // Counters that run whether a page shows them or not; any thread may read them.
    const http::H2Counters& http2_counters() { return http_->http2_counters(); }
    const http::files::FileCacheCounters& file_counters() const { return *file_counters_; }
    const http::coding::EncoderPool& encoders() const { return *encoders_; }
    void served_by(net::TcpServer& server) override {
        parts_->metrics->add_server(server.shared_counters());
        servers_.push_back(&server);
    }
    void drain(Instant deadline, unique_function<void()> done) override;
    // That are open; on any thread.
    std::uint64_t connections() const;

    // Makes what another generation needs on this loop, and keeps it. Then publish(), which cannot
    // fail and from which on new requests are of this generation, or drop().
    Result<> prepare(const std::shared_ptr<const Generation>& generation);
    void publish() noexcept;
    void drop() { next_.reset(); }
    // Once no request of another generation is left: what only these logged to.
    void forget_logs_but(std::span<const std::string> logs) { http_->forget_logs_but(logs); }

  private:
    Worker(core::EventLoop& loop, const SharedParts& parts, bool is_first);

    bool is_redirect(std::size_t place) const { return place >= options_->listen.size(); }

    class RedirectLog;

    // What answers for one site, as files and programs. Generations share it.
    struct Content {
        std::unique_ptr<http::handler::StaticFiles> files;  // none: the site has a fixed answer
        std::unique_ptr<Programs> programs;                 // none: only files
        std::unique_ptr<MappedFiles> mapped;  // both, where files are not found by their paths
        struct OfRoute {
            http::RouteMatch match;
            std::unique_ptr<http::handler::StaticFiles> files;
            std::unique_ptr<MappedFiles> mapped;
        };
        std::vector<OfRoute> routes = {};  // with files of their own

        http::Handler* answers() const {
            return mapped != nullptr ? static_cast<http::Handler*>(mapped.get()) : files.get();
        }
        http::Handler* of_route(const http::RouteMatch& match) const;
        void set_share(const http::files::FileCacheLimits& share);
    };
    using Contents = std::map<std::uint64_t, std::shared_ptr<Content>>;  // by ServedSite::id
    struct Redirect;
    // The prepared parts of a generation, until it is published.
    // Without default member initializers: clang does not see them inside of Worker.
    struct Next {
        Contents contents;
        http::SiteLoop::Prepared site;
        http::SiteLoop::Prepared redirects;  // of the plain addresses; none without TLS
        http::files::FileCacheLimits share;  // of each of these
        net::ConnectionLimits limits;
        int backlog;
        DescriptorShares shares;
        std::size_t send_bytes_max;
    };

    Result<std::shared_ptr<Content>> open_content(const Generation& generation,
                                                  const ServedSite& site) const;
    Result<std::unique_ptr<http::handler::StaticFiles>> open_files(
        const Generation& generation, const ServeOptions& options,
        const std::string& place_in_site = {}) const;
    Result<> open_routes(const Generation& generation, const ServedSite& site,
                         Content& content) const;
    Result<LoopSite> open_site(const Generation& generation, const ServedSite& site,
                               const std::shared_ptr<Content>& content) const;
    void open_http();
    Result<> prepare_http(const Generation& generation);
    void count_requests();

    core::EventLoop* loop_;
    const SharedParts* parts_;
    const ServeOptions* options_;
    bool is_first_;
    std::unique_ptr<http::files::FileCacheCounters> file_counters_ =
        std::make_unique<http::files::FileCacheCounters>();
    Contents contents_;
    std::shared_ptr<http::Handler> nothing_;  // answers where a site has no files
    core::Ref<http::coding::EncoderPool> encoders_;
    task::Runner runner_;
    std::optional<Next> next_;
    std::unique_ptr<http::SiteLoop> site_;
    Echo echo_;
    std::unique_ptr<serve::HttpLoop> http_;
    std::unique_ptr<http::AccessLog> redirect_log_;
    std::unique_ptr<http::SiteLoop> redirect_site_;
    std::unique_ptr<serve::HttpLoop> redirect_http_;
    std::vector<net::TcpServer*> servers_;  // of --listen, then of --https-redirect
    http::LoopMetrics* metrics_ = nullptr;  // nullptr: requests are not counted
    std::optional<http::LagProbe> lag_;
};

}  // namespace tiderace::server
