// Seldom: logs an event that can occur at any rate at most once a second, and counts the rest.
//
// Thread   One.
#pragma once

#include <cstdint>
#include <optional>

namespace tiderace::log {

class Seldom {
  public:
    static constexpr std::int64_t interval_ms = 1'000;

    // nullopt: do not log this event, which is counted. Otherwise the number of events that were
    // left out since the last line. If the clock was set back, a line is due.
    std::optional<std::uint64_t> ask(std::int64_t unix_ms) {
        if (logged_at_ && unix_ms >= *logged_at_ && unix_ms - *logged_at_ < interval_ms) {
            ++left_out_;
            return std::nullopt;
        }
        logged_at_ = unix_ms;
        const std::uint64_t before = left_out_;
        left_out_ = 0;
        return before;
    }

  private:
    std::optional<std::int64_t> logged_at_;
    std::uint64_t left_out_ = 0;
};

}  // namespace tiderace::log
