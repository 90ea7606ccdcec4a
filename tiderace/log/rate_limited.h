// Internal. RateLimited: logs an event that can occur at any rate at most once a second, and counts
// the rest.
//
// Thread   Any. Loops share one, so that together they log no more than one of them alone.
// Keywords: log flood, rate limit
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "tiderace/base/language.h"

namespace tiderace::log {

class RateLimited {
  public:
    static constexpr std::int64_t interval_ms = 1'000;

    // nullopt: do not log this event, which is counted. Otherwise the number of events that were
    // left out since the last line. If the clock was set back by the interval, a line is due; by
    // less, another thread may only have read it later.
    std::optional<std::uint64_t> ask(std::int64_t unix_ms) {
        std::int64_t logged_at = logged_at_.load(std::memory_order_relaxed);
        const bool is_due = logged_at == never || unix_ms - logged_at >= interval_ms ||
                            logged_at - unix_ms >= interval_ms;
        // Of threads that find it due at once, the first one logs.
        if (!is_due || !logged_at_.compare_exchange_strong(logged_at, unix_ms)) {
            left_out_.fetch_add(1, std::memory_order_relaxed);
            return std::nullopt;
        }
        return left_out_.exchange(0, std::memory_order_relaxed);
    }

  private:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();

    std::atomic<std::int64_t> logged_at_ = never;
    std::atomic<std::uint64_t> left_out_ = 0;
};

// Events that a hostile peer, or a lack of memory, can cause thousands of times a second.
enum class Often : std::uint8_t { exception, out_of_memory, cannot_accept, count_ };

// One for each kind of event.
using RateLimitedEvents = std::array<RateLimited, static_cast<std::size_t>(Often::count_)>;

}  // namespace tiderace::log
