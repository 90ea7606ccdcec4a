#include "tiderace/net/progress_rate.h"

#include <gtest/gtest.h>

#include <limits>

namespace tiderace::net {
namespace {

TEST(ProgressRates, AskForOneByteWhereThereIsNoRate) {
    const ProgressRate rate{.period = 30s};
    EXPECT_EQ(rate.bytes_wanted(), 1U);
    EXPECT_FALSE(rate.is_met_by(0));
    EXPECT_TRUE(rate.is_met_by(1));
}

TEST(ProgressRates, CountOverTheWholePeriod) {
    const struct {
        Duration period;
        std::uint64_t per_second;
        std::uint64_t wanted;
    } cases[] = {
        {1s, 1, 1},
        {30s, 100, 3'000},
        {1'500ms, 10, 15},
        {100ms, 10, 1},
        {100ms, 1, 1},
        {99ms, 100, 9},
        {24h, 1 << 30, std::uint64_t{86'400} << 30},
    };
    for (const auto& each : cases) {
        const ProgressRate rate{.period = each.period, .bytes_per_second_min = each.per_second};
        EXPECT_EQ(rate.bytes_wanted(), each.wanted);
        EXPECT_FALSE(rate.is_met_by(each.wanted - 1));
        EXPECT_TRUE(rate.is_met_by(each.wanted));
    }
}

// A product that wrapped around would let a peer pass that moves hardly anything.
TEST(ProgressRates, OfAnySizeAreNeverMetByLess) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const struct {
        Duration period;
        std::uint64_t per_second;
    } cases[] = {
        {Duration::max(), most},
        {1s, most},
        {2ms, most / 2 + 1},
        {Duration::max(), std::uint64_t{1} << 32},
    };
    for (const auto& each : cases) {
        const ProgressRate rate{.period = each.period, .bytes_per_second_min = each.per_second};
        EXPECT_EQ(rate.bytes_wanted(), most);
        EXPECT_FALSE(rate.is_met_by(std::uint64_t{1} << 40));
    }
    // The largest product that there is.
    EXPECT_EQ((ProgressRate{.period = 2ms, .bytes_per_second_min = most / 2}.bytes_wanted()),
              (most - 1) / 1'000);
    EXPECT_EQ((ProgressRate{.period = 1ms, .bytes_per_second_min = most}.bytes_wanted()),
              most / 1'000);
}

}  // namespace
}  // namespace tiderace::net
