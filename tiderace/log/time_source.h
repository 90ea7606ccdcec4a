// Internal. TimeSource: the wall clock that stamps records. Handed in, so that a test owns time and
// a loop can give the time it has already read this turn.
//
// Thread   The logger's that it is given to; SystemTime: any.
#pragma once

#include <cstdint>

#include "tiderace/base/units.h"

namespace tiderace::log {

class TimeSource {
  public:
    virtual ~TimeSource() = default;
    // Milliseconds since 1970-01-01 UTC.
    virtual std::int64_t unix_ms() = 0;
};

class SystemTime final : public TimeSource {
  public:
    std::int64_t unix_ms() override {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    }
};

}  // namespace tiderace::log
