#include "tiderace/log/seldom.h"

#include <gtest/gtest.h>

namespace tiderace::log {
namespace {

TEST(Seldom, LogsTheFirstEventAtOnce) {
    Seldom seldom;
    EXPECT_EQ(seldom.ask(0), 0U);
}

TEST(Seldom, LogsOneEventASecondAndCountsTheRest) {
    Seldom seldom;
    EXPECT_EQ(seldom.ask(10'000), 0U);
    EXPECT_EQ(seldom.ask(10'000), std::nullopt);
    EXPECT_EQ(seldom.ask(10'999), std::nullopt);
    EXPECT_EQ(seldom.ask(11'000), 2U);
    EXPECT_EQ(seldom.ask(11'001), std::nullopt);
    EXPECT_EQ(seldom.ask(12'000), 1U);
    EXPECT_EQ(seldom.ask(13'000), 0U);
}

TEST(Seldom, GoesOnWhenTheClockIsSetBack) {
    Seldom seldom;
    EXPECT_EQ(seldom.ask(10'000), 0U);
    EXPECT_EQ(seldom.ask(9'000), 0U);
    EXPECT_EQ(seldom.ask(9'500), std::nullopt);
}

}  // namespace
}  // namespace tiderace::log
