#include "examples/tidepool/limits.h"

#include <tiderace/http/stores/redis_rates.h>

#include <algorithm>
#include <array>
#include <memory>

#include "examples/tidepool/site.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;

namespace {

constexpr std::int64_t minute_ms = 60'000;

constexpr std::string_view redis_prefix = "tidepool:rate:";

// One number for each key (GCRA): the moment at which the next request is due. A request moves it
// by an interval, and is refused when it is more than the tolerance ahead of the clock.
class DatabaseRates final : public RateStore {
  public:
    DatabaseRates(core::EventLoop& loop, db::Database db) : loop_(&loop), db_(std::move(db)) {}

    Task<std::optional<Duration>> take(std::string key, filter::RateLimitOptions rate) override {
        const std::int64_t interval = minute_ms / std::max<std::int64_t>(rate.per_minute, 1);
        const std::int64_t tolerance = interval * (std::max<std::int64_t>(rate.burst, 1) - 1);
        try {
            if (co_await moves(std::move(key), interval, tolerance)) co_return std::nullopt;
        } catch (const db::Error&) {
            // A limit that cannot be read must not shut everybody out. The limit of this node still
            // holds.
            co_return std::nullopt;
        }
        co_return std::chrono::milliseconds(interval);
    }

  private:
    // One statement decides, so that two nodes cannot both take the last place.
    Task<bool> moves(std::string key, std::int64_t interval, std::int64_t tolerance) {
        // The loop's seconds are fine enough for limits of a minute.
        const std::int64_t now = loop_->unix_now() * 1'000;
        constexpr std::string_view move =
            "update rates set next = case when next > ? then next else ? end + ?"
            " where id = ? and next <= ?";
        const std::int64_t latest = now + tolerance;
        db::Done moved = co_await db_.exec(move, now, now, interval, key, latest);
        if (moved.rows > 0) co_return true;
        // Not once(), because MariaDB counts a row that it leaves alone.
        const bool is_mariadb = db_.dialect() == db::Dialect::mariadb;
        const std::string_view insert =
            is_mariadb ? "insert ignore into rates (id, next) values (?, ?)"
                       : "insert into rates (id, next) values (?, ?) on conflict do nothing";
        const db::Done first = co_await db_.exec(insert, key, now + interval);
        if (first.rows > 0) co_return true;
        // Refused; or another request of the same key was the first since the update above.
        moved = co_await db_.exec(move, now, now, interval, key, latest);
        co_return moved.rows > 0;
    }

    core::EventLoop* loop_;
    db::Database db_;
};

}  // namespace

SharedLimits::SharedLimits(core::EventLoop& loop, db::Database db,
                           std::optional<redis::Client> redis)
    : loop_(&loop), db_(std::move(db)), redis_(std::move(redis)) {
    if (redis_) {
        rates_ = std::make_shared<RedisRates>(*redis_, std::string(redis_prefix));
    } else {
        rates_ = std::make_shared<DatabaseRates>(loop, db_);
    }
}

std::int64_t SharedLimits::milliseconds_now() const {
    return loop_->unix_now() * 1'000;
}

namespace {

// The key has a fixed length, and is no list of addresses.
std::string place_key(const std::string& account, const std::string& place) {
    return account + ":" + hash_of(account + " " + place).substr(0, 32);
}

}  // namespace

Task<bool> SharedLimits::allows_guess(std::string account, std::string place) {
    std::string key = place_key(account, place);
    const bool known = co_await is_remembered("known:" + key);
    if (!known) key = std::move(account);
    const Wait wait = co_await take("account:" + key, account_rate);
    co_return !wait;
}

// In the table of rates, as one that is exceeded until then: sweep() removes it.
Task<> SharedLimits::remember(std::string account, std::string place) {
    const std::string key = "known:" + place_key(account, place);
    const std::chrono::milliseconds kept = place_kept;
    try {
        if (redis_) {
            const std::string name = std::string(redis_prefix) + key;
            const redis::SetOptions options{.expires = kept};
            co_await redis_->set(name, "1", options);
        } else {
            const std::string_view otherwise =
                db_.dialect() == db::Dialect::mariadb
                    ? "on duplicate key update next = values(next)"
                    : "on conflict (id) do update set next = excluded.next";
            const std::string sql =
                "insert into rates (id, next) values (?, ?) " + std::string(otherwise);
            co_await db_.exec(sql, key, milliseconds_now() + kept.count());
        }
    } catch (const db::Error&) {
        // The next log-in there tries again.
    }
}

Task<bool> SharedLimits::is_remembered(std::string key) {
    try {
        if (redis_) {
            const std::string name = std::string(redis_prefix) + key;
            co_return (co_await redis_->get(name)).has_value();
        }
        const auto until =
            co_await db_.one<std::int64_t>("select next from rates where id = ?", key);
        co_return until.value_or(0) > milliseconds_now();
    } catch (const db::Error&) {
        co_return false;
    }
}

Task<> SharedLimits::sweep() {
    if (redis_) co_return;
    // A moment that is past is the same as no row.
    co_await db_.exec("delete from rates where next < ?", milliseconds_now() - minute_ms);
}

std::string place_of(const Request& request) {
    std::array<char, core::Address::ip_text_bytes_max> memory{};
    const std::size_t size = request.peer->subscriber().format_ip(memory.data());
    return {memory.data(), size};
}

Middleware shared_rate_limit(std::string name, SharedLimits::Rate rate) {
    return [name = std::move(name), rate](const Request& request,
                                          Site& site) -> Task<std::optional<Response>> {
        if (!site.limits.shared()) co_return std::nullopt;
        std::string key = name + ":" + place_of(request);
        const auto wait = co_await site.limits.take(std::move(key), rate);
        co_return wait ? std::optional(too_many_requests(*wait)) : std::nullopt;
    };
}

}  // namespace tidepool
