#include "lab/report/figures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tiderace::lab::report {
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

TEST(Figures, CarryTheirUnit) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(2'496'629), "2,496,629");
    EXPECT_EQ(micros(4.21), "4.2 µs");
    EXPECT_EQ(micros(820), "820 µs");
    EXPECT_EQ(micros(1240), "1.24 ms");
    EXPECT_EQ(micros(2'500'000), "2.50 s");
    EXPECT_EQ(bytes(924), "924 B");
    EXPECT_EQ(bytes(24'300), "24.3 kB");
    EXPECT_EQ(bytes(1.25e9), "1.25 GB");
    EXPECT_EQ(rate(312), "312");
    EXPECT_EQ(rate(384'000), "384k");
    EXPECT_EQ(times(1.6), "×1.60");
    EXPECT_EQ(seconds(42), "42 s");
    EXPECT_EQ(seconds(200), "3 min 20 s");
    EXPECT_EQ(seconds(120), "2 min");
}

TEST(Figures, NothingOfATextIsMarkup) {
    EXPECT_EQ(escape_markup("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
    EXPECT_EQ(escape_markup(std::string_view("a\0b\x1b", 4)), "a\uFFFDb\uFFFD");
    EXPECT_EQ(escape_markup("潮 ×"), "潮 ×");
    EXPECT_EQ(escape_markdown("a|b `c` *d* [e](f) <g> _h_ \\"),
              "a\\|b \\`c\\` \\*d\\* \\[e\\](f) &lt;g\\> \\_h\\_ \\\\");
    EXPECT_EQ(escape_markdown("one\ntwo\r\nthree"), "one two  three");
}

}  // namespace
}  // namespace tiderace::lab::report
