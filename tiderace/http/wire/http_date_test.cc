#include "tiderace/http/wire/http_date.h"

#include <gtest/gtest.h>

#include <clocale>
#include <ctime>
#include <string>
#include <vector>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

constexpr UnixSeconds year_2026 = 1'767'225'600;  // 2026-01-01 00:00:00
constexpr UnixSeconds example = 784'111'777;      // the one in RFC 9110

std::string written(UnixSeconds time) {
    const auto text = format_http_date(time);
    return std::string(text.data(), text.size());
}

std::string written_by_the_system(UnixSeconds time, const char* format) {
    const std::time_t seconds = time;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 64> text;
    return std::string(text.data(), std::strftime(text.data(), text.size(), format, &parts));
}

std::optional<UnixSeconds> read(ByteView text) {
    return parse_http_date(text, year_2026);
}

TEST(HttpDate, WritesTheExampleOfTheStandard) {
    EXPECT_EQ(written(example), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(written(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(HttpDate, KnowsSeptemberAndDecember) {
    EXPECT_EQ(written(1'789'430'400), "Tue, 15 Sep 2026 00:00:00 GMT");
    EXPECT_EQ(written(1'798'761'599), "Thu, 31 Dec 2026 23:59:59 GMT");
    EXPECT_EQ(read("Tue, 15 Sep 2026 00:00:00 GMT"), 1'789'430'400);
    EXPECT_EQ(read("Thu, 31 Dec 2026 23:59:59 GMT"), 1'798'761'599);
}

TEST(HttpDate, ReadsAllThreeForms) {
    EXPECT_EQ(read("Sun, 06 Nov 1994 08:49:37 GMT"), example);
    EXPECT_EQ(read("Sunday, 06-Nov-94 08:49:37 GMT"), example);
    EXPECT_EQ(read("Sun Nov  6 08:49:37 1994"), example);
    EXPECT_EQ(read("Wed Nov 16 08:49:37 1994"), example + 10 * 86'400);
    EXPECT_EQ(read("Wednesday, 16-Nov-94 08:49:37 GMT"), example + 10 * 86'400);
}

TEST(HttpDate, KnowsLeapYears) {
    EXPECT_EQ(read("Tue, 29 Feb 2000 00:00:00 GMT"), 951'782'400);
    EXPECT_EQ(read("Thu, 29 Feb 2024 12:00:00 GMT"), 1'709'208'000);
    for (const ByteView text : {"Sun, 29 Feb 2026 00:00:00 GMT", "Mon, 29 Feb 2100 00:00:00 GMT",
                                "Mon, 01 Mar 2100 00:00:00 GMX"}) {
        EXPECT_EQ(read(text), std::nullopt) << text;
    }
    EXPECT_EQ(read("Mon, 01 Mar 2100 00:00:00 GMT"), 4'107'542'400);
}

TEST(HttpDate, ReadsALeapSecondAsTheNextSecond) {
    EXPECT_EQ(read("Sat, 31 Dec 2016 23:59:60 GMT"), read("Sun, 01 Jan 2017 00:00:00 GMT"));
    EXPECT_EQ(read("Sat, 31 Dec 2016 22:59:60 GMT"), std::nullopt);
    EXPECT_EQ(read("Fri, 31 Dec 9999 23:59:60 GMT"), std::nullopt);
}

TEST(HttpDate, PlacesATwoDigitYearAtMostFiftyYearsAhead) {
    auto year_of = [](ByteView text, UnixSeconds now) {
        const auto time = parse_http_date(text, now);
        return time ? written_by_the_system(*time, "%Y") : "none";
    };
    EXPECT_EQ(year_of("Wednesday, 01-Jan-76 00:00:00 GMT", year_2026), "2076");
    EXPECT_EQ(year_of("Saturday, 01-Jan-77 00:00:00 GMT", year_2026), "1977");
    EXPECT_EQ(year_of("Friday, 01-Jan-99 00:00:00 GMT", year_2026), "1999");
    EXPECT_EQ(year_of("Saturday, 01-Jan-00 00:00:00 GMT", year_2026), "2000");
    EXPECT_EQ(year_of("Sunday, 01-Jan-30 00:00:00 GMT", 3'471'292'800), "2130");  // in 2080
    const UnixSeconds year_1970 = 0;
    EXPECT_EQ(year_of("Wednesday, 01-Jan-20 00:00:00 GMT", year_1970), "2020");
    EXPECT_EQ(year_of("Wednesday, 01-Jan-69 00:00:00 GMT", year_1970), "none");
}

TEST(HttpDate, RefusesWhatIsNotADate) {
    const ByteView cases[] = {
        "",
        "0",
        "now",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,  6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Thu, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 ovD 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 06 Nov 1994 08:49:-1 GMT",
        "Sun, 06 Nov 1994 +8:49:37 GMT",
        "Sun, 06 Nov 1994 08.49.37 GMT",
        "Wed, 31 Dec 1969 23:59:59 GMT",
        "Sat, 01 Jan 0000 00:00:00 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Monday, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37",
        "Sunday",
        "Sunday,",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994 ",
        "Sun Nov  0 08:49:37 1994",
        "Mon Nov  6 08:49:37 1994",
        "Sun Nov   608:49:37 1994",
    };
    for (const ByteView text : cases) EXPECT_EQ(read(text), std::nullopt) << text;
}

TEST(HttpDate, RefusesADateWithAnyByteChanged) {
    for (const std::string text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                                   "Sunday, 06-Nov-94 08:49:37 GMT"}) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            std::string changed = text;
            changed[i] = '\0';
            EXPECT_EQ(read(changed), std::nullopt) << text << " at " << i;
            const std::vector<char> cut(text.begin(), text.begin() + i);  // asan sees one past
            EXPECT_EQ(read(ByteView(cut.data(), cut.size())), std::nullopt) << text << " at " << i;
        }
    }
}

TEST(HttpDate, AgreesWithTheSystemAndReadsBackWhatItWrote) {
    ASSERT_STREQ(std::setlocale(LC_TIME, nullptr), "C");  // NOLINT(concurrency-mt-unsafe)
    Random random(1);
    for (int i = 0; i < 20000; ++i) {
        const auto time = static_cast<UnixSeconds>(random.below(http_date_max + 1));
        const std::string imf = written(time);
        ASSERT_EQ(imf, written_by_the_system(time, "%a, %d %b %Y %H:%M:%S GMT"));
        ASSERT_EQ(read(imf), time);
        ASSERT_EQ(read(written_by_the_system(time, "%a %b %e %H:%M:%S %Y")), time);
        // The two-digit form is certain only near the present.
        const auto near = year_2026 + static_cast<UnixSeconds>(random.below(1'500'000'000));
        ASSERT_EQ(read(written_by_the_system(near, "%A, %d-%b-%y %H:%M:%S GMT")), near);
    }
}

TEST(HttpDate, WritesTheNearestDateForATimeOutsideItsYears) {
    EXPECT_EQ(written(-1), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(written(INT64_MIN), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(written(http_date_max), "Fri, 31 Dec 9999 23:59:59 GMT");
    EXPECT_EQ(written(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
}

}  // namespace
}  // namespace tiderace::http::wire
