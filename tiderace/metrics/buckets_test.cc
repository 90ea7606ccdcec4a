#include "tiderace/metrics/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tiderace/metrics/metrics.h"

namespace tiderace::metrics {
namespace {

constexpr auto few = std::to_array<std::uint64_t>({0, 10, 1'000});
using Few = Buckets<few, 100>;

TEST(Buckets, AValueIsInTheFirstBucketThatHasRoomForIt) {
    Few buckets;
    for (const std::uint64_t value : {0U, 1U, 10U, 11U, 1'000U, 1'001U, ~0U})
        buckets.observe(value);
    HistogramValue value = Few::empty();
    buckets.add_to(value);
    EXPECT_THAT(value.bounds, ::testing::ElementsAre(0, 0.1, 10));
    EXPECT_THAT(value.counts, ::testing::ElementsAre(1, 2, 2, 2));
    EXPECT_EQ(buckets.count(), 7U);
    EXPECT_DOUBLE_EQ(value.sum, static_cast<double>(buckets.sum()) / 100);
    buckets.add_to(value);
    EXPECT_THAT(value.counts, ::testing::ElementsAre(2, 4, 4, 4));
}

TEST(Buckets, ThePageHasAsManySeriesAsItSays) {
    Page page(PageFormat::prometheus);
    page.histogram({}, Few::empty());
    const std::string text = std::move(page).take();
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), Few::series);
}

TEST(Durations, HaveTheBoundsOfTheProgramsOwn) {
    EXPECT_EQ(Durations::empty().bounds, Histogram::durations());
    EXPECT_EQ(nanoseconds(-1s), 0U);
    EXPECT_EQ(nanoseconds(1ms), 1'000'000U);
}

}  // namespace
}  // namespace tiderace::metrics
