// Latency histogram: how long things took, to within 0.8 %, in fixed memory (HDR-style).
//
// Log-linear buckets: each power of two is divided into 128 equal ones, so a value is exact to
// 1/128 of itself and a quantile is the middle of its bucket.
//
// Thread   One; merge several threads' histograms afterwards.
// Limits   0 to 2^40 - 1 ns (18 minutes); what took longer counts as that, and in max() exactly.
// Memory   35 KiB, never more; record() does not allocate.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tiderace/base/units.h"

namespace tiderace::load {

class LatencyHistogram {
  public:
    void record(Duration took) {
        const std::uint64_t value =
            took > Duration::zero() ? static_cast<std::uint64_t>(took.count()) : 0;
        ++counts_[index_of(value < value_max ? value : value_max)];
        ++count_;
        sum_ += value;
        if (value < smallest_) smallest_ = value;
        if (value > largest_) largest_ = value;
    }
    void merge(const LatencyHistogram& other);

    std::uint64_t count() const { return count_; }
    Duration min() const { return Duration(count_ > 0 ? smallest_ : 0); }  // exact, as max and mean
    Duration max() const { return Duration(largest_); }
    Duration mean() const { return Duration(count_ > 0 ? sum_ / count_ : 0); }
    // The smallest recorded value that at least `share` (0..1) of all are not above: 0.99 for p99.
    // Zero when nothing was recorded.
    Duration quantile(double share) const;
    // The contents: the middle of each bucket that is not empty and its number of values,
    // smallest first; none beyond min() and max().
    struct Bar {
        Duration value;
        std::uint64_t count;
        bool operator==(const Bar&) const = default;
    };
    std::vector<Bar> bars() const;

  private:
    static constexpr unsigned part_bits = 7;  // 128 parts of each power of two
    static constexpr unsigned value_bits = 40;
    static constexpr std::uint64_t value_max = (std::uint64_t{1} << value_bits) - 1;
    static constexpr std::size_t buckets = (value_bits - part_bits + 1) << part_bits;

    // Below 256 each value has a bucket of its own.
    static std::size_t index_of(std::uint64_t value) {
        const unsigned width = static_cast<unsigned>(std::bit_width(value));
        if (width <= part_bits + 1) return static_cast<std::size_t>(value);
        const unsigned shift = width - part_bits - 1;
        return (std::size_t{shift} << part_bits) + static_cast<std::size_t>(value >> shift);
    }
    static std::uint64_t middle_of(std::size_t index);

    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t smallest_ = UINT64_MAX;
    std::uint64_t largest_ = 0;
};

}  // namespace tiderace::load
