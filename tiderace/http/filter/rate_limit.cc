#include "tiderace/http/filter/rate_limit.h"

#include <algorithm>
#include <chrono>

#include "tiderace/http/filter/trusted_proxies.h"

namespace tiderace::http::filter {
namespace {

// A cell: 16 bits of the key's hash, and 48 bits of microseconds, which last for nine years.
constexpr std::uint64_t time_mask = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t minute_us = 60'000'000;
// A burst of so many years leaves a cell's time as many for the program to run.
constexpr std::uint64_t tolerance_max = time_mask / 2;

std::uint64_t microseconds(Duration time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

}  // namespace

RateTable::RateTable(const RateLimitOptions& options)
    : interval_(minute_us / std::max(options.per_minute, 1U)),
      tolerance_(std::min(interval_ * (std::max(options.burst, 1U) - 1), tolerance_max)),
      cells_(std::make_unique<std::array<Cell, cells>>()) {}

// The key's cell, or the one of its four that is the nearest to being empty.
RateTable::Cell* RateTable::cell_of(std::uint64_t hash, std::uint64_t now) {
    const std::size_t first = hash % (cells / cells_of_a_key) * cells_of_a_key;
    Cell* best = &(*cells_)[first];
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = first; i < first + cells_of_a_key; ++i) {
        const std::uint64_t value = (*cells_)[i].load(std::memory_order_relaxed);
        const std::uint64_t next = value & time_mask;
        // A cell in the past has no meaning any more, so it counts as empty.
        if (value >> 48 == hash >> 48 && next > now) return &(*cells_)[i];
        if (next >= least) continue;
        least = next;
        best = &(*cells_)[i];
    }
    return best;
}

std::optional<Duration> RateTable::take(ByteView key, Instant instant) {
    std::int64_t began = INT64_MIN;
    const std::int64_t at = instant.time_since_epoch().count();
    // The first call sets the zero of all times. 0 in a cell means never used, hence the + 1.
    if (began_.compare_exchange_strong(began, at)) began = at;
    const std::uint64_t now = microseconds(Duration(std::max<std::int64_t>(at - began, 0))) + 1;
    const std::uint64_t hash = hash_(key);
    Cell& cell = *cell_of(hash, now);
    std::uint64_t seen = cell.load(std::memory_order_relaxed);
    for (;;) {
        // Another key's cell is taken over, and its past with it is forgotten.
        const bool own = seen >> 48 == hash >> 48;
        const std::uint64_t next = std::max(own ? seen & time_mask : 0, now);
        if (next - now > tolerance_) {
            return std::chrono::microseconds(next - now - tolerance_);
        }
        const std::uint64_t made = (hash >> 48 << 48) | ((next + interval_) & time_mask);
        // Relaxed: the cell is the whole state, and no other memory depends on it.
        if (cell.compare_exchange_weak(seen, made, std::memory_order_relaxed)) return std::nullopt;
    }
}

ByteView limited_client(const core::Address& address) {
    if (address.is_unix()) return {};
    return {reinterpret_cast<const char*>(address.ip().data()), address.ip().size()};
}

Response too_many_requests(Duration wait) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    Response response(429);
    response.add(wire::FieldName::retry_after, static_cast<std::uint64_t>(seconds));
    response.set_turned_away(wire::TurnedAway::rate);
    return response;
}

AccessRule::Verdict RateLimit::check(Exchange& exchange) {
    const core::Address peer = exchange.request().peer->subscriber();
    const auto wait = table_->take(limited_client(peer), exchange.loop().now());
    if (!wait) return Verdict::pass;
    exchange.respond(too_many_requests(*wait));
    return Verdict::answered;
}

}  // namespace tiderace::http::filter
