#include "examples/tidepool/limits.h"

#include <algorithm>
#include <array>
#include <memory>

#include "examples/tidepool/site.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;

namespace {

constexpr std::int64_t minute_ms = 60'000;

// One number for each key (GCRA): the moment at which the next request is due. A request moves it
// by an interval, and is refused when it is more than the tolerance ahead of the clock.
std::int64_t interval_of(SharedLimits::Rate rate) {
    return minute_ms / std::max<std::int64_t>(rate.per_minute, 1);
}
std::int64_t tolerance_of(SharedLimits::Rate rate) {
    return interval_of(rate) * (std::max<std::int64_t>(rate.burst, 1) - 1);
}

// By the server's clock, because the clocks of nodes differ.
const redis::Script take(
    "local t = redis.call('TIME')\n"
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
    "local next = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)\n"
    "if next - now > tonumber(ARGV[2]) then return 0 end\n"
    "next = next + tonumber(ARGV[1])\n"
    "redis.call('SET', KEYS[1], string.format('%.0f', next), 'PX', next - now + 1)\n"
    "return 1");

}  // namespace

// The loop's seconds are fine enough for limits of a minute.
std::int64_t SharedLimits::milliseconds_now() const {
    return loop_->unix_now() * 1'000;
}

Task<bool> SharedLimits::allows(std::string key, Rate rate) {
    try {
        if (redis_) co_return co_await redis_allows(std::move(key), rate);
        co_return co_await database_allows(std::move(key), rate);
    } catch (const db::Error&) {
        // A limit that cannot be read must not shut everybody out. The limit of this node still
        // holds.
        co_return true;
    }
}

Task<bool> SharedLimits::redis_allows(std::string key, Rate rate) {
    const redis::Keys keys("tidepool:rate:" + key);
    const std::int64_t interval = interval_of(rate);
    const std::int64_t tolerance = tolerance_of(rate);
    const auto passed = co_await take.run<std::int64_t>(*redis_, keys, interval, tolerance);
    co_return passed == 1;
}

// One statement decides, so that two nodes cannot both take the last place.
Task<bool> SharedLimits::database_allows(std::string key, Rate rate) {
    const std::int64_t now = milliseconds_now();
    const std::int64_t interval = interval_of(rate);
    constexpr std::string_view move =
        "update rates set next = case when next > ? then next else ? end + ?"
        " where id = ? and next <= ?";
    const std::int64_t latest = now + tolerance_of(rate);
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
    co_return co_await allows("account:" + key, account_rate);
}

// In the table of rates, as one that is exceeded until then: sweep() removes it.
Task<> SharedLimits::remember(std::string account, std::string place) {
    const std::string key = "known:" + place_key(account, place);
    const std::chrono::milliseconds kept = place_kept;
    try {
        if (redis_) {
            const std::string name = "tidepool:rate:" + key;
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
            const std::string name = "tidepool:rate:" + key;
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
        if (co_await site.limits.allows(std::move(key), rate)) co_return std::nullopt;
        const std::string seconds = std::to_string(interval_of(rate) / 1'000 + 1);
        Response response(429);
        response.header("Retry-After", seconds);
        co_return response;
    };
}

}  // namespace tidepool
