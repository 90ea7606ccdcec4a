#include "tiderace/http/app/observe/app_metrics.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tiderace/http/app/app.h"
#include "tiderace/http/response.h"
#include "tiderace/http/site.h"
#include "tiderace/metrics/process.h"
#include "tiderace/net/close_reason.h"
#include "tiderace/version.h"

namespace tiderace::http {
namespace app_parts {

AppMetrics::AppMetrics() {
    registry_.add_source([this](metrics::Page& page) { add_to(page); });
}

void AppMetrics::add_to(metrics::Page& page) const {
    page.begin(metrics::Type::gauge, "tiderace_build_info", "The library that serves; always 1.");
    page.value({{"version", TIDERACE_VERSION_TEXT}}, std::uint64_t{1});
    add_connections(page);
    site_.add_to(page);
    metrics::add_process(page);
}

void AppMetrics::add_server(std::shared_ptr<const net::TcpServerCounters> counters) {
    const std::lock_guard held(lock_);
    servers_.push_back(std::move(counters));
}

void AppMetrics::add_connections(metrics::Page& page) const {
    using metrics::Type;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
    std::uint64_t ended = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(net::CloseReason::count_)> closed{};
    {
        const std::lock_guard held(lock_);
        for (const auto& server : servers_) {
            // Before those that were opened: otherwise more could have ended than were opened.
            for (std::size_t i = 0; i < closed.size(); ++i) {
                const std::uint64_t one = server->closed[i].load(std::memory_order_acquire);
                closed[i] += one;
                ended += one;
            }
            opened += server->opened.load(std::memory_order_relaxed);
            refused += server->refused.load(std::memory_order_relaxed);
        }
    }
    page.begin(Type::counter, "tiderace_connections_accepted_total", "Connections that began.");
    page.value({}, opened);
    page.begin(Type::gauge, "tiderace_connections_open", "Connections that are open.");
    page.value({}, opened - std::min(ended, opened));
    page.begin(Type::counter, "tiderace_connections_closed_total",
               "Connections that ended, by why.");
    for (std::size_t i = 0; i < closed.size(); ++i) {
        const std::string reason(net::to_string(static_cast<net::CloseReason>(i)));
        page.value({{"reason", reason}}, closed[i]);
    }
    page.begin(Type::counter, "tiderace_connections_refused_total",
               "Connections above a limit, which were closed at once.");
    page.value({{"reason", "limit"}}, refused);
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
