#include "server/config/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tiderace::server::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string format(std::string_view text) {
    const Formatted once = format_toml(text);
    EXPECT_EQ(format_toml(once.text).text, once.text) << "formatted twice";
    EXPECT_THAT(format_toml(once.text).changed_lines, IsEmpty());
    return once.text;
}

TEST(Format, SpacesAreAsInTheDocuments) {
    struct Case {
        std::string_view before;
        std::string_view after;
    };
    constexpr Case cases[] = {
        {"a=1", "a = 1\n"},
        {"  a\t=   1  \n", "a = 1\n"},
        {"a.b . \"c d\".e=true\n", "a.b.\"c d\".e = true\n"},
        {"[ a . b ]\n", "[a.b]\n"},
        {"[[ site ]] # one\n", "[[site]]   # one\n"},
        {"a=[ 1,2 , 3 ]\n", "a = [1, 2, 3]\n"},
        {"a=[1,]\n", "a = [1,]\n"},
        {"a=[ ]\nb={ }\n", "a = []\nb = {}\n"},
        {"a={b=1,c={d=[{e=2}]}}\n", "a = { b = 1, c = { d = [{ e = 2 }] } }\n"},
        {"a={b . c=1}\n", "a = { b.c = 1 }\n"},
        {"a = 1979-05-27  07:32:00\n", "a = 1979-05-27 07:32:00\n"},
        {"a = -1.5e+3\n", "a = -1.5e+3\n"},
        {"a = \"x=[1,2]#no\"\n", "a = \"x=[1,2]#no\"\n"},
        {"a = 'C:\\' # a literal\n", "a = 'C:\\'  # a literal\n"},
        {"a = \"\\\"#\" #b\n", "a = \"\\\"#\"  #b\n"},
    };
    for (const Case& each : cases) EXPECT_EQ(format(each.before), each.after);
}

TEST(Format, LinesOfAListAreIndented) {
    EXPECT_EQ(format("route=[\n{path=\"/a\"},#first\n    # second\n\t[\n1\n]\n   ]\n"),
              "route = [\n  { path = \"/a\" },  #first\n  # second\n  [\n    1\n  ]\n]\n");
}

TEST(Format, ACommentStaysInItsColumnWhereThatHasRoom) {
    EXPECT_EQ(format("a=1     # x\nbb = 22 # y\nccc=3 #   z  \n#alone\n  # moved\n"),
              "a = 1   # x\nbb = 22  # y\nccc = 3  #   z\n#alone\n# moved\n");
}

TEST(Format, OneEmptyLineIsEnoughAndNoneIsAtTheEnds) {
    EXPECT_EQ(format("\n\n \na = 1\n\n\n\nb = 2\n\n\n"), "a = 1\n\nb = 2\n");
    EXPECT_EQ(format(""), "");
    EXPECT_EQ(format("\n\n"), "");
    EXPECT_EQ(format("   "), "");
}

TEST(Format, LongStringsStayAsTheyAre) {
    const std::string_view text =
        "a = \"\"\"\n  x = [ 1,2 ]  \n\n\n# no comment\\\"\"\" \"\"\"\"\"  # y\nb = '''\n\t "
        "\\'''\n";
    EXPECT_EQ(format(text), text);
    EXPECT_EQ(format("a=\"\"\"x\n y\"\"\"# c\n"), "a = \"\"\"x\n y\"\"\"  # c\n");
}

TEST(Format, LineEndsAreThoseOfTheFirstLine) {
    EXPECT_EQ(format("a=1\r\nb=2\nc=3"), "a = 1\r\nb = 2\r\nc = 3\r\n");
    EXPECT_EQ(format("a=1\nb=2\r\n# c\r\n"), "a = 1\nb = 2\n# c\n");
    EXPECT_EQ(format("\xEF\xBB\xBF"
                     "a=1\n"),
              "\xEF\xBB\xBF"
              "a = 1\n");
}

TEST(Format, NamesTheLinesThatChange) {
    const auto lines = [](std::string_view text) { return format_toml(text).changed_lines; };
    EXPECT_THAT(lines("a = 1\nb=2\n\n\nc = '''\n\n'''\nd=4\n"), ElementsAre(2, 4, 8));
    EXPECT_THAT(lines("a = 1"), ElementsAre(1));
    EXPECT_THAT(lines("\na = 1\n\n"), ElementsAre(1, 3));
    EXPECT_THAT(lines("a = 1\r\nb = 2\n"), ElementsAre(2));
}

TEST(Format, EndsWhateverTheTextIs) {
    for (const std::string_view text :
         {"]]]}}", "[[[{{{", "a = \"", "a = '''x", "\"\\", "=,=,", "\r", "a\rb", "'''''''"}) {
        EXPECT_FALSE(format_toml(text).text.empty());
    }
}

TEST(Format, AVeryLongLineIsOne) {
    std::string list = "a=[";
    for (int i = 0; i < 100'000; ++i) list += "1,";
    const std::string whole = format(list + "]\n");
    EXPECT_EQ(whole.size(), list.size() + 2 + 2 + 99'999) << "spaces around = and behind commas";
}

}  // namespace
}  // namespace tiderace::server::config
