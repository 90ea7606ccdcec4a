#include "tiderace/http/app/observe/app_metrics.h"

#include <utility>
#include <vector>

#include "tiderace/http/app/app.h"
#include "tiderace/http/response.h"
#include "tiderace/http/site.h"

namespace tiderace::http {
namespace app_parts {

AppMetrics::AppMetrics() {
    registry_.add_source([this](metrics::Page& page) { add_to(page); });
}

}  // namespace app_parts

metrics::Registry& App::metrics(route::PlacedPattern path, std::vector<Middleware> middleware) {
    if (metrics_ == nullptr) metrics_ = std::make_shared<app_parts::AppMetrics>();
    const std::uint32_t scope = add_scope(0, "");
    for (Middleware& one : middleware) site_->scope(scope).settings.push_back(std::move(one));
    Group<0>({this, scope})
        .route(wire::Method::get, std::move(path), [shown = metrics_](const Request& request) {
            const auto format = metrics::page_format(request.header(wire::FieldName::accept));
            return Response()
                .header("Cache-Control", "no-store")
                .body(std::string(metrics::media_type(format)), shown->page(format));
        });
    return metrics_->registry();
}

}  // namespace tiderace::http
