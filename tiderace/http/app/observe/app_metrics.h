// Internal. AppMetrics: what App::metrics() counts and shows: the program's own metrics, the
// requests of the App's site, and the process.
//
// Owner    The App, and its loops.
// Thread   Any.
#pragma once

#include <string>

#include "tiderace/http/request_metrics.h"
#include "tiderace/metrics/metrics.h"

namespace tiderace::http::app_parts {

class AppMetrics final : public ServerMetrics {
  public:
    AppMetrics();

    metrics::Registry& registry() { return registry_; }
    std::string page(metrics::PageFormat format) const { return registry_.page(format); }

  private:
    metrics::Registry registry_;
};

}  // namespace tiderace::http::app_parts
