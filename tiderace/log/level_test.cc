#include "tiderace/log/level.h"

#include <gtest/gtest.h>

namespace tiderace::log {
namespace {

TEST(Level, HasAName) {
    EXPECT_EQ(to_string(Level::trace), "trace");
    EXPECT_EQ(to_string(Level::warning), "warning");
    EXPECT_EQ(to_string(Level::off), "off");
}

TEST(Level, MoreSeriousIsGreater) {
    EXPECT_LT(Level::trace, Level::debug);
    EXPECT_LT(Level::info, Level::warning);
    EXPECT_LT(Level::error, Level::off);
}

}  // namespace
}  // namespace tiderace::log
