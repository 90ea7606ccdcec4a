#include "tiderace/http/app/middleware.h"

namespace tiderace::http {

Middleware Middleware::body_limit(std::uint64_t bytes_max) {
    Middleware made;
    made.body_bytes_max_ = bytes_max;
    return made;
}

Middleware Middleware::unknown_members(json::Unknown unknown) {
    Middleware made;
    made.unknown_members_ = unknown;
    return made;
}

Middleware Middleware::time_limit(Duration timeout) {
    Middleware made;
    made.handler_timeout_ = timeout;
    return made;
}

Middleware Middleware::access_log(AccessLogTarget target) {
    Middleware made;
    made.access_log_ = std::make_shared<const AccessLogTarget>(std::move(target));
    return made;
}

}  // namespace tiderace::http
