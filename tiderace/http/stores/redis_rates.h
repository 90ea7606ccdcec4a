// RedisRates: rate limits that several programs share, in Redis or Valkey.
//
//   const auto redis = redis::open("redis://localhost");
//   app.post<"/login">(login, rate_limit({.per_minute = 5}, by_client,
//                                        std::make_shared<RedisRates>(redis, "login:")));
//
//   PREFIX and the key's hash  ->  when the next request is due, in microseconds of Redis's clock
//
// A request is one round trip: a script looks and counts in one step, by the algorithm of
// http/filter/rate_limit.h. Redis forgets a key when its limit is whole again. The hash has a fixed
// length, and is no list of addresses or of API keys.
//
// Link tiderace::http_stores_redis.
//
// Owner    A shared_ptr of what limits; one for all loops.
// Thread   Any loop's, several at once.
// Errors   A Redis that does not answer limits nothing, with a line in the log, at most one a
//          minute: a rate_limit() without a store before it still does. WhenAway::refuse throws the
//          db::Error, which is answered 503.
// Limits   Redis's memory: one short key for each client of the last minutes.
// Keywords: rate limit, Redis, Valkey, GCRA
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/db/redis/client.h"
#include "tiderace/http/app/limits/rate_limit.h"

namespace tiderace::http {

class RedisRates final : public RateStore {
  public:
    enum class WhenAway : std::uint8_t { pass, refuse };

    explicit RedisRates(db::redis::Client redis,
                        std::string prefix = "rate:", WhenAway when_away = WhenAway::pass)
        : redis_(std::move(redis)), prefix_(std::move(prefix)), when_away_(when_away) {}

    task::Task<std::optional<Duration>> take(std::string key,
                                             filter::RateLimitOptions rate) override;

  private:
    void log_failure(const db::Error& error);

    const db::redis::Client redis_;
    const std::string prefix_;
    const WhenAway when_away_;
    std::atomic<UnixSeconds> next_line_ = 0;  // of the log
};

}  // namespace tiderace::http
