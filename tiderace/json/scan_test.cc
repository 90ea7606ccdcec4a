#include "tiderace/json/scan.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace tiderace::json {
namespace {

constexpr std::size_t levels = 64;

TEST(JsonScan, FindsNoFaultInJson) {
    for (const std::string_view text :
         {"null", " true ", "false", "0", "-0", "-0.5e-3", "1E+2", R"("")", "[]", "{}", "[1, 2]",
          R"({"a": {"b": [null]}, "a": 1})", R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")", "\"é€😀\"",
          "1e-999", "0.00000000001"}) {
        EXPECT_FALSE(first_fault(text, levels)) << text;
    }
}

struct Wrong {
    std::string_view text;
    std::size_t offset;
    std::string_view problem;
};

TEST(JsonScan, NamesTheFirstByteThatIsWrong) {
    for (const Wrong& wrong : {
             Wrong{"", 0, "expected a value"},
             Wrong{"  ", 2, "expected a value"},
             Wrong{"nul", 3, "expected a value"},
             Wrong{"[1,]", 3, "expected a value"},
             Wrong{"[1 2]", 3, "expected ',' or ']' after the element"},
             Wrong{"[1", 2, "expected ',' or ']' after the element"},
             Wrong{R"({"a":1 "b":2})", 7, "expected ',' or '}' after the member"},
             Wrong{R"({"a")", 4, "expected ':' after the member's name"},
             Wrong{"{1:2}", 1, "expected a member's name in quotes"},
             Wrong{R"({"a" 1})", 5, "expected ':' after the member's name"},
             Wrong{R"({"a":1,})", 7, "expected a member's name in quotes"},
             Wrong{"[] []", 3, "expected the end of the text"},
             Wrong{"01", 1, "expected the end of the text"},
             Wrong{"-", 1, "expected a digit"},
             Wrong{"1.", 2, "expected a digit"},
             Wrong{"1e+", 3, "expected a digit"},
             Wrong{"+1", 0, "expected a value"},
             Wrong{"NaN", 0, "expected a value"},
             Wrong{" 1e999", 1, "a number beyond what a double can hold"},
             Wrong{"\"a", 2, "expected the quote that ends the string"},
             Wrong{"\"\n\"", 1, "a control character has to be escaped"},
             Wrong{R"("\x")", 2, "no such escape"},
             Wrong{R"("\u12G4")", 5, "expected four hexadecimal digits"},
             Wrong{R"("a\ud800")", 2, "half of a surrogate pair"},
             Wrong{R"("a\udc00")", 2, "half of a surrogate pair"},
             Wrong{R"("\ud800\u0041")", 1, "half of a surrogate pair"},
             Wrong{"\"\xC0\x80\"", 1, "not UTF-8"},
             Wrong{"\"\xED\xA0\x80\"", 1, "not UTF-8"},
             Wrong{std::string_view("\0", 1), 0, "expected a value"},
         }) {
        const auto fault = first_fault(wrong.text, levels);
        ASSERT_TRUE(fault) << wrong.text;
        EXPECT_EQ(fault->offset, wrong.offset) << wrong.text;
        EXPECT_EQ(fault->problem, wrong.problem) << wrong.text;
        EXPECT_FALSE(fault->too_deep);
    }
}

TEST(JsonScan, TellsNumbersTooLargeFromThoseTooSmall) {
    const std::string zeros(400, '0');
    for (const std::string& text :
         {"1" + zeros, std::string("10.5E5505555555555555555555"), std::string("0.5e999"),
          "-1" + zeros + "e-10", "0." + std::string(20, '0') + "1e400", std::string("9e+309")}) {
        EXPECT_TRUE(first_fault(text, levels)) << text;
    }
    for (const std::string& text :
         {"0." + zeros + "1", "1" + zeros + "e-400", "0." + zeros + "1e+400", std::string("0e999"),
          std::string("1e-99999999999999999999"), std::string("123.5e-999")}) {
        EXPECT_FALSE(first_fault(text, levels)) << text;
    }
}

TEST(JsonScan, StopsAtTheLevelsThatAreAllowed) {
    EXPECT_FALSE(first_fault("[[[]]]", 3));
    EXPECT_FALSE(first_fault("[[],[],{},[]]", 2)) << "levels that ended do not count";
    const auto fault = first_fault("[[[[]]]]", 3);
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->too_deep);
    EXPECT_EQ(fault->offset, 3u);
    EXPECT_TRUE(first_fault(std::string(10'000, '['), levels)->too_deep);
}

TEST(JsonScan, FindsAValueByItsPlace) {
    const std::string_view text = R"( {"a": [10, {"x}]\"": [], "b": 20}], "c" : 30 } )";
    EXPECT_EQ(offset_of(text, {}), 1u);
    EXPECT_EQ(offset_of(text, std::array<std::size_t, 1>{0}), text.find('['));
    EXPECT_EQ(offset_of(text, std::array<std::size_t, 2>{0, 0}), text.find("10"));
    EXPECT_EQ(offset_of(text, std::array<std::size_t, 3>{0, 1, 1}), text.find("20"));
    EXPECT_EQ(offset_of(text, std::array<std::size_t, 1>{1}), text.find("30"));
}

TEST(JsonScan, SeesWhereSurrogatesMayBe) {
    EXPECT_TRUE(may_have_surrogates(R"("\uD83D")"));
    EXPECT_TRUE(may_have_surrogates(R"("\u0041\udfff")"));
    EXPECT_FALSE(may_have_surrogates(R"("\u0041\ud7ff\ue000")"));
    EXPECT_FALSE(may_have_surrogates("\\u"));
    EXPECT_FALSE(may_have_surrogates("ud800"));
}

}  // namespace
}  // namespace tiderace::json
