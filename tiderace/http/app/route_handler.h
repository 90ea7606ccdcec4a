// RouteHandler: a route of an App on one loop: reads the body where its handler needs all of it,
// and calls its endpoint.
//
//   exchange -> [csrf token in the body] -> [whole body] -> endpoint
//
// Owner    SiteLoop.
// Thread   The loop's.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/layer.h"

namespace tiderace::http {
class AppLoop;
}

namespace tiderace::http::app_parts {

class RouteHandler final : public Handler {
  public:
    // The place's states have the AppLoop. `endpoint` outlives this.
    RouteHandler(const Endpoint& endpoint, LayerPlace& place);

    void handle(Exchange& exchange) override;

  private:
    class BodyCollector;
    class FormReader;

    std::uint64_t body_bytes_max(const Exchange& exchange) const;
    void call(Exchange& exchange, std::string body = {});

    const Endpoint* endpoint_;
    AppLoop* loop_;
    std::string_view pattern_;
    std::shared_ptr<void> part_;
};

}  // namespace tiderace::http::app_parts
