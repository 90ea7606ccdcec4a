#include "tiderace/json/rfc3339.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tiderace/base/random.h"

namespace tiderace::json {
namespace {

std::string text_of(std::int64_t ticks, std::int64_t per_second) {
    char room[rfc3339_bytes_max];
    return std::string(write_rfc3339(room, ticks, per_second));
}

TEST(Rfc3339, WritesUtcWithTheDigitsThatTheTimeHas) {
    EXPECT_EQ(text_of(0, 1), "1970-01-01T00:00:00Z");
    EXPECT_EQ(text_of(-1, 1), "1969-12-31T23:59:59Z");
    EXPECT_EQ(text_of(-1, 1000), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(text_of(1'795'343'400'250, 1000), "2026-11-22T10:30:00.250Z");
    EXPECT_EQ(text_of(1, 1'000'000'000), "1970-01-01T00:00:00.000000001Z");
    EXPECT_EQ(text_of(951'782'400, 1), "2000-02-29T00:00:00Z");
}

TEST(Rfc3339, HasNoTextBeyondFourDigitsOfAYear) {
    EXPECT_EQ(text_of(253'402'300'799, 1), "9999-12-31T23:59:59Z");
    EXPECT_EQ(text_of(253'402'300'800, 1), "");
    EXPECT_EQ(text_of(-62'135'596'800, 1), "0001-01-01T00:00:00Z");
    EXPECT_EQ(text_of(-62'135'596'801, 1), "");
    EXPECT_EQ(text_of(std::numeric_limits<std::int64_t>::max(), 1), "");
    EXPECT_EQ(text_of(std::numeric_limits<std::int64_t>::min(), 1), "");
}

TEST(Rfc3339, ReadsOffsetsAndFractions) {
    EXPECT_EQ(read_rfc3339("1970-01-01T00:00:00Z", 1), 0);
    EXPECT_EQ(read_rfc3339("1970-01-01t01:00:00+01:00", 1), 0);
    EXPECT_EQ(read_rfc3339("1969-12-31 19:00:00-05:00", 1), 0);
    EXPECT_EQ(read_rfc3339("1970-01-01T00:00:01.5z", 1000), 1500);
    EXPECT_EQ(read_rfc3339("1970-01-01T00:00:01.999999999Z", 1000), 1999);
    EXPECT_EQ(read_rfc3339("1969-12-31T23:59:59.999Z", 1000), -1);
}

TEST(Rfc3339, RefusesWhatIsNoTime) {
    for (const std::string_view text :
         {"", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00Z", "1970-13-01T00:00:00Z",
          "1970-02-29T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
          "1970-01-01T00:00:60Z", "0000-01-01T00:00:00Z", "1970-01-01T00:00:00.Z",
          "1970-01-01T00:00:00.1234567890Z", "1970-01-01T00:00:00+24:00",
          "1970-01-01T00:00:00+0100", "1970-01-01T00:00:00Z ", "+970-01-01T00:00:00Z",
          "1970-1-01T00:00:00Z"}) {
        EXPECT_FALSE(read_rfc3339(text, 1)) << text;
    }
    EXPECT_FALSE(read_rfc3339("9999-12-31T00:00:00Z", 1'000'000'000)) << "beyond 64 bits";
}

TEST(Rfc3339, ReadsWhatItWrote) {
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
        const auto seconds =
            static_cast<std::int64_t>(random.below(315'537'897'600)) - 62'135'596'800;
        EXPECT_EQ(read_rfc3339(text_of(seconds, 1), 1), seconds);
        const auto nanoseconds = static_cast<std::int64_t>(random.next());
        EXPECT_EQ(read_rfc3339(text_of(nanoseconds, 1'000'000'000), 1'000'000'000), nanoseconds);
    }
}

TEST(Rfc3339, RefusesEveryPart) {
    const std::string_view whole = "2026-11-22T10:30:00.250+01:00";
    ASSERT_TRUE(read_rfc3339(whole, 1000));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_FALSE(read_rfc3339(whole.substr(0, size), 1000)) << size;
    }
}

}  // namespace
}  // namespace tiderace::json
