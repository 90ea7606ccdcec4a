#include "tiderace/log/level.h"

#include <gtest/gtest.h>

namespace tiderace::log {
namespace {

TEST(Level, EveryNameParsesBack) {
    for (const Level level :
         {Level::trace, Level::debug, Level::info, Level::warning, Level::error, Level::off}) {
        EXPECT_EQ(parse_level(to_string(level)), level) << to_string(level);
    }
    EXPECT_EQ(to_string(Level::warning), "warning");
}

TEST(Level, OtherWordsAreNoLevel) {
    for (std::string_view text : {"", "warn", "Info", "info ", "errors", "3"}) {
        EXPECT_EQ(parse_level(text), std::nullopt) << text;
    }
}

TEST(Level, MoreSeriousIsGreater) {
    EXPECT_LT(Level::trace, Level::debug);
    EXPECT_LT(Level::info, Level::warning);
    EXPECT_LT(Level::error, Level::off);
}

}  // namespace
}  // namespace tiderace::log
