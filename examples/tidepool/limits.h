// Limits: rate limits that all nodes share, behind the limits that each node has by itself.
//
//   app.post<"/log-in">(check_log_in, rate_limit(trying), shared_rate_limit("log-in", trying));
//
// The library's RedisRates counts, or DatabaseRates where there is no Redis, by the same rule.
//
// Thread   Any loop's.
// Errors   429 with Retry-After. A Redis or database that does not answer limits nothing: each
//          node's own limit still does.
#pragma once

#include <tiderace/app.h>
#include <tiderace/db.h>
#include <tiderace/redis.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tidepool {

class SharedLimits {
  public:
    using Rate = tiderace::http::filter::RateLimitOptions;
    // How long until a request may come; nullopt: now.
    using Wait = std::optional<tiderace::Duration>;

    SharedLimits(tiderace::core::EventLoop& loop, tiderace::db::Database db,
                 std::optional<tiderace::redis::Client> redis);

    tiderace::Task<Wait> take(std::string key, Rate rate) {
        return rates_->take(std::move(key), rate);
    }
    // A guess of an account's password. All places without a log-in to it share one limit, whatever
    // addresses the guesses come from; each other place has a limit of its own, so that
    // no stranger keeps a member from logging in at home. `place`: an address.
    tiderace::Task<bool> allows_guess(std::string account, std::string place);
    // Records a log-in to the account at that place, for place_kept.
    tiderace::Task<> remember(std::string account, std::string place);
    // False: one program has this database, and its own limits suffice for each address.
    bool shared() const { return redis_ || db_.dialect() != tiderace::db::Dialect::sqlite; }
    // Forgets clients that are gone for a while.
    tiderace::Task<> sweep();

  private:
    tiderace::Task<bool> is_remembered(std::string key);

    std::int64_t milliseconds_now() const;

    tiderace::core::EventLoop* loop_;
    tiderace::db::Database db_;
    std::optional<tiderace::redis::Client> redis_;
    std::shared_ptr<tiderace::http::RateStore> rates_;
};

// A member's texts, with a picture or without: all of them are counted as "write".
inline constexpr SharedLimits::Rate write_rate{.per_minute = 30, .burst = 20};

// A member's changes by one press: likes, follows, settings, log-outs. Each form by itself on a
// node, all of them together on all nodes.
inline constexpr SharedLimits::Rate press_rate{.per_minute = 60, .burst = 30};

// Guesses of one account's password from all strange addresses together: a thousand computers guess
// no faster than one. The price is that they can also keep its member from logging in at a place
// that is new; log-ins that exist go on.
inline constexpr SharedLimits::Rate account_rate{.per_minute = 4, .burst = 15};

inline constexpr std::chrono::days place_kept{90};  // after the last log-in there

// The client's address that limits count.
std::string place_of(const tiderace::http::Request& request);

// Nothing where limits are not shared.
tiderace::http::Middleware shared_rate_limit(std::string name, SharedLimits::Rate rate);

}  // namespace tidepool
