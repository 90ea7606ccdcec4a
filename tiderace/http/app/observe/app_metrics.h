// Internal. AppMetrics: what App::metrics() counts and shows: the program's own metrics, the
// requests of the App's site, and the process.
//
// Owner    The App, and its loops.
// Thread   Any.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tiderace/http/request_metrics.h"
#include "tiderace/metrics/metrics.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::http::app_parts {

class AppMetrics final {
  public:
    AppMetrics();

    metrics::Registry& registry() { return registry_; }
    LoopMetrics& add_loop() { return site_.add_loop(); }
    // On any thread.
    void add_server(std::shared_ptr<const net::TcpServerCounters> counters);
    std::string page(metrics::PageFormat format) const { return registry_.page(format); }

  private:
    void add_to(metrics::Page& page) const;
    void add_connections(metrics::Page& page) const;

    metrics::Registry registry_;
    SiteMetrics site_;
    mutable std::mutex lock_;  // of servers_
    std::vector<std::shared_ptr<const net::TcpServerCounters>> servers_;
};

}  // namespace tiderace::http::app_parts
