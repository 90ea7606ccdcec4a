#include "tiderace/base/calendar.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tiderace/base/random.h"

namespace tiderace {
namespace {

std::string text_of(std::int64_t ticks, std::int64_t per_second) {
    char room[rfc3339_bytes_max];
    return std::string(write_rfc3339(room, ticks, per_second));
}

TEST(Calendar, KnowsTheDateOfASecond) {
    struct Case {
        UnixSeconds time;
        CivilTime civil;
    };
    const Case cases[] = {
        {0, {}},
        {-1, {1969, 12, 31, 365, 3, 23, 59, 59}},
        {784'111'777, {1994, 11, 6, 310, 0, 8, 49, 37}},
        {951'782'400, {2000, 2, 29, 60, 2, 0, 0, 0}},
        {978'307'199, {2000, 12, 31, 366, 0, 23, 59, 59}},
        {4'107'542'400, {2100, 3, 1, 60, 1, 0, 0, 0}},
        {-62'135'596'800, {1, 1, 1, 1, 1, 0, 0, 0}},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(civil_time(one.time), one.civil) << one.time;
        EXPECT_EQ(midnight_of(one.civil.year, one.civil.month, one.civil.day),
                  one.time - one.civil.hour * 3'600 - one.civil.minute * 60 - one.civil.second);
    }
    EXPECT_EQ(civil_time(784'111'777).month_name(), "November");
    EXPECT_EQ(short_name(civil_time(784'111'777).weekday_name()), "Sun");
}

TEST(Calendar, EndsWithTheYearsThatItHas) {
    EXPECT_EQ(civil_time(std::numeric_limits<UnixSeconds>::max()).year, 29'349);
    EXPECT_EQ(civil_time(std::numeric_limits<UnixSeconds>::min()).year, -25'410);
    EXPECT_EQ(civil_time(std::numeric_limits<UnixSeconds>::min()).second, 52U);
}

TEST(Calendar, HasNoSecondsOfADateThatIsNone) {
    EXPECT_EQ(midnight_of(2024, 2, 29), 1'709'164'800);
    for (const auto& [year, month, day] : {std::array{2023U, 2U, 29U},
                                           {1900U, 2U, 29U},
                                           {2026U, 13U, 1U},
                                           {2026U, 0U, 1U},
                                           {2026U, 4U, 31U},
                                           {2026U, 1U, 0U}}) {
        EXPECT_EQ(midnight_of(static_cast<int>(year), month, day), std::nullopt)
            << year << '-' << month << '-' << day;
    }
}

TEST(Calendar, ATextOfFixedFormIsBadFromItsFirstFaultOn) {
    FixedTextReader good("12:34");
    EXPECT_EQ(good.number(2), 12);
    EXPECT_FALSE(good.skip("-"));
    EXPECT_TRUE(good.skip(":"));
    EXPECT_FALSE(good.done());
    EXPECT_EQ(good.number(2), 34);
    EXPECT_TRUE(good.done());
    for (const auto text : {"1", "1:", "12-3", "12:3x", "12:345", "-1:34", ""}) {
        FixedTextReader bad(text);
        bad.number(2);
        bad.expect(":");
        bad.number(2);
        EXPECT_FALSE(bad.done()) << text;
    }
}

TEST(SqlTime, MayLackWhatRfc3339Requires) {
    const std::int64_t half_past = 1'795'343'400;
    for (const auto text :
         {"2026-11-22 10:30:00", "2026-11-22T10:30:00Z", "2026-11-22 12:30:00+02",
          "2026-11-22 05:00:00-0530", "2026-11-22 11:30:00+01:00", "2026-11-22 10:30:00.999"}) {
        EXPECT_EQ(read_sql_time(text, 1), half_past) << text;
    }
    EXPECT_EQ(read_sql_time("1970-01-02", 1'000), 86'400'000);
    for (const auto text :
         {"", "2026-11-22 ", "2026-11-22 10:30", "2026-11-22 10:30:00+", "2026-11-22 10:30:00+1",
          "2026-11-22 10:30:00+01:", "2026-11-22 10:30:00+01:0", "2026-11-22 10:30:00+24",
          "2026-11-22 10:30:00+01:60", "0000-00-00", "0000-01-01", "2026-02-30"}) {
        EXPECT_EQ(read_sql_time(text, 1), std::nullopt) << text;
    }
    // And Rfc3339 stays strict.
    for (const auto text : {"2026-11-22", "2026-11-22 10:30:00", "2026-11-22T12:30:00+02",
                            "2026-11-22T05:00:00-0530"}) {
        EXPECT_EQ(read_rfc3339(text, 1), std::nullopt) << text;
    }
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
}  // namespace tiderace
