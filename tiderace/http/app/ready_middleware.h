// Middleware that comes ready made:
//
//   app.use(request_ids()).use(security_headers()).use(cross_origin());
//   app.group("/api").use(cors({.origins = {"https://example.org"}})).use(rate_limit({}));
//   app.group("/admin").use(basic_auth({.verify = check_password}));
//   app.post<"/upload">(upload, body_limit(100_MiB), time_limit(5min));
//
// Each has its description in its header in http/filter; rate_limit() in
// http/app/limits/rate_limit.h. Any AccessRule or ResponseFilter can be
// used: rule_for_each_loop below shows how.
//
// Thread   As Middleware: one copy, whose parts are made for each loop.
// Keywords: CORS, HSTS, security headers, CSP, ETag, rate limit
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/app/limits/rate_limit.h"
#include "tiderace/http/app/middleware.h"
#include "tiderace/http/filter/basic_auth.h"
#include "tiderace/http/filter/bearer_auth.h"
#include "tiderace/http/filter/cors.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::http {

struct SecurityHeaders {
    // "": the field is not sent. A handler's own field counts.
    std::string content_security_policy = "default-src 'self'; frame-ancestors 'none'";
    std::string frame_options = "DENY";
    std::string referrer_policy = "strict-origin-when-cross-origin";
    std::string content_type_options = "nosniff";
    // Sent over TLS alone. Browsers then refuse plain HTTP for that long.
    std::string strict_transport_security = "max-age=31536000";
};

struct CompressionOptions {
    // A shorter body is not worth it.
    std::uint64_t bytes_min = wire::coded_bytes_min;
    // Also answers that set a cookie. Where an answer holds a secret and a text of a client's
    // choice, its compressed length reveals the secret (BREACH).
    bool with_cookies = false;
};

// A part of each loop: make(place) returns a shared_ptr to a rule, a filter, or what is both; or a
// Layer.
template <typename F>
Middleware rule_for_each_loop(F make) {
    return Middleware(Middleware::Make(
        [make = std::move(make)](LayerPlace& place) { return Layer(make(place)); }));
}

// What documents say of a route, or of all routes of a group (openapi/openapi.h):
//   app.get<"/boats">(list, describe({.summary = "All boats", .tags = {"boats"}}));
Middleware describe(RouteNotes notes);
Middleware body_limit(std::uint64_t bytes_max);  // of a request's body; above: 413
// Members that a handler's Json<T> does not have: AppOptions::unknown_members
Middleware unknown_members(json::Unknown unknown);
Middleware time_limit(Duration timeout);  // of a handler that waits; above: 503
// Where requests are logged that App::serve serves: the innermost counts, before the one of
// ServeOptions. Requests without a route have the App's.
Middleware access_log(std::string path, AccessLogFormat format = AccessLogFormat::combined);
// X-Request-Id on each answer: Request::id(). `trust_client`: also an id that a client chose.
Middleware request_ids(bool trust_client = false);
Middleware security_headers(SecurityHeaders headers = {});
// Answers preflights before any other middleware looks at them, wherever it stands; the innermost
// counts. filter/cors.h
Middleware cors(filter::CorsOptions options);
// filter/basic_auth.h; verifies on the pool's threads.
Middleware basic_auth(filter::BasicAuthOptions options);
// filter/bearer_auth.h
Middleware bearer_auth(filter::BearerAuthOptions options);
// Answers for these names alone: filter/allowed_hosts.h
Middleware allowed_hosts(std::vector<std::string> names);
// Against requests that other sites' pages make: filter/cross_origin.h
Middleware cross_origin(std::vector<std::string> trusted = {});
// ETag and 304 for made answers: filter/made_tag.h
Middleware entity_tags();
// zstd, Brotli or gzip, as the client likes best: filter/compress.h. It comes after all others,
// wherever it stands, and sees what they add. An event stream is flushed after each event.
Middleware compress(CompressionOptions options = {});

}  // namespace tiderace::http
