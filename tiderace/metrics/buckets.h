// Internal. Buckets: a histogram that one thread fills with plain stores. The thread that makes a
// page reads it meanwhile.
//
//   metrics::Durations heads;   heads.observe(nanoseconds)   ...   heads.add_to(value)
//
// Owner    A loop's part of what is counted.
// Thread   One writes; any reads.
// Memory   8 bytes for each bound, and 16.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/loop_count.h"
#include "tiderace/base/units.h"
#include "tiderace/metrics/page.h"

namespace tiderace::metrics {

// Nanoseconds: OpenTelemetry's bounds (Histogram::durations()).
inline constexpr auto duration_bounds =
    std::to_array<std::uint64_t>({5'000'000, 10'000'000, 25'000'000, 50'000'000, 75'000'000,
                                  100'000'000, 250'000'000, 500'000'000, 750'000'000, 1'000'000'000,
                                  2'500'000'000, 5'000'000'000, 7'500'000'000, 10'000'000'000});
// Bytes.
inline constexpr auto size_bounds = std::to_array<std::uint64_t>(
    {0, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000});

// Values from 0 on, in a unit of which the page's unit has `per_unit`.
template <const auto& bounds, std::uint64_t per_unit>
class Buckets {
  public:
    // What a page has of one: its buckets, +Inf, the count and the sum.
    static constexpr std::size_t series = bounds.size() + 3;

    static constexpr std::size_t size = bounds.size() + 1;
    static constexpr double units = static_cast<double>(per_unit);

    // The bucket that it fell into.
    std::size_t observe(std::uint64_t value) {
        std::size_t i = 0;
        while (i < bounds.size() && value > bounds[i]) ++i;
        ++counts_[i];
        sum_ += value;
        return i;
    }
    void add_to(HistogramValue& value) const {
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            value.counts[i] += counts_[i];
        }
        // Divided, not multiplied: 0.005 is then the nearest to it.
        value.sum += static_cast<double>(sum()) / units;
    }
    std::uint64_t count() const {
        std::uint64_t all = 0;
        for (const LoopCount& each : counts_) all += each;
        return all;
    }
    std::uint64_t sum() const { return sum_; }

    static HistogramValue empty() {
        HistogramValue value;
        for (const std::uint64_t bound : bounds) {
            value.bounds.push_back(static_cast<double>(bound) / units);
        }
        value.counts.resize(size);
        return value;
    }

  private:
    std::array<LoopCount, size> counts_{};
    LoopCount sum_;
};

using Durations = Buckets<duration_bounds, 1'000'000'000>;
using Sizes = Buckets<size_bounds, 1>;

// The nanoseconds of a duration; 0 for a negative one.
inline std::uint64_t nanoseconds(Duration duration) {
    const auto all = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
    return all > 0 ? static_cast<std::uint64_t>(all) : 0;
}

}  // namespace tiderace::metrics
