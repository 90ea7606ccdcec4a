#include "tiderace/base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace tiderace {
namespace {

TEST(Units, LiteralsAreBytes) {
    static_assert(3_B == 3);
    static_assert(64_KiB == 65'536);
    static_assert(2_MiB == 2'097'152);
    static_assert(1_GiB == 1'073'741'824);
    EXPECT_EQ(Duration(10s).count(), 10'000'000'000);
}

TEST(ParseBytes, TakesNumbersWithUnits) {
    struct Case {
        std::string_view text;
        std::uint64_t bytes;
    };
    const Case cases[] = {
        {"0", 0},
        {"512", 512},
        {"512B", 512},
        {"10k", 10'240},
        {"10K", 10'240},
        {"64KiB", 65'536},
        {"1KB", 1'000},
        {"3m", 3'145'728},
        {"3M", 3'145'728},
        {"1MiB", 1'048'576},
        {"1MB", 1'000'000},
        {"1g", 1'073'741'824},
        {"1G", 1'073'741'824},
        {"2GiB", 2'147'483'648},
        {"2GB", 2'000'000'000},
        {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()},
        {"17179869183GiB", 17'179'869'183ULL << 30},
    };
    for (const Case& c : cases) EXPECT_EQ(parse_bytes(c.text), c.bytes) << c.text;
}

TEST(ParseBytes, RefusesWhatIsNotOfThatForm) {
    for (std::string_view text :
         {"", "k", "KiB", "-1", "+1", " 1", "1 ", "1 KiB", "1.5k", "1kk", "1kib", "1TiB", "0x10",
          "1s", "18446744073709551616", "17179869184GiB", "18446744073709551615k"}) {
        EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
    }
    EXPECT_EQ(parse_bytes(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ParseDuration, TakesNumbersWithUnits) {
    struct Case {
        std::string_view text;
        Duration duration;
    };
    const Case cases[] = {
        {"0", 0ns},
        {"off", 0ns},
        {"0s", 0ns},
        {"1ns", 1ns},
        {"7us", 7us},
        {"500ms", 500ms},
        {"10s", 10s},
        {"2m", 2min},
        {"1h", 1h},
        {"1d", 24h},
        {"9223372036854775807ns", Duration::max()},
    };
    for (const Case& c : cases) EXPECT_EQ(parse_duration(c.text), c.duration) << c.text;
}

TEST(ParseDuration, RefusesWhatIsNotOfThatForm) {
    for (std::string_view text : {"", "10", "s", "-1s", "+1s", "1 s", "1.5s", "1S", "1w", "Off",
                                  "10ss", "9223372036854775808ns", "9223372037s", "106752d"}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    }
}

TEST(FormatBytes, IsTheShortestExactFormAndParsesBack) {
    struct Case {
        std::uint64_t bytes;
        std::string_view text;
    };
    const Case cases[] = {
        {0, "0"},
        {1, "1"},
        {1'000, "1000"},
        {1'023, "1023"},
        {1'024, "1KiB"},
        {1'536, "1536"},
        {65'536, "64KiB"},
        {1'048'576, "1MiB"},
        {1'049'600, "1025KiB"},
        {3'221'225'472, "3GiB"},
        {std::numeric_limits<std::uint64_t>::max(), "18446744073709551615"},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(format_bytes(c.bytes), c.text);
        EXPECT_EQ(parse_bytes(c.text), c.bytes);
    }
}

TEST(FormatDuration, IsTheShortestExactFormAndParsesBack) {
    struct Case {
        Duration duration;
        std::string_view text;
    };
    const Case cases[] = {
        {0ns, "0"},   {1ns, "1ns"},        {1'500ns, "1500ns"},
        {7us, "7us"}, {1'500ms, "1500ms"}, {10s, "10s"},
        {60s, "1m"},  {90s, "90s"},        {2h, "2h"},
        {36h, "36h"}, {48h, "2d"},         {Duration::max(), "9223372036854775807ns"},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(format_duration(c.duration), c.text);
        EXPECT_EQ(parse_duration(c.text), c.duration);
    }
}

}  // namespace
}  // namespace tiderace
