#include "load/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tiderace/base/random.h"

namespace tiderace::load {
namespace {

std::int64_t sorted_quantile(const std::vector<std::int64_t>& sorted, double share) {
    const double wanted = std::ceil(share * static_cast<double>(sorted.size()));
    const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(wanted));
    return sorted[rank - 1];
}

TEST(LatencyHistogram, IsEmptyAtFirst) {
    const LatencyHistogram histogram;
    EXPECT_EQ(histogram.count(), 0U);
    EXPECT_EQ(histogram.quantile(0.5), 0ns);
    EXPECT_EQ(histogram.min(), 0ns);
    EXPECT_EQ(histogram.max(), 0ns);
    EXPECT_EQ(histogram.mean(), 0ns);
}

TEST(LatencyHistogram, TellsEveryValueToWithinOnePercent) {
    for (std::uint64_t value = 1; value < std::uint64_t{1} << 40; value += value / 50 + 1) {
        LatencyHistogram histogram;
        histogram.record(0ns);
        histogram.record(Duration(value));
        histogram.record(Duration(std::uint64_t{1} << 41));
        const double told = static_cast<double>(histogram.quantile(0.5).count());
        ASSERT_NEAR(told, static_cast<double>(value), static_cast<double>(value) * 0.01) << value;
    }
}

TEST(LatencyHistogram, AgreesWithASortedVector) {
    Random random(7);
    LatencyHistogram histogram;
    std::vector<std::int64_t> all;
    for (int i = 0; i < 20'000; ++i) {
        const auto value = static_cast<std::int64_t>(random.next() >> (24 + random.next() % 30));
        histogram.record(Duration(value));
        all.push_back(value);
    }
    std::ranges::sort(all);
    for (const double share : {0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
        const auto exact = static_cast<double>(
            std::min<std::int64_t>(sorted_quantile(all, share), (std::int64_t{1} << 40) - 1));
        const auto told = static_cast<double>(histogram.quantile(share).count());
        EXPECT_NEAR(told, exact, exact * 0.01 + 1) << share;
    }
    EXPECT_EQ(histogram.min().count(), all.front());
    EXPECT_EQ(histogram.max().count(), all.back());
    EXPECT_EQ(histogram.count(), all.size());
}

TEST(LatencyHistogram, MergedIsAsRecordedInOne) {
    Random random(9);
    LatencyHistogram one;
    LatencyHistogram first;
    LatencyHistogram second;
    for (int i = 0; i < 5'000; ++i) {
        const Duration value(random.next() % 1'000'000'000);
        one.record(value);
        (i % 3 == 0 ? first : second).record(value);
    }
    first.merge(second);
    for (const double share : {0.0, 0.25, 0.5, 0.75, 0.99, 1.0}) {
        EXPECT_EQ(first.quantile(share), one.quantile(share));
    }
    EXPECT_EQ(first.mean(), one.mean());
    EXPECT_EQ(first.count(), one.count());
}

TEST(LatencyHistogram, KeepsWhatIsOutOfItsRange) {
    LatencyHistogram histogram;
    histogram.record(-5ns);
    histogram.record(1h);
    EXPECT_EQ(histogram.count(), 2U);
    EXPECT_EQ(histogram.min(), 0ns);
    EXPECT_EQ(histogram.max(), 1h);
}

TEST(LatencyHistogram, TellsItsBars) {
    LatencyHistogram histogram;
    EXPECT_TRUE(histogram.bars().empty());
    for (const Duration value : {7ns, 200ns, 7ns, 1'000'000ns}) histogram.record(value);
    const auto bars = histogram.bars();
    ASSERT_EQ(bars.size(), 3U);
    EXPECT_EQ(bars[0], (LatencyHistogram::Bar{7ns, 2}));
    EXPECT_EQ(bars[1], (LatencyHistogram::Bar{200ns, 1}));
    EXPECT_EQ(bars[2].count, 1U);
    EXPECT_NEAR(static_cast<double>(bars[2].value.count()), 1e6, 8e3);
    EXPECT_LE(bars[2].value, histogram.max());
}

}  // namespace
}  // namespace tiderace::load
