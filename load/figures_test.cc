#include "load/figures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tiderace::load {
namespace {

TEST(Figures, HaveThreeDigitsThatMeanSomething) {
    EXPECT_EQ(short_number(0.4234), "0.42");
    EXPECT_EQ(short_number(8.214), "8.21");
    EXPECT_EQ(short_number(9.996), "10.0");
    EXPECT_EQ(short_number(52.34), "52.3");
    EXPECT_EQ(short_number(384.4), "384");
    EXPECT_EQ(short_number(1048.2), "1,048");
    EXPECT_EQ(short_number(std::nan("")), "–");
}

TEST(Figures, AreForEachSecondAndForEachAnswer) {
    EXPECT_EQ(in_seconds(1'500ms), 1.5);
    EXPECT_EQ(per_second(10, 2s), 5);
    EXPECT_EQ(per_second(10, 0s), 0);
    EXPECT_EQ(each_us(1s, 1'000), 1'000);
    EXPECT_EQ(each_us(1s, 0), 0);
}

TEST(Figures, ArePrintedAsCDoes) {
    EXPECT_EQ(printed("%d of %s", 3, "four"), "3 of four");
    EXPECT_EQ(fixed(1.5, 2), "1.50");
}

TEST(Figures, CarryTheirUnit) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(2'496'629), "2,496,629");
    EXPECT_EQ(micros(0), "0 µs");
    EXPECT_EQ(micros(4.21), "4.2 µs");
    EXPECT_EQ(micros(820), "820 µs");
    EXPECT_EQ(micros(1240), "1.24 ms");
    EXPECT_EQ(micros(2'500'000), "2.50 s");
    EXPECT_EQ(readable(0ns), "0 µs");
    EXPECT_EQ(readable(999us), "999 µs");
    EXPECT_EQ(readable(2'500us), "2.50 ms");
    EXPECT_EQ(readable(61s), "61.0 s");
    EXPECT_EQ(bytes(924), "924 B");
    EXPECT_EQ(bytes(999), "999 B");
    EXPECT_EQ(bytes(1'500), "1.50 kB");
    EXPECT_EQ(bytes(3e6), "3.00 MB");
    EXPECT_EQ(bytes(7e9), "7.00 GB");
    EXPECT_EQ(bytes(24'300), "24.3 kB");
    EXPECT_EQ(bytes(1.25e9), "1.25 GB");
    EXPECT_EQ(rate(312), "312");
    EXPECT_EQ(rate(384'000), "384k");
    EXPECT_EQ(times(1.6), "×1.60");
    EXPECT_EQ(seconds(42), "42 s");
    EXPECT_EQ(seconds(200), "3 min 20 s");
    EXPECT_EQ(seconds(120), "2 min");
}

}  // namespace
}  // namespace tiderace::load
