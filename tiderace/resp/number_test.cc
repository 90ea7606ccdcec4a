#include "tiderace/resp/number.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tiderace::resp {
namespace {

TEST(Number, IntegersAreDigitsWithASignWithin64Bits) {
    EXPECT_EQ(parse_integer("0"), 0);
    EXPECT_EQ(parse_integer("+7"), 7);
    EXPECT_EQ(parse_integer("-0012"), -12);
    EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
    for (const char* bad : {"", "-", "+", "+-1", "--1", " 1", "1 ", "1.0", "0x1", "ten",
                            "9223372036854775808", "-9223372036854775809"}) {
        EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
    }
}

TEST(Number, DoublesAreDecimalsAndThreeNames) {
    EXPECT_EQ(parse_double("1.5"), 1.5);
    EXPECT_EQ(parse_double("+10"), 10.0);
    EXPECT_EQ(parse_double("-3e2"), -300.0);
    EXPECT_EQ(parse_double(".5"), 0.5);
    EXPECT_EQ(parse_double("inf"), std::numeric_limits<double>::infinity());
    EXPECT_EQ(parse_double("-inf"), -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(parse_double("nan").value()));
    for (const char* bad :
         {"", "-", "+-1", "-nan", "infinity", "nan(1)", "0x10", "1e", "1,5", "1.5 ", "1e999"}) {
        EXPECT_EQ(parse_double(bad), std::nullopt) << bad;
    }
}

TEST(Number, BigNumbersAreDigitsOfAnyLength) {
    EXPECT_TRUE(is_big_number("3492890328409238509324850943850943825024385"));
    EXPECT_TRUE(is_big_number("-1"));
    EXPECT_TRUE(is_big_number("+0"));
    for (const char* bad : {"", "-", "1.5", "1e5", "--1"}) EXPECT_FALSE(is_big_number(bad)) << bad;
}

// The layout of "%.17g": whole numbers have no exponent as long as a double holds each of them, and
// a little beyond.
TEST(Number, DoublesAreLaidOutAsByRedis) {
    const std::vector<std::pair<double, std::string_view>> table{
        {100'000, "100000"},
        {-1'000'000, "-1000000"},
        {9'007'199'254'740'993, "9007199254740992"},
        {1e16, "10000000000000000"},
        {99'999'999'999'999'984, "99999999999999984"},
        {1e17, "1e+17"},
        {-1.5e300, "-1.5e+300"},
        {123456.789, "123456.789"},
        {0.0001, "0.0001"},
        {0.00012345678901234567, "0.00012345678901234567"},
        {0.00001, "1e-05"},
        {-0.0, "-0"},
    };
    for (const auto& [value, text] : table) {
        EXPECT_EQ(DoubleText(value).view(), text);
        EXPECT_EQ(parse_double(text), value);
    }
}

TEST(Number, DoublesAreWrittenAsTheShortestTextThatReadsBack) {
    EXPECT_EQ(DoubleText(3).view(), "3");
    EXPECT_EQ(DoubleText(0.1).view(), "0.1");
    EXPECT_EQ(DoubleText(-std::numeric_limits<double>::infinity()).view(), "-inf");
    EXPECT_EQ(DoubleText(-std::numeric_limits<double>::quiet_NaN()).view(), "nan");
    for (const double value : {1.0 / 3, 5e-324, std::numeric_limits<double>::max(), -1e100}) {
        EXPECT_EQ(parse_double(DoubleText(value).view()), value);
    }
}

}  // namespace
}  // namespace tiderace::resp
