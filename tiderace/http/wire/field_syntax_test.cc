#include "tiderace/http/wire/field_syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace::http::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> elements(ByteView value) {
    std::vector<std::string> found;
    for (ListReader list(value); list.next();) found.emplace_back(list.element());
    return found;
}

bool malformed(ByteView value) {
    ListReader list(value);
    while (list.next()) {
    }
    return list.malformed();
}

TEST(FieldSyntax, TokenBytesAreThoseOfTheRfc) {
    const std::string tokens =
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        EXPECT_EQ(is(token_byte, c), tokens.find(c) != std::string::npos) << byte;
    }
}

TEST(FieldSyntax, ValuesHoldAllButControls) {
    for (int byte = 0; byte < 256; ++byte) {
        const bool control = (byte < 0x20 && byte != '\t') || byte == 0x7f;
        EXPECT_EQ(is(value_byte, static_cast<char>(byte)), !control) << byte;
    }
}

TEST(FieldSyntax, TargetsHoldVisibleAsciiWithoutTheHash) {
    for (int byte = 0; byte < 256; ++byte) {
        const bool allowed = byte > 0x20 && byte < 0x7f && byte != '#';
        EXPECT_EQ(is(target_byte, static_cast<char>(byte)), allowed) << byte;
    }
}

TEST(FieldSyntax, HostsHoldNoDelimitersOfUrls) {
    for (const char c : std::string_view("/?#[]@:%\"<>\\^`{|} \t\r\n\x7f\x80\xff")) {
        EXPECT_FALSE(is(host_byte, c)) << static_cast<int>(c);
    }
    EXPECT_TRUE(all(host_byte, "exa_mple-1.test~!$&'()*+,;="));
}

TEST(FieldSyntax, ATokenIsNeverEmpty) {
    EXPECT_TRUE(is_token("chunked"));
    EXPECT_FALSE(is_token(""));
    EXPECT_FALSE(is_token("a b"));
    EXPECT_TRUE(is_field_value(""));
    EXPECT_FALSE(is_field_value("a\rb"));
}

TEST(ListReader, PartsAtCommasAndTrims) {
    EXPECT_THAT(elements("a, b\t,c"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(elements("a b;q=1"), ElementsAre("a b;q=1"));
}

TEST(ListReader, PassesOverEmptyElementsAndSaysSo) {
    EXPECT_THAT(elements(",a, ,b,"), ElementsAre("a", "b"));
    EXPECT_THAT(elements(""), IsEmpty());
    EXPECT_THAT(elements(" , ,"), IsEmpty());
    ListReader clean("a, b");
    while (clean.next()) {
    }
    EXPECT_FALSE(clean.had_empty());
    ListReader gaps("a,, b");
    while (gaps.next()) {
    }
    EXPECT_TRUE(gaps.had_empty());
}

TEST(ListReader, CommasInQuotedStringsDoNotPart) {
    EXPECT_THAT(elements(R"("a,b", c)"), ElementsAre(R"("a,b")", "c"));
    EXPECT_THAT(elements(R"(x="a\",b",c)"), ElementsAre(R"(x="a\",b")", "c"));
    EXPECT_THAT(elements(R"("a\\",b)"), ElementsAre(R"("a\\")", "b"));
}

TEST(ListReader, ReadsNothingBehindItsBytes) {
    for (const ByteView longer : {"a\"", "a,", "a\\"}) {
        EXPECT_THAT(elements(longer.substr(0, 1)), ElementsAre("a"));
        EXPECT_FALSE(malformed(longer.substr(0, 1))) << longer;
    }
}

TEST(ListReader, AnOpenQuoteIsMalformed) {
    EXPECT_TRUE(malformed(R"(a, "b)"));
    EXPECT_TRUE(malformed(R"("a\)"));
    EXPECT_TRUE(malformed(R"("a\")"));
    EXPECT_THAT(elements(R"(a, "b)"), ElementsAre("a"));
    EXPECT_FALSE(malformed(R"(a, "b")"));
}

}  // namespace
}  // namespace tiderace::http::wire
