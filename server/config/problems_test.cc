#include "server/config/problems.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::server::config {
namespace {

class ProblemsTest : public ::testing::Test {
  protected:
    Sources sources_;
    Problems problems_;
};

TEST_F(ProblemsTest, ComeInTheOrderOfTheFileWithAMarkUnderThePlace) {
    const std::uint32_t file = sources_.add({"a.toml", "one = 1\r\ntwo = \"é\"  # x\n"});
    problems_.warning({file, 2, 7, 3}, "the second");
    problems_.error({file, 1, 1, 3}, "the first", "take it out");
    EXPECT_EQ(problems_.text(sources_),
              "a.toml:1:1: error: the first\n"
              " 1 | one = 1\n"
              "   | ^^^\n"
              "   = take it out\n"
              "a.toml:2:7: warning: the second\n"
              " 2 | two = \"é\"  # x\n"
              "   |       ^^^\n"
              "1 error, 1 warning\n");
}

TEST_F(ProblemsTest, AFileAsAWholeHasNoLine) {
    problems_.error({.file = sources_.add({"a.toml", ""})}, "it is empty");
    EXPECT_EQ(problems_.text(sources_), "a.toml: error: it is empty\n1 error\n");
}

TEST_F(ProblemsTest, NothingIsSaidOfNothing) {
    EXPECT_EQ(problems_.text(sources_), "");
}

TEST_F(ProblemsTest, NoControlCharacterReachesATerminal) {
    const std::uint32_t file =
        sources_.add({"a.toml", "x = \"\x1b[2J\xc2\x9b\xff\xe2\x80\xae\"\tend"});
    problems_.error({file, 1, 1, 1}, "no file \x1b[2J", "not \x07\xc2\x9b");
    const std::string text = problems_.text(sources_);
    EXPECT_NE(text.find(" 1 | x = \" [2J   \" end\n"), std::string::npos) << text;
    EXPECT_NE(text.find("error: no file ?[2J\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" = not ??\n"), std::string::npos) << text;
}

TEST_F(ProblemsTest, ALongLineIsShownAroundThePlace) {
    const std::uint32_t file =
        sources_.add({"a.toml", std::string(5'000, 'a') + "HERE" + std::string(5'000, 'b')});
    problems_.error({file, 1, 5'001, 4}, "what");
    const std::string text = problems_.text(sources_);
    EXPECT_LT(text.size(), 300U);
    const std::size_t here = text.find("HERE");
    ASSERT_NE(here, std::string::npos) << text;
    // Characters, not bytes, stand above one another: "…" is one of three bytes.
    const std::size_t line = text.rfind('\n', here) + 1;
    const std::size_t mark_line = text.find('\n', here) + 1;
    EXPECT_EQ(text.find('^') - mark_line, here - line - 2) << text;
    EXPECT_NE(text.find("^^^^\n"), std::string::npos) << text;
}

TEST_F(ProblemsTest, BehindAHundredTheRestIsCounted) {
    const std::uint32_t file = sources_.add({"a.toml", "a\n"});
    for (std::size_t i = 0; i < Problems::problems_max + 7; ++i) problems_.error({file, 1, 1}, "x");
    const std::string text = problems_.text(sources_);
    EXPECT_TRUE(text.ends_with("… and 7 more\n107 errors\n")) << text;
    EXPECT_EQ(problems_.sorted().size(), Problems::problems_max);
}

TEST_F(ProblemsTest, APlaceThatIsNotThereHasNoLine) {
    const std::uint32_t file = sources_.add({"a.toml", "a\n"});
    EXPECT_EQ(sources_.line_of({file, 9, 1}), "");
    EXPECT_EQ(sources_.line_of({7, 1, 1}), "");
}

}  // namespace
}  // namespace tiderace::server::config
