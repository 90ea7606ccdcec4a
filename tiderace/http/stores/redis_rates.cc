#include "tiderace/http/stores/redis_rates.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "tiderace/base/ascii.h"
#include "tiderace/db/error.h"
#include "tiderace/db/redis/script.h"
#include "tiderace/http/wire/sha256.h"
#include "tiderace/log/logger.h"
#include "tiderace/task/context.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {
namespace {

constexpr UnixSeconds line_every = 60;
constexpr std::int64_t minute_us = 60'000'000;
// Four years, as of filter::RateTable.
constexpr std::int64_t tolerance_max_us = 4LL * 365 * 24 * 60 * minute_us;

// By Redis's clock, because the clocks of programs differ. Its numbers are doubles, which hold
// microseconds until the year 2255.
const db::redis::Script take_script(
    "local t = redis.call('TIME')\n"
    "local now = t[1] * 1000000 + t[2]\n"
    "local next = math.max(tonumber(redis.call('GET', KEYS[1]) or '0') or 0, now)\n"
    "local ahead = next - now - tonumber(ARGV[2])\n"
    "if ahead > 0 then return math.ceil(ahead) end\n"
    "next = next + tonumber(ARGV[1])\n"
    "redis.call('SET', KEYS[1], string.format('%.0f', next), 'PX',"
    " string.format('%.0f', math.ceil((next - now) / 1000)))\n"
    "return 0");

std::string name_of(const std::string& prefix, std::string_view key) {
    constexpr std::size_t bytes = 16;  // two keys in 2^64 share a limit
    const wire::Sha256 hash = wire::sha256(key);
    return prefix + hex_text(std::span(hash).first(bytes));
}

}  // namespace

task::Task<std::optional<Duration>> RedisRates::take(std::string key,
                                                     filter::RateLimitOptions rate) {
    const std::int64_t interval =
        std::max<std::int64_t>(minute_us / std::max(rate.per_minute, 1U), 1);
    const std::int64_t tolerance =
        std::min(interval * (std::max<std::int64_t>(rate.burst, 1) - 1), tolerance_max_us);
    const db::redis::Keys keys(name_of(prefix_, key));
    std::int64_t wait = 0;
    try {
        wait = co_await take_script.run<std::int64_t>(redis_, keys, interval, tolerance);
    } catch (const db::Error& error) {
        if (when_away_ == WhenAway::refuse) throw;
        log_failure(error);
    }
    if (wait <= 0) co_return std::nullopt;
    co_return std::chrono::microseconds(wait);
}

void RedisRates::log_failure(const db::Error& error) {
    core::EventLoop& loop = task::Context::here().runner->loop();
    if (loop.log() == nullptr) return;
    const UnixSeconds now = loop.unix_now();
    UnixSeconds due = next_line_.load(std::memory_order_relaxed);
    // One loop of several writes it.
    if (now < due || !next_line_.compare_exchange_strong(due, now + line_every)) return;
    loop.log()->warning("rates", "Redis does not answer: its rate limits let all pass",
                        log::field("redis", redis_.shown()), log::field("error", error.what()));
}

}  // namespace tiderace::http
