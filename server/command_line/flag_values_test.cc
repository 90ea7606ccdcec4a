#include "server/command_line/flag_values.h"

#include <gtest/gtest.h>

#include <array>

namespace tiderace::server {
namespace {

TEST(FlagValues, ATimeHasAUnit) {
    EXPECT_EQ(duration_value("10s"), Duration(10s));
    EXPECT_EQ(duration_value("10").error(), "a time needs a unit, for example 10s, 500ms or 2m");
    EXPECT_EQ(duration_value("soon").error(), "expects a time such as 10s, 500ms or 2m");
}

TEST(FlagValues, SizesAndCountsEndAtTheirLimits) {
    EXPECT_EQ(bytes_value("off", 0, 10), 0U);
    EXPECT_EQ(bytes_value("0", 0, 10, false), 0U);
    EXPECT_FALSE(bytes_value("off", 0, 10, false));
    EXPECT_EQ(bytes_value("10", 1, 10), 10U);
    EXPECT_EQ(bytes_value("11", 1, 1_KiB), 11U);
    EXPECT_EQ(bytes_value("2KiB", 1, 1_KiB).error(), "expects a size from 1 to 1KiB");
    EXPECT_EQ(count_value("7", 1, 7), 7U);
    EXPECT_EQ(count_value("8", 1, 7).error(), "expects a whole number from 1 to 7");
}

TEST(FlagValues, AChoiceIsNamedByItsIndex) {
    constexpr std::array<std::string_view, 3> three{"alpha", "beta", "gamma"};
    EXPECT_EQ(choice_value("beta", three), 1U);
    EXPECT_EQ(choice_value("bta", three).error(),
              "expects alpha, beta or gamma; did you mean beta?");
    const auto elsewhere = [](std::string_view) -> std::string_view { return "Linux"; };
    EXPECT_EQ(choice_value("x", three, elsewhere).error(),
              "only for Linux; this machine has alpha, beta or gamma");
}

TEST(FlagValues, ChoicesReadAsASentence) {
    constexpr std::array<std::string_view, 3> three{"a", "b", "c"};
    EXPECT_EQ(join_choices(three), "a, b or c");
    EXPECT_EQ(join_choices(std::span(three).first(2)), "a or b");
    EXPECT_EQ(join_choices(std::span(three).first(1)), "a");
    EXPECT_EQ(join_choices({}), "");
}

}  // namespace
}  // namespace tiderace::server
