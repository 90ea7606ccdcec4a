// Internal. RateLimit: at most so many requests of one client in a minute, by the generic cell rate
// algorithm (GCRA, a leaky bucket that needs one number for each client).
//
//   next = max(next, now) + interval;   refused where next would be further away than the burst
//
// Owner    RateTable: shared by the loops, so that a limit is one limit. RateLimit: one per loop.
// Thread   RateTable: any, without a lock. RateLimit: the loop's.
// Errors   429 with Retry-After, in seconds.
// Limits   RateTable::cells: more clients than that at a time make the table forget the clients
//          that used the least of their limit. A 16-bit tag distinguishes the clients of one cell
//          in the table, so two of them share a limit once in about 260 million pairs.
// Memory   RateTable: 8 bytes a cell, 512 KiB.
// Keywords: rate limit, 429, Retry-After, GCRA, leaky bucket, token bucket
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "tiderace/base/keyed_hash.h"
#include "tiderace/base/units.h"
#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

struct RateLimitOptions {
    std::uint32_t per_minute = 60;  // > 0
    // How many may come at once after a pause: > 0, and at most what comes in four years.
    std::uint32_t burst = 10;
    bool operator==(const RateLimitOptions&) const = default;
};

class RateTable final {
  public:
    static constexpr std::size_t cells = 65'536;
    static constexpr std::size_t cells_of_a_key = 4;

    explicit RateTable(const RateLimitOptions& options);

    // Counts a request. nullopt: it may pass; else how long until one may.
    std::optional<Duration> take(ByteView key, Instant now);

  private:
    // Microseconds since the table was made, in the low 48 bits; a tag of the key above.
    using Cell = std::atomic<std::uint64_t>;

    Cell* cell_of(std::uint64_t hash, std::uint64_t now);

    std::uint64_t interval_;
    std::uint64_t tolerance_;
    KeyedHash hash_;
    std::atomic<std::int64_t> began_{INT64_MIN};  // of the first request, once there was one
    std::unique_ptr<std::array<Cell, cells>> cells_;
};

// By the peer's address; of IPv6 by its /64, which is one household. Peers of a Unix socket have no
// address, so they are one client: "". A view of the address.
ByteView limited_client(const core::Address& address);
Response too_many_requests(Duration wait);

class RateLimit final : public AccessRule {
  public:
    explicit RateLimit(std::shared_ptr<RateTable> table) : table_(std::move(table)) {}

    Verdict check(Exchange& exchange) override;

  private:
    std::shared_ptr<RateTable> table_;
};

}  // namespace tiderace::http::filter
