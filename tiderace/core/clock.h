// Internal. Clock: the source of time. It is handed in, so that a test owns it
// (testing/manual_clock.h).
//
// Deadlines and durations use now(), which never jumps; dates use unix_now(), which jumps when
// the machine's clock is corrected.
// Thread   Any, for SystemClock.
// Cost     Some 20 ns a reading (no system call on Linux). A loop reads once a turn and keeps it.
#pragma once

#include <cstdint>

#include "tiderace/base/units.h"

namespace tiderace::core {

class Clock {
  public:
    virtual ~Clock() = default;

    // Never goes back. Counts from an arbitrary moment; on Linux it stands still in suspend.
    virtual Instant now() const = 0;
    // Nanoseconds since 1970-01-01 UTC, for log lines and cookies. Good until the year 2262.
    virtual std::int64_t unix_now_ns() const = 0;

    // The same in whole seconds, rounded down: what HTTP dates hold.
    UnixSeconds unix_now() const;
};

// The machine's clocks.
class SystemClock final : public Clock {
  public:
    Instant now() const override;
    std::int64_t unix_now_ns() const override;
};

}  // namespace tiderace::core
