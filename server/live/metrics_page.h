// MetricsPage: the page of a server's numbers for a monitoring system, on an address of its own
// (`[metrics] listen`), or on the admin socket. MetricsRoute: the same on a route of a site.
//
//   bind() on any thread --listen()--> clients wait --take()--> serves there, and no more where it
//                                                               did
//   GET /metrics --> ServerMetrics, Reloader, certificates, log
//   MetricsRoute on any loop --post--> the first loop --ExchangeHandle--> the answer
//
// Owner    Assembly; it ends before the Reloader and the workers. MetricsRoute: the site's trees,
//          too, which may outlive the page.
// Thread   The first loop's, which makes the page between its other work. bind(): any.
// Errors   bind(): the address is in use, or not of this machine.
// Limits   SideServer's; with `remote`, 403 for every other address.
// Keywords: Prometheus, OpenMetrics, monitoring, exporter
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/live/reloader.h"
#include "server/live/side_server.h"
#include "server/options.h"
#include "server/worker.h"
#include "tiderace/base/result.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/request_metrics.h"
#include "tiderace/log/writer.h"
#include "tiderace/metrics/page.h"

namespace tiderace::server {

class MetricsPage final : private http::Handler {
  public:
    struct Parts {
        std::vector<Worker*> workers;
        Reloader* reloader;
        const http::ServerMetrics* metrics;
        log::Writer* log;
        std::string engine;
    };
    struct Bound {
        MetricsOptions options = {};
        core::Descriptor socket = {};  // none: of the address that it listens on already, or none
    };

    // `now` is what it listens on.
    static Result<std::shared_ptr<Bound>> bind(const MetricsOptions& wanted,
                                               const MetricsOptions& now = {});
    explicit MetricsPage(Parts parts);
    static Result<> listen(const Bound& bound);
    void take(Bound& bound);

    bool is_on() const { return options_.on; }
    // Where it listens: with the port that the kernel chose.
    const std::string& address() const { return address_; }
    void show(http::Exchange& exchange) const;
    std::string text(metrics::PageFormat format) const;
    const http::ServerMetrics& metrics() const { return *parts_.metrics; }

  private:
    void handle(http::Exchange& exchange) override;
    void add_reloads(metrics::Page& page) const;
    void add_encryption(metrics::Page& page) const;
    void add_log(metrics::Page& page) const;
    void add_loops(metrics::Page& page) const;

    Parts parts_;
    MetricsOptions options_;
    std::string address_;
    SideServer server_;
};

class MetricsRoute final : public http::Handler {
  public:
    static constexpr Duration answer_wait = 30s;  // for the first loop; then 503

    void handle(http::Exchange& exchange) override;
    // While no loop runs. nullptr: there is none any more.
    void show(const MetricsPage* page, core::EventLoop* first_loop) {
        page_ = page;
        first_loop_ = first_loop;
    }

  private:
    const MetricsPage* page_ = nullptr;
    core::EventLoop* first_loop_ = nullptr;
};

}  // namespace tiderace::server
