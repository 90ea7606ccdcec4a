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

TEST(ProgressRates, WhatWasMovedBuysTime) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const ProgressRate rate{.period = 30s, .bytes_per_second_min = 256};
    EXPECT_EQ(rate.time_for(0), 0s);
    EXPECT_EQ(rate.time_for(256), 1s);
    EXPECT_EQ(rate.time_for(65'536), 256s);
    EXPECT_EQ(rate.time_for(most), 300s);
    EXPECT_EQ((ProgressRate{.period = 30s}.time_for(1)), 30s);
    EXPECT_EQ((ProgressRate{.period = 30s, .bytes_per_second_min = most}.time_for(1'000)), 0s);
    const ProgressRate for_ever{.period = Duration::max(), .bytes_per_second_min = 1};
    EXPECT_EQ(for_ever.time_for(most), Duration::max());
}

constexpr ProgressRate thousand{.period = 10s, .bytes_per_second_min = 1'000};
constexpr Instant start{1'000'000s + 300us};

TEST(LagClocks, GrantAPeriodAndThenWhatWasTaken) {
    LagClock clock;
    EXPECT_EQ(clock.due(start), Instant::max());
    EXPECT_EQ(clock.waits(start + 5s), 0s);
    clock.begin(start, thousand, 0);
    EXPECT_GE(clock.due(start), start + 10s);
    EXPECT_LT(clock.due(start), start + 10s + 1ms);
    EXPECT_EQ(clock.due(start + 15s), clock.due(start));
    EXPECT_EQ(clock.waits(start + 4s), 4s);
    ASSERT_TRUE(clock.check(start + 10s, thousand, 4'000));
    EXPECT_EQ(clock.waits(start + 10s), 0s);
    EXPECT_LT(clock.due(start + 10s), start + 14s + 1ms);
    EXPECT_FALSE(clock.check(start + 14s, thousand, 4'000));
    clock.stop();
    EXPECT_EQ(clock.due(start), Instant::max());
}

// Its system took them at once, while nothing lagged yet; it reads them now.
TEST(LagClocks, CountWhatWasTakenBeforeUpToTenPeriods) {
    constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
    const struct {
        std::uint64_t taken;
        Duration more;
    } cases[] = {
        {0, 0s},
        {60'000, 60s},
        {100'000, 100s},
        {std::uint64_t{3} << 30, 100s},
        {wrap + 1, 100s},
        // Records of TLS are longer than what they hold.
        {std::uint64_t{0} - 500, 0s},
    };
    for (const auto& each : cases) {
        SCOPED_TRACE(each.taken);
        LagClock clock;
        clock.begin(start, thousand, each.taken);
        EXPECT_LT(clock.due(start), start + 10s + 1ms);
        ASSERT_EQ(clock.check(start + 10s, thousand, each.taken), each.more > 0s);
        if (each.more == 0s) continue;
        EXPECT_GE(clock.due(start + 10s), start + 10s + each.more);
        EXPECT_LT(clock.due(start + 10s), start + 10s + each.more + 1ms);
        EXPECT_FALSE(clock.check(start + 10s + each.more, thousand, each.taken));
    }
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    LagClock clock;
    clock.begin(start, {.period = 10s, .bytes_per_second_min = most}, most / 2);
    EXPECT_FALSE(clock.check(start + 10s, {.period = 10s, .bytes_per_second_min = most}, most / 2));
}

// A stream whose queue empties now and then begins to lag again and again.
TEST(LagClocks, KeepTimeThatWasGrantedWhenThePeerLagsAgain) {
    LagClock clock;
    clock.begin(start, thousand, 0);
    ASSERT_TRUE(clock.check(start + 10s, thousand, 60'000));
    clock.begin(start + 20s, thousand, 60'000);
    EXPECT_GE(clock.due(start + 20s), start + 70s);
    clock.begin(start + 65s, thousand, 60'000);
    EXPECT_GE(clock.due(start + 65s), start + 75s);
    // The granted time is over: it begins anew.
    clock.begin(start + 100s, thousand, 200'000);
    EXPECT_LT(clock.due(start + 100s), start + 110s + 1ms);
}

TEST(LagClocks, CountModulo) {
    constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
    LagClock clock;
    clock.begin(start, thousand, wrap - 100);
    ASSERT_TRUE(clock.check(start + 10s, thousand, wrap - 100));
    ASSERT_TRUE(clock.check(start + 10s, thousand, wrap + 4'900));
    EXPECT_LT(clock.due(start + 10s), start + 15s + 1ms);
    // A count that fell a little, and one that grew by more than the clock can tell.
    for (const std::uint64_t taken : {wrap + 4'000, 3 * wrap - 1}) {
        LagClock other = clock;
        ASSERT_TRUE(other.check(start + 15s, thousand, taken));
        EXPECT_LT(other.due(start + 15s), start + 25s + 1ms);
        EXPECT_FALSE(other.check(start + 25s, thousand, taken));
    }
}

TEST(LagClocks, RunAcrossTheWrapOfTheirMilliseconds) {
    constexpr Instant late{std::chrono::milliseconds((std::int64_t{1} << 32) - 2)};
    LagClock clock;
    clock.begin(late, thousand, 0);
    EXPECT_EQ(clock.due(late), late + 10s);
    EXPECT_EQ(clock.due(late + 5s), late + 10s);
    EXPECT_EQ(clock.waits(late + 5s), 5s);
}

TEST(LagClocks, MayBeNever) {
    LagClock clock;
    clock.begin(start, {.period = Duration::max()}, 0);
    EXPECT_EQ(clock.due(start), Instant::max());
    clock.begin(start + 1s, {.period = 0s}, 0);  // no time at all
    EXPECT_LE(clock.due(start + 1s), start + 1s + 2ms);
}

}  // namespace
}  // namespace tiderace::net
