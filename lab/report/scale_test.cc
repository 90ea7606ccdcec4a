#include "lab/report/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <utility>

namespace tiderace::lab::report {
namespace {

using ::testing::ElementsAre;

TEST(Scale, PlacesTheEndsAtTheEnds) {
    const Scale linear(ScaleKind::linear, 0, 50, 100, 300);
    EXPECT_DOUBLE_EQ(linear.place(0), 100);
    EXPECT_DOUBLE_EQ(linear.place(25), 200);
    EXPECT_DOUBLE_EQ(linear.place(50), 300);
    const Scale logarithmic(ScaleKind::logarithmic, 1, 10'000, 200, 0);
    EXPECT_DOUBLE_EQ(logarithmic.place(1), 200);
    EXPECT_NEAR(logarithmic.place(100), 100, 1e-9);
    EXPECT_NEAR(logarithmic.place(10'000), 0, 1e-9);
}

TEST(Scale, WhatIsOutsideIsPlacedAtTheNearestEnd) {
    const Scale scale(ScaleKind::linear, 0, 10, 0, 100);
    EXPECT_DOUBLE_EQ(scale.place(-5), 0);
    EXPECT_DOUBLE_EQ(scale.place(1e300), 100);
    EXPECT_DOUBLE_EQ(scale.place(HUGE_VAL), 100);
    EXPECT_DOUBLE_EQ(scale.place(std::nan("")), 0);
    EXPECT_DOUBLE_EQ(Scale(ScaleKind::logarithmic, 1, 10, 0, 100).place(0), 0);
}

TEST(Scale, TicksAreRound) {
    EXPECT_THAT(Scale(ScaleKind::linear, 0, 12, 0, 1).ticks(5), ElementsAre(0, 5, 10));
    EXPECT_EQ(Scale(ScaleKind::linear, 0, 1, 0, 1).ticks(5).size(), 6U);
    EXPECT_THAT(Scale(ScaleKind::logarithmic, 1, 10'000, 0, 1).ticks(5),
                ElementsAre(1, 10, 100, 1000, 10'000));
    EXPECT_THAT(Scale(ScaleKind::logarithmic, 20, 100, 0, 1).ticks(5), ElementsAre(20, 50, 100));
    EXPECT_EQ(Scale(ScaleKind::logarithmic, 1, 1e10, 0, 1).ticks(5).size(), 4U);
}

TEST(Scale, EveryRangeHasAFewTicksWithinIt) {
    for (const ScaleKind kind : {ScaleKind::linear, ScaleKind::logarithmic}) {
        for (double least = 1e-3; least < 1e6; least *= 3.7) {
            for (double most = least * 1.5; most < 1e9; most *= 4.1) {
                const auto ticks = Scale(kind, least, most, 0, 100).ticks(5);
                EXPECT_LE(ticks.size(), 15U) << least << " " << most;
                if (kind == ScaleKind::linear || most > 10 * least) {
                    EXPECT_GE(ticks.size(), 2U) << least << " " << most;
                }
                for (const double tick : ticks) {
                    EXPECT_GE(tick, least * 0.999 - most * 1e-8);
                    EXPECT_LE(tick, most * 1.001);
                }
            }
        }
    }
}

TEST(Scale, ARangeThatIsNoneIsWidened) {
    for (const ScaleKind kind : {ScaleKind::linear, ScaleKind::logarithmic}) {
        for (const auto& [least, most] : {std::pair{0.0, 0.0},
                                          {5.0, 5.0},
                                          {9.0, 1.0},
                                          {-1.0, 0.0},
                                          {0.0, HUGE_VAL},
                                          {std::nan(""), 1.0}}) {
            const Scale scale(kind, least, most, 0, 100);
            EXPECT_LT(scale.least(), scale.most());
            EXPECT_TRUE(std::isfinite(scale.place(3)));
        }
    }
}

TEST(Scale, RoundingGoesToOneTwoFive) {
    for (const auto& [value, up, down] : {std::tuple{1.0, 1.0, 1.0},
                                          {1.1, 2.0, 1.0},
                                          {3.0, 5.0, 2.0},
                                          {7.0, 10.0, 5.0},
                                          {999.0, 1000.0, 500.0},
                                          {0.03, 0.05, 0.02},
                                          {0.0, 1.0, 1.0}}) {
        EXPECT_NEAR(round_up(value), up, up * 1e-9) << value;
        EXPECT_NEAR(round_down(value), down, down * 1e-9) << value;
    }
}

}  // namespace
}  // namespace tiderace::lab::report
