// Worker: all that one loop needs to serve the site. Workers share nothing but the log's writer and
// the pool for slow work.
//
//   HttpLoop -> SiteLoop of the site (server/site/site.h)
//   HttpLoop -> SiteLoop: HttpsRedirect -> log                    where there is --https-redirect
//
// Its places are the addresses of --listen, and then those of --https-redirect, in clear text.
//
// Owner    net::Serving; made before the loops run, destroyed after.
// Thread   Its loop's.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "server/echo.h"
#include "server/options.h"
#include "server/programs.h"
#include "server/site/site.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/coding/encoder_pool.h"
#include "tiderace/http/filter/error_pages.h"
#include "tiderace/http/handler/https_redirect.h"
#include "tiderace/http/handler/static_files.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/net/serving.h"
#include "tiderace/serve/http_loop.h"
#include "tiderace/serve/log_files.h"
#include "tiderace/task/runner.h"

namespace tiderace::server {

// What the workers of one server have in common.
struct SharedParts {
    const ServeOptions* options = nullptr;
    std::span<const ServedSite> sites;
    std::size_t folders = 1;                          // of the sites
    std::shared_ptr<const http::Site> tree;           // of the sites
    std::shared_ptr<const http::Site> redirect_tree;  // of the plain addresses; nullptr: none
    const serve::LogFiles* logs = nullptr;
    bool small = false;                         // many workers of one connection each
    std::shared_ptr<tls::TicketShare> tickets;  // with TLS
    core::WorkerPool* compress_pool = nullptr;  // nullptr: no file is compressed
    http::files::VariantStore* variants = nullptr;
    std::shared_ptr<core::SharedNotices> notices;      // of changed files
    std::shared_ptr<http::cgi::ProgramPlaces> places;  // with programs
    core::WorkerPool* disk_pool = nullptr;             // waits for the disk in the loops' place
    std::size_t files_open_max = 1024;   // of one worker: descriptors that its files may hold
    std::uint16_t encrypted_port = 443;  // where --https-redirect leads
    std::size_t loops = 1;
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

  private:
    Worker(core::EventLoop& loop, const ServeOptions& options)
        : loop_(&loop), options_(&options), runner_(loop) {}

    bool is_redirect(std::size_t place) const { return place >= options_->listen.size(); }

    class RedirectLog;

    // What answers for one site, as files and programs.
    struct Content {
        std::unique_ptr<http::handler::StaticFiles> files;  // none: the site has a fixed answer
        std::unique_ptr<Programs> programs;                 // none: only files
        http::filter::ErrorPages pages;
        std::unique_ptr<http::handler::OnlyBeneath> challenges;
        std::unique_ptr<http::handler::HttpsRedirect> redirect;
    };

    Result<> open_content(const SharedParts& parts, const ServedSite& site, bool is_first);
    Result<> open_files(const SharedParts& parts, const ServedSite& site, Content& content,
                        bool is_first);
    Result<> open_sites(const SharedParts& parts);
    Result<> open_redirect(const SharedParts& parts);

    core::EventLoop* loop_;
    const ServeOptions* options_;
    std::vector<std::unique_ptr<Content>> contents_;
    std::unique_ptr<http::Handler> nothing_;  // answers where a site has no files
    LoopSites loop_sites_;
    core::Ref<http::coding::EncoderPool> encoders_;
    http::States states_;
    task::Runner runner_;
    std::unique_ptr<http::SiteLoop> site_;
    Echo echo_;
    std::unique_ptr<serve::HttpLoop> http_;
    std::unique_ptr<http::AccessLog> redirect_log_;
    std::unique_ptr<http::SiteLoop> redirect_site_;
    std::unique_ptr<serve::HttpLoop> redirect_http_;
};

}  // namespace tiderace::server
