#include "server/config/toml.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::server::config {
namespace {

class TomlTest : public ::testing::Test {
  protected:
    Table parse(const std::string& text) {
        return parse_toml(sources_, sources_.add({"a.toml", text}), problems_);
    }

    Sources sources_;
    Problems problems_;
};

TEST_F(TomlTest, KeysAndValuesKnowTheirPlaceAndComeInTheOrderOfTheFile) {
    const Table table = parse("z = 1\na = \"é\"\n[t]\nx = [true, 2.5]\n");
    ASSERT_EQ(table.members.size(), 3U);
    EXPECT_EQ(table.members[0].key, "z");
    EXPECT_EQ(table.members[1].key, "a");
    EXPECT_EQ(table.members[1].value.at.line, 2U);
    EXPECT_EQ(table.members[1].value.at.column, 5U);
    const Table& inner = *table.members[2].value.get<Table>();
    const Array& list = *inner.find("x")->value.get<Array>();
    EXPECT_EQ(list[1].at.column, 12U);
    EXPECT_EQ(list[0].noun(), "true or false");
    EXPECT_EQ(list[1].noun(), "a fraction");
}

TEST_F(TomlTest, ASyntaxErrorIsOneProblemWithItsPlace) {
    EXPECT_TRUE(parse("a = 1\nb = \n").members.empty());
    ASSERT_EQ(problems_.errors(), 1U);
    EXPECT_EQ(problems_.sorted()[0].at.line, 2U);
}

TEST_F(TomlTest, AnErrorQuotesNoControlCharacter) {
    parse(std::string("a = t\0\0 erue\n", 13));
    ASSERT_EQ(problems_.errors(), 1U);
    const std::string text = problems_.text(sources_);
    EXPECT_NE(text.find("this is no TOML: "), text.npos) << text;
    EXPECT_EQ(text.find('\0'), text.npos);
}

TEST_F(TomlTest, AKeyOfTooManyPartsIsRefusedBeforeItIsATree) {
    std::string parts = "a";
    for (int i = 0; i < 200'000; ++i) parts += ".a";
    for (const std::string& text :
         {parts + " = 1\n", "[" + parts + "]\n", "b = {" + parts + " = 1}"}) {
        problems_ = {};
        EXPECT_TRUE(parse("x = 1.5\n" + text).members.empty());
        const std::string told = problems_.text(sources_);
        EXPECT_NE(told.find("a.toml:2:"), std::string::npos) << told;
        EXPECT_NE(told.find("a key has at most 100 parts"), std::string::npos) << told;
    }
}

// The most that is taken: the stack has room for it.
TEST_F(TomlTest, LongKeysInTablesInTablesAreATreeThatFits) {
    std::string key = "a";
    for (int i = 0; i < 98; ++i) key += ".a";
    const auto nested = [&](int depth) {
        std::string text = key + " = 1";
        for (int i = 0; i < depth; ++i) text = key + " = {b = 1, " + text + "}";
        return text + "\n";
    };
    const std::string text = "t = \"" + std::string(1'000, '.') + "\"\n";
    EXPECT_EQ(parse(text).members.size(), 1U) << problems_.text(sources_);
    EXPECT_EQ(parse(nested(7)).members.size(), 1U) << problems_.text(sources_);
    EXPECT_TRUE(parse(nested(8)).members.empty());
    EXPECT_TRUE(problems_.text(sources_).contains("this is no TOML: exceeded maximum nested"));
}

TEST_F(TomlTest, DotsOfTextsAndCommentsAreNoPartsOfAKey) {
    const std::string dots(1'000, '.');
    for (const std::string& text :
         {"# " + dots, "a = 1 # \"" + dots, "a = '" + dots + "'", "a = \"\\\"" + dots + "\"",
          "a = \"\"\"\n" + dots + "\"\n#" + dots + "\"\"\"", "a = '''\n" + dots + "'''"}) {
        EXPECT_EQ(parse(text + "\n").members.size(), text[0] == '#' ? 0U : 1U) << text.substr(0, 9);
        EXPECT_EQ(problems_.errors(), 0U) << problems_.text(sources_);
    }
    std::string deep = "b";
    for (int i = 0; i < 200; ++i) deep += ".b";
    std::size_t found = 0;
    for (const char* const before :
         {"'#'.", "t = { a = \"\"\"x\"\"\"\", ", "t = { a = \"\"\"\n#\"\"\", ", "t = { a = '\\', ",
          "t = { a = '''x'''', "}) {
        parse(before + deep + " = 1\n");
        EXPECT_EQ(problems_.errors(), ++found) << before;
        EXPECT_TRUE(problems_.text(sources_).contains("a key has at most 100 parts")) << before;
    }
}

TEST_F(TomlTest, WhatIsHostileEnds) {
    parse(std::string(100'000, '['));
    parse("a = " + std::string(100'000, '[') + "\n");
    parse("a = \"" + std::string(1'000'000, 'x'));
    parse(std::string("a = \"\0\"", 7));
    parse("\xff\xfe");
    // What toml++ 3.3 leaves to the compiler: a letter of Latin, Arabic and Runic beside a key.
    for (const char* const letter : {"\xc3\xbc", "\xc6\xa8", "\xd8\x8f", "\xe1\x9a\xa0"}) {
        parse("a" + std::string(letter) + " = 1");
    }
    EXPECT_EQ(problems_.errors(), 9U) << problems_.text(sources_);
    parse("");
    EXPECT_EQ(problems_.errors(), 9U);
}

}  // namespace
}  // namespace tiderace::server::config
