// rate_limit(): at most so many requests of one key in a minute. The key is the client's address,
// or what a function makes of a request: its user, an API key, a part of its path.
//
//   app.use(rate_limit({.per_minute = 600}));                                  // of each address
//   app.post<"/notes">(add, rate_limit({.per_minute = 30},
//                                      [](const User& user) { return user.id; }));
//   app.use(rate_limit({.per_minute = 60}, [](const Request& request) {
//       return std::string(request.header("X-Api-Key"));
//   }));
//   app.get<"/shops/{id}">(shop, rate_limit({.per_minute = 90}, by_parameter()));
//   app.post<"/login">(login, rate_limit({.per_minute = 5}, by_client,
//                                        std::make_shared<RedisRates>(redis, "login:")));
//
// The function takes what middleware takes, and returns text, an integer, or an optional one of
// them; nothing: the request is not counted. A rate_limit() is one limit for all loops and for all
// routes that it stands before; each has its own keys. Without a store it is kept in this process,
// by the algorithm and with the bounds of filter/rate_limit.h: when there are more keys than
// places, the one that used the least of its limit is forgotten, and no new one is refused.
//
// Owner    The App, as any middleware; a RateStore is a shared_ptr of it.
// Thread   Any loop's, at once. A store's tasks run on the loop that awaits them.
// Errors   429 with Retry-After in seconds. What a store throws is answered as a handler's.
// Keywords: rate limit, 429, Retry-After, quota, throttling, API key
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/core/event_loop.h"
#include "tiderace/http/app/middleware.h"
#include "tiderace/http/filter/rate_limit.h"
#include "tiderace/task/task.h"

namespace tiderace::http {

// Where requests are counted, when several programs share a limit: RedisRates, or a class of yours.
class RateStore {
  public:
    virtual ~RateStore() = default;
    // Counts a request, in one step with the look. nullopt: it may pass; else how long until one
    // may.
    virtual task::Task<std::optional<Duration>> take(std::string key,
                                                     filter::RateLimitOptions rate) = 0;
};

// Keys: the client's address, of IPv6 its /64; a parameter of the route's pattern, the first is 0
// (requests whose pattern has none are not counted).
std::string by_client(const Request& request);
inline auto by_parameter(std::size_t index = 0) {
    return [index](Exchange& exchange) -> std::optional<std::string> {
        if (index >= exchange.parameters().count) return std::nullopt;
        return std::string(exchange.parameters().of(exchange.request().path, index));
    };
}

// The answer to a request above a limit: 429.
Response too_many_requests(Duration wait);

namespace app_parts {

using RateKey = std::optional<std::string>;

inline RateKey rate_key(std::string key) {
    return key;
}
template <std::integral T>
RateKey rate_key(T key) {
    return std::to_string(key);
}
template <typename T>
RateKey rate_key(std::optional<T> key) {
    return key ? rate_key(*std::move(key)) : RateKey();
}

std::optional<Response> take(filter::RateTable& table, const RateKey& key, Instant now);
task::Task<std::optional<Response>> take(std::shared_ptr<RateStore> store, RateKey key,
                                         filter::RateLimitOptions rate);

// A middleware with the parameters of the key's function.
template <typename F>
struct RateRule {
    template <typename... A>
    struct Here {
        std::optional<Response> operator()(core::EventLoop& loop, A... arguments) const {
            return take(*table, rate_key(key(std::forward<A>(arguments)...)), loop.now());
        }
        F key;
        std::shared_ptr<filter::RateTable> table;
    };
    template <typename... A>
    struct Elsewhere {
        task::Task<std::optional<Response>> operator()(A... arguments) const {
            return take(store, rate_key(key(std::forward<A>(arguments)...)), rate);
        }
        F key;
        std::shared_ptr<RateStore> store;
        filter::RateLimitOptions rate;
    };
};

}  // namespace app_parts

Middleware rate_limit(filter::RateLimitOptions options = {});
// `store`: nullptr is this process.
template <app_parts::HasSignature F>
Middleware rate_limit(filter::RateLimitOptions options, F key,
                      std::shared_ptr<RateStore> store = nullptr) {
    using Signature = app_parts::SignatureOf<F>;
    using Rule = app_parts::RateRule<F>;
    using Elsewhere = typename Signature::template Arguments<Rule::template Elsewhere>;
    using Here = typename Signature::template Arguments<Rule::template Here>;
    Middleware made =
        store != nullptr
            ? Middleware(Elsewhere{std::move(key), std::move(store), options})
            : Middleware(Here{std::move(key), std::make_shared<filter::RateTable>(options)});
    return std::move(made).noted({.refusals = {429}});
}

}  // namespace tiderace::http
