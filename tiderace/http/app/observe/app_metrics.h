// Internal. AppMetrics: what App::metrics() counts and shows: the program's own metrics, the
// requests of the App's site, and the process.
//
// Owner    The App, and its loops.
// Thread   Any.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "tiderace/http/request_metrics.h"
#include "tiderace/metrics/metrics.h"

namespace tiderace::http::app_parts {

class AppMetrics final {
  public:
    AppMetrics();

    metrics::Registry& registry() { return registry_; }
    LoopMetrics& add_loop() { return site_.add_loop(); }
    std::string page(metrics::PageFormat format) const { return registry_.page(format); }

  private:
    void add_to(metrics::Page& page) const;

    metrics::Registry registry_;
    SiteMetrics site_;
};

}  // namespace tiderace::http::app_parts
