#include "tiderace/resp/number.h"

#include <cmath>
#include <limits>
#include <string>

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
