#include "tiderace/http/app/limits/rate_limit.h"

#include "tiderace/http/app/ready_middleware.h"

namespace tiderace::http {

std::string by_client(const Request& request) {
    const core::Address address = request.peer->subscriber();
    return std::string(filter::limited_client(address));
}

Response too_many_requests(Duration wait) {
    return filter::too_many_requests(wait);
}

namespace app_parts {

std::optional<Response> take(filter::RateTable& table, const RateKey& key, Instant now) {
    if (!key) return std::nullopt;
    const auto wait = table.take(*key, now);
    return wait ? std::optional(too_many_requests(*wait)) : std::nullopt;
}

task::Task<std::optional<Response>> take(std::shared_ptr<RateStore> store, RateKey key,
                                         filter::RateLimitOptions rate) {
    if (!key) co_return std::nullopt;
    const auto wait = co_await store->take(*std::move(key), rate);
    if (!wait) co_return std::nullopt;
    co_return too_many_requests(*wait);
}

}  // namespace app_parts

Middleware rate_limit(filter::RateLimitOptions options) {
    // One for all loops, or each would allow the whole limit.
    auto table = std::make_shared<filter::RateTable>(options);
    return rule_for_each_loop([table = std::move(table)](LayerPlace&) {
               return std::make_shared<filter::RateLimit>(table);
           })
        .noted({.refusals = {429}});
}

}  // namespace tiderace::http
