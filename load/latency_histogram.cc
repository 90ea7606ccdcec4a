#include "load/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace tiderace::load {

std::uint64_t LatencyHistogram::middle_of(std::size_t index) {
    constexpr std::size_t parts = std::size_t{1} << part_bits;
    // The first buckets are one nanosecond wide, and each power of two above is cut in `parts`.
    if (index < 2 * parts) return index;
    const std::size_t shift = (index >> part_bits) - 1;
    const std::uint64_t first = std::uint64_t{index - (shift << part_bits)} << shift;
    // The middle of a bucket, so that the error is at most half of its width.
    return first + (std::uint64_t{1} << shift) / 2;
}

// Exact: buckets can be added up, which quantiles and means of means cannot.
void LatencyHistogram::merge(const LatencyHistogram& other) {
    for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    smallest_ = std::min(smallest_, other.smallest_);
    largest_ = std::max(largest_, other.largest_);
}

Duration LatencyHistogram::quantile(double share) const {
    if (count_ == 0) return Duration::zero();
    // "At least this share": the rank is rounded up, so that the p99 of ten values is the largest.
    const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
    const std::uint64_t rank =
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        seen += counts_[i];
        // The ends are known exactly, and no quantile lies beyond them.
        if (seen >= rank) return Duration(std::clamp(middle_of(i), smallest_, largest_));
    }
    return max();
}

std::vector<LatencyHistogram::Bar> LatencyHistogram::bars() const {
    std::vector<Bar> all;
    for (std::size_t i = 0; i < buckets; ++i) {
        if (counts_[i] == 0) continue;
        all.push_back({Duration(std::clamp(middle_of(i), smallest_, largest_)), counts_[i]});
    }
    return all;
}

}  // namespace tiderace::load
