#include "tiderace/resp/inline_command.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tiderace::resp {
namespace {

using ::testing::ElementsAre;

std::optional<std::vector<std::string>> split(ByteView line) {
    std::string text;
    std::vector<Range> ranges;
    if (!split_inline(line, text, ranges)) return std::nullopt;
    std::vector<std::string> words;
    for (const Range& range : ranges) words.push_back(text.substr(range.offset, range.bytes));
    return words;
}

TEST(InlineCommand, WordsAreSeparatedBySpaces) {
    EXPECT_THAT(split("SET name  value \t").value(), ElementsAre("SET", "name", "value"));
    EXPECT_THAT(split("").value(), ElementsAre());
    EXPECT_THAT(split("  ").value(), ElementsAre());
}

TEST(InlineCommand, QuotesHoldSpacesAndEscapes) {
    EXPECT_THAT(split(R"(set "a b" 'c d')").value(), ElementsAre("set", "a b", "c d"));
    EXPECT_THAT(split(R"("\x41\n\t\"\\\q\x4" '\x41\'')").value(),
                ElementsAre("A\n\t\"\\qx4", "\\x41'"));
    EXPECT_THAT(split(R"("" '' x"y")").value(), ElementsAre("", "", "xy"));
}

TEST(InlineCommand, QuotesThatDoNotCloseOrEndInAWordAreRefused) {
    for (const char* bad : {R"("a)", R"('a)", R"("a"b)", R"('a'b)", R"("a\)", R"(x "\x4)"}) {
        EXPECT_EQ(split(bad), std::nullopt) << bad;
    }
    for (const ByteView bad : {R"("a")", R"('a')"}) {
        EXPECT_EQ(split(bad.substr(0, 2)), std::nullopt) << "closed behind the line";
    }
}

}  // namespace
}  // namespace tiderace::resp
