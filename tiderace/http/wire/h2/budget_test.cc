#include "tiderace/http/wire/h2/budget.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

const Instant start{};

constexpr H2BudgetLimits limits{.units_max = 1000, .units_per_second = 100};

// How often `act` may be done at once.
int times_until_empty(H2Act act) {
    H2Budget budget(start, limits);
    int times = 0;
    while (budget.charge(act, start)) ++times;
    return times;
}

TEST(H2Budget, EveryActHasAPriceAndEndsSometime) {
    for (std::size_t i = 0; i < h2_acts; ++i) {
        const auto act = static_cast<H2Act>(i);
        ASSERT_GT(price_of(act), 0U) << i;
        EXPECT_EQ(times_until_empty(act), static_cast<int>(limits.units_max / price_of(act))) << i;
    }
}

TEST(H2Budget, RequestsThatAreAnsweredCostNothing) {
    H2Budget budget(start, limits);
    for (int i = 0; i < 100'000; ++i) {
        ASSERT_TRUE(budget.charge(H2Act::request, start));
        ASSERT_TRUE(budget.charge(H2Act::table_insertion, start, 10));
        ASSERT_TRUE(budget.charge(H2Act::priority, start));
        budget.answered();
    }
    EXPECT_EQ(budget.units(), limits.units_max);
}

TEST(H2Budget, RapidResetEmptiesThePurseWhoeverResets) {
    for (const H2Act reset : {H2Act::peer_reset, H2Act::fault}) {
        H2Budget budget(start, limits);
        int requests = 0;
        while (budget.charge(H2Act::request, start) && budget.charge(reset, start)) ++requests;
        EXPECT_GT(requests, 10);
        EXPECT_LT(requests, 50);
    }
}

TEST(H2Budget, TransfersPayForTheirFramesUnlessTheseAreTiny) {
    H2Budget budget(start, limits);
    for (int i = 0; i < 100'000; ++i) {
        ASSERT_TRUE(budget.charge(H2Act::data, start));
        ASSERT_TRUE(budget.charge(H2Act::window_update, start));
        budget.transferred(128);
    }
    int tiny = 0;
    while (budget.charge(H2Act::data, start)) {
        budget.transferred(1);
        ++tiny;
    }
    EXPECT_LT(tiny, 1100);
}

TEST(H2Budget, BytesThatMakeNoWholeUnitAreNotLost) {
    H2Budget budget(start, limits);
    ASSERT_TRUE(budget.charge(H2Act::ping, start));
    const std::uint32_t before = budget.units();
    for (int i = 0; i < 512; ++i) budget.transferred(1);
    EXPECT_EQ(budget.units(), before + 8);
}

TEST(H2Budget, TimeFillsItUpToTheBrim) {
    H2Budget budget(start, limits);
    while (budget.charge(H2Act::data, start)) {
    }
    EXPECT_FALSE(budget.charge(H2Act::data, start + 9ms));
    EXPECT_TRUE(budget.charge(H2Act::data, start + 10ms));
    EXPECT_FALSE(budget.charge(H2Act::data, start + 19ms));
    EXPECT_TRUE(budget.charge(H2Act::data, start + 20ms));
    ASSERT_TRUE(budget.charge(H2Act::data, start + 1h));
    EXPECT_EQ(budget.units(), limits.units_max - 1);
}

TEST(H2Budget, ManyAtOnceAndHugeNumbersDoNotOverflow) {
    H2Budget budget(start, limits);
    EXPECT_FALSE(budget.charge(H2Act::fault, start, 0xffff'ffff));
    budget.transferred(static_cast<std::size_t>(-1));
    EXPECT_EQ(budget.units(), limits.units_max);
    EXPECT_TRUE(budget.charge(H2Act::table_insertion, start, 1000));
    EXPECT_EQ(budget.units(), 0U);
}

TEST(H2Budget, ATimeBeforeTheLastOneFillsNothing) {
    H2Budget budget(start, limits);
    while (budget.charge(H2Act::data, start)) {
    }
    EXPECT_FALSE(budget.charge(H2Act::data, start - 1h));
    EXPECT_FALSE(budget.charge(H2Act::data, start));
}

}  // namespace
}  // namespace tiderace::http::wire
