// ProgressRate: how many bytes a peer must move in each period so that it does not count as
// stalled. The owner of the deadline keeps the byte count at the start of the period and compares
// when the period ends.
//
// Thread   Any; a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tiderace/base/units.h"

namespace tiderace::net {

struct ProgressRate {
    Duration period;
    std::uint64_t bytes_per_second_min = 0;  // over each period; 0: one byte is enough

    // In one period; at least one byte.
    std::uint64_t bytes_wanted() const {
        const auto period_ms = static_cast<std::uint64_t>(period / 1ms);
        constexpr auto most = std::numeric_limits<std::uint64_t>::max();
        // More than any peer can move: an option may be as large as its type.
        if (period_ms > 0 && bytes_per_second_min > most / period_ms) return most;
        return std::max<std::uint64_t>(1, bytes_per_second_min * period_ms / 1'000);
    }
    // Whether `moved` bytes in one period are enough.
    bool is_met_by(std::uint64_t moved) const { return moved >= bytes_wanted(); }
};

}  // namespace tiderace::net
