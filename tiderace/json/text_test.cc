#include "tiderace/json/text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tiderace::json {
namespace {

struct Made {
    std::string text;
    bool is_exact;
};

Made made_text(auto&& write) {
    Made result;
    TextOut out(result.text);
    write(out);
    result.is_exact = out.is_exact();
    out.flush();
    return result;
}

std::string in_quotes(std::string_view text) {
    return made_text([&](TextOut& out) { out.string(text); }).text;
}

std::string number(auto value) {
    return made_text([&](TextOut& out) { out.number(value); }).text;
}

TEST(JsonText, EscapesWhatAStringMayNotHave) {
    EXPECT_EQ(in_quotes(""), R"("")");
    EXPECT_EQ(in_quotes(std::string_view()), R"("")");
    EXPECT_EQ(in_quotes("plain"), R"("plain")");
    EXPECT_EQ(in_quotes("\"\\/\b\f\n\r\t"), R"("\"\\/\b\f\n\r\t")");
    EXPECT_EQ(in_quotes(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
    EXPECT_EQ(in_quotes("é€😀"), "\"é€😀\"");
}

TEST(JsonText, EscapesAtEveryPlaceOfAString) {
    for (std::size_t size = 1; size <= 40; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            std::string text(size, 'x');
            text[at] = '"';
            std::string escaped = "\"" + text + "\"";
            escaped.insert(at + 1, "\\");
            EXPECT_EQ(in_quotes(text), escaped) << at;
        }
    }
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {
    for (const std::string_view bad :
         {"\x80", "\xFF", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82",
          "\xF0\x8F\xBF\xBF", "\xC3"}) {
        const Made result = made_text([&](TextOut& out) { out.string(bad); });
        EXPECT_FALSE(result.is_exact) << bad;
        EXPECT_EQ(result.text.find("\xEF\xBF\xBD"), 1u) << bad;
    }
    EXPECT_EQ(in_quotes("a\x80z"), "\"a\xEF\xBF\xBDz\"");
    const auto last = [](TextOut& out) { out.string("\xF4\x8F\xBF\xBF\xEE\x80\x80"); };
    EXPECT_TRUE(made_text(last).is_exact);
}

TEST(JsonText, WritesNumbersShort) {
    EXPECT_EQ(number(0.1), "0.1");
    EXPECT_EQ(number(0.1f), "0.1");
    EXPECT_EQ(number(2.0), "2");
    EXPECT_EQ(number(-0.0), "-0.0");
    EXPECT_EQ(number(1e300), "1e+300");
    EXPECT_EQ(number(5e-324), "5e-324");
    EXPECT_EQ(number(123456789012345680000.0), "1.2345678901234568e+20");
    EXPECT_EQ(number(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
}

TEST(JsonText, WritesFewDecimalsAsTheShortestSearchDoes) {
    const auto expect_shortest = [](double value) {
        char digits[32];
        const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
        EXPECT_EQ(number(value), std::string_view(digits, end));
    };
    for (int thousands = -12'000; thousands <= 12'000; ++thousands) {
        if (thousands == 0) continue;
        const double value = thousands / 1000.0;
        expect_shortest(value);
        expect_shortest(std::nextafter(value, 1e9));
        expect_shortest(std::nextafter(value, -1e9));
    }
    for (const double value : {99'999'999'999.999, 999'999'999'999.999, 1'000'000'000'000.5,
                               999'999'999'999.9999, 123'456'789'012.125, 1e11 + 0.001}) {
        expect_shortest(value);
        expect_shortest(-value);
    }
}

TEST(JsonText, HasNoWordForWhatIsNoNumber) {
    for (const double value :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity()}) {
        const Made result = made_text([&](TextOut& out) { out.number(value); });
        EXPECT_EQ(result.text, "null");
        EXPECT_FALSE(result.is_exact);
    }
}

TEST(JsonText, WritesIntegersToTheirLimits) {
    const auto integer = [](auto value) {
        return made_text([&](TextOut& out) { out.integer(value); }).text;
    };
    EXPECT_EQ(integer(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(integer(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(JsonText, GoesOnWhereTheBlockEnds) {
    std::string expected;
    const Made result = made_text([&](TextOut& out) {
        for (std::int64_t i = 0; i < 3000; ++i) {
            out.integer(i);
            out.put(',');
            expected += std::to_string(i) + ",";
        }
        out.string(std::string(2000, 'y'));
        expected += "\"" + std::string(2000, 'y') + "\"";
    });
    EXPECT_EQ(result.text, expected);
}

TEST(JsonText, WritesAMemberAtEveryPlaceOfTheBlock) {
    const std::string long_name(TextOut::block_bytes, 'n');
    for (std::size_t before = 0; before <= TextOut::block_bytes; ++before) {
        const std::string space(before, ' ');
        const Made result = made_text([&](TextOut& out) {
            out.put(space);
            out.member('{', "name");
            out.member(',', long_name);
        });
        EXPECT_EQ(result.text, space + "{\"name\":,\"" + long_name + "\":") << before;
    }
}

}  // namespace
}  // namespace tiderace::json
