#include "tiderace/http/filter/cors.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tiderace/http/site_loop.h"

namespace tiderace::http::filter {

using wire::FieldName;

Cors::Cors(CorsOptions options)
    : options_(std::move(options)),
      any_origin_(std::ranges::find(options_.origins, "*") != options_.origins.end()),
      max_age_(std::to_string(
          std::chrono::duration_cast<std::chrono::seconds>(options_.max_age).count())) {}

bool Cors::allows(ByteView origin) const {
    return any_origin_ || std::ranges::find(options_.origins, origin) != options_.origins.end();
}

AccessRule::Verdict Cors::check(Exchange& exchange) {
    const Request& request = exchange.request();
    if (request.method() != wire::Method::options || !request.has(FieldName::origin) ||
        !request.has(FieldName::access_control_request_method)) {
        return Verdict::pass;
    }
    Response response(204);
    if (allows(request.header(FieldName::origin))) {
        const std::string own = options_.methods.empty() ? SiteLoop::methods_for(exchange) : "";
        const ByteView methods = own.empty() ? ByteView(options_.methods) : response.keep(own);
        if (!methods.empty()) response.add(FieldName::access_control_allow_methods, methods);
        const ByteView asked = request.header(FieldName::access_control_request_headers);
        // Named one by one, because "*" does not cover Authorization, nor requests with credentials
        // (Fetch standard).
        const ByteView allowed = options_.headers == "*" ? asked : ByteView(options_.headers);
        if (!allowed.empty()) {
            response.add(FieldName::access_control_allow_headers, response.keep(allowed));
        }
        response.add(FieldName::access_control_max_age, max_age_);
    }
    response.add(FieldName::vary, "Access-Control-Request-Method, Access-Control-Request-Headers");
    exchange.respond(response);
    return Verdict::answered;
}

void Cors::filter(Exchange& exchange, Response& response) {
    const Request& request = exchange.request();
    // With credentials browsers accept no "*" (Fetch standard).
    const bool names_origin = !any_origin_ || options_.credentials;
    // Vary also for requests without Origin: the answer differs by it, and caches must know that.
    if (names_origin) response.add(FieldName::vary, "Origin");
    const ByteView origin = request.header(FieldName::origin);
    if (origin.empty() || !allows(origin)) return;
    response.set(FieldName::access_control_allow_origin,
                 names_origin ? response.keep(origin) : ByteView("*"));
    if (options_.credentials) response.set("Access-Control-Allow-Credentials", "true");
    if (!options_.exposed.empty()) {
        response.set("Access-Control-Expose-Headers", options_.exposed);
    }
}

}  // namespace tiderace::http::filter
