#include "tiderace/json/bounds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tiderace/json/checked.h"

namespace tiderace::json {
namespace {

struct Even : Checked<int> {
    static bool holds(int value) { return value % 2 == 0; }
};

TEST(CheckedBounds, EachTypeHasItsOwn) {
    constexpr auto integers = bounds_of<Range<int, -5, 5>>();
    EXPECT_TRUE(integers.kind == CheckedBounds::Kind::integers && integers.low == -5 &&
                integers.high == 5);
    constexpr auto naturals = bounds_of<Range<std::uint64_t, 1, UINT64_MAX>>();
    EXPECT_TRUE(naturals.kind == CheckedBounds::Kind::naturals && naturals.most == UINT64_MAX);
    constexpr auto numbers = bounds_of<Range<float, 0.5F, 1.5F>>();
    EXPECT_TRUE(numbers.kind == CheckedBounds::Kind::numbers && numbers.maximum == 1.5);
    constexpr auto length = bounds_of<Length<std::string, 1, 80>>();
    EXPECT_TRUE(length.kind == CheckedBounds::Kind::length && length.least == 1 &&
                length.most == 80);
    EXPECT_EQ(bounds_of<Default<int>>().kind, CheckedBounds::Kind::none);
    EXPECT_EQ(bounds_of<Even>().kind, CheckedBounds::Kind::none);
}

}  // namespace
}  // namespace tiderace::json
