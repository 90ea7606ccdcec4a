#include "tiderace/json/pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::json {
namespace {

template <PatternText text>
bool fits(std::string_view subject) {
    static constexpr auto compiled = compile_pattern<text>();
    return matches(compiled, subject);
}

TEST(JsonPattern, MatchesTheWholeText) {
    EXPECT_TRUE(fits<"abc">("abc"));
    EXPECT_FALSE(fits<"abc">("ab"));
    EXPECT_FALSE(fits<"abc">("abcd"));
    EXPECT_FALSE(fits<"abc">("xabc"));
    EXPECT_TRUE(fits<"">(""));
    EXPECT_FALSE(fits<"">("a"));
}

TEST(JsonPattern, HasClassesAndEscapes) {
    EXPECT_TRUE(fits<"[a-c_]">("_"));
    EXPECT_FALSE(fits<"[a-c_]">("d"));
    EXPECT_TRUE(fits<"[^a-c]">("d"));
    EXPECT_FALSE(fits<"[^a-c]">("b"));
    EXPECT_TRUE(fits<R"(\d\w\s\.)">("7_\t."));
    EXPECT_FALSE(fits<R"(\.)">("x"));
    EXPECT_TRUE(fits<"[a-]">("-")) << "a minus at the end stands for itself";
    EXPECT_TRUE(fits<R"([\]\\])">("]"));
    EXPECT_TRUE(fits<R"(\[\(\|\)\^\$)">("[(|)^$"));
}

TEST(JsonPattern, RepeatsWhatStandsBeforeTheCount) {
    EXPECT_TRUE(fits<"ab?c">("ac"));
    EXPECT_TRUE(fits<"ab*c">("abbbbc"));
    EXPECT_TRUE(fits<"ab*c">("ac"));
    EXPECT_FALSE(fits<"ab+c">("ac"));
    EXPECT_TRUE(fits<"ab+c">("abbbc"));
    EXPECT_TRUE(fits<"a{3}">("aaa"));
    EXPECT_FALSE(fits<"a{3}">("aa"));
    EXPECT_FALSE(fits<"a{3}">("aaaa"));
    EXPECT_TRUE(fits<"a{2,}">("aaaaaaa"));
    EXPECT_FALSE(fits<"a{2,}">("a"));
    EXPECT_TRUE(fits<"a{0,2}b">("b"));
    EXPECT_TRUE(fits<"a{0,2}b">("aab"));
    EXPECT_FALSE(fits<"a{0,2}b">("aaab"));
    EXPECT_TRUE(fits<"a{0,}">(""));
    EXPECT_TRUE(fits<"[a-z][a-z0-9-]{0,30}">("tide-race-7"));
    EXPECT_TRUE(fits<"a*a">("aaaa")) << "what repeats leaves the last one to what follows";
}

TEST(JsonPattern, CountsCharactersOfUtf8) {
    EXPECT_TRUE(fits<".{3}">("aö€"));
    EXPECT_FALSE(fits<".{3}">("aö"));
    EXPECT_TRUE(fits<"[^a]">("😀"));
    EXPECT_FALSE(fits<"[a-z]">("ö"));
}

TEST(JsonPattern, TakesNoLongerForAnUnluckyText) {
    // Backtracking needs 2^40 steps here.
    const std::string text(40, 'a');
    EXPECT_FALSE((fits<"a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a*a*a*a*a*a*b">(text)));
    EXPECT_TRUE((fits<"a*a*a*a*a*a*a*">(std::string(pattern_text_bytes_max, 'a'))));
    EXPECT_FALSE((fits<"a*">(std::string(pattern_text_bytes_max + 1, 'a'))))
        << "longer than looked at";
}

}  // namespace
}  // namespace tiderace::json
