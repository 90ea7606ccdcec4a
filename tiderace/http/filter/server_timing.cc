#include "tiderace/http/filter/server_timing.h"

#include <chrono>
#include <cstdio>

#include "tiderace/core/clock.h"

namespace tiderace::http::filter {

void ServerTiming::filter(Exchange& exchange, Response& response) {
    if (!net::any_contains(of_, *exchange.request().peer)) return;
    // The real clock: most requests begin and end within one turn, whose time stands still.
    const std::chrono::duration<double, std::milli> taken =
        exchange.loop().clock().now() - exchange.started();
    char text[48];
    const int bytes = std::snprintf(text, sizeof text, "total;dur=%.3f", taken.count());
    response.add("Server-Timing", response.keep({text, static_cast<std::size_t>(bytes)}));
}

}  // namespace tiderace::http::filter
