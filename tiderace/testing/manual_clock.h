// ManualClock: time that a test owns. It stands still until the test moves it.
//
// Thread   One; not synchronised.
#pragma once

#include "tiderace/core/clock.h"

namespace tiderace::testing {

class ManualClock final : public core::Clock {
  public:
    // 1,000 seconds after a machine's start, on 2001-09-09 at 01:46:40 UTC: both far from zero.
    ManualClock() = default;
    ManualClock(Instant monotonic, std::int64_t unix_ns)
        : monotonic_(monotonic), unix_ns_(unix_ns) {}

    Instant now() const override { return monotonic_; }
    std::int64_t unix_now_ns() const override { return unix_ns_; }

    // Both clocks go on, as they do in life.
    void advance(Duration by) {
        monotonic_ += by;
        unix_ns_ += by.count();
    }
    // Sets the calendar clock; the monotonic clock does not change.
    void set_unix(UnixSeconds to) { unix_ns_ = to * 1'000'000'000; }

  private:
    Instant monotonic_ = Instant(1'000s);
    std::int64_t unix_ns_ = 1'000'000'000'000'000'000;
};

}  // namespace tiderace::testing
