#include "examples/tidepool/post_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tidepool {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string links(std::string_view body) {
    std::string out;
    std::string whole;
    for (const Part& part : parts_of(body)) {
        whole += part.text;
        if (!part.href.empty()) out += "[" + part.text + " " + part.href + "]";
    }
    EXPECT_EQ(whole, body);
    return out;
}

TEST(PostText, FoldedTextHasSmallLettersOfEachAlphabet) {
    EXPECT_EQ(folded("Ébb TIDE Ωμέγα ПРИЛИВ Ёж 潮 😀"), "ébb tide ωμέγα прилив ёж 潮 😀");
    EXPECT_EQ(folded(""), "");
}

TEST(PostText, GramsArePairsInsideWords) {
    EXPECT_THAT(grams_of("abc ab x"), ElementsAre("6162", "6263"));
    EXPECT_THAT(grams_of("潮水"), ElementsAre("e6bdaee6b0b4"));
    EXPECT_THAT(grams_of("a b\nc"), IsEmpty());
    EXPECT_THAT(words_of("  a\tbc \n"), ElementsAre("a", "bc"));
}

TEST(PostText, TagsNamesAndAddressesAreLinks) {
    EXPECT_EQ(links("plain"), "");
    EXPECT_EQ(links("a #Tide, @Ann!"), "[#Tide /tags/tide][@Ann /members/ann]");
    EXPECT_EQ(links("(https://example.org/a?b=c)."),
              "[https://example.org/a?b=c https://example.org/a?b=c]");
    EXPECT_EQ(links("去 https://example.org/，好"), "[https://example.org/ https://example.org/]");
    EXPECT_EQ(links("#潮汐，好"), "[#潮汐 /tags/%E6%BD%AE%E6%B1%90]");
}

TEST(PostText, WhatOnlyLooksLikeThemStaysText) {
    for (const char* body : {"bob@ann.example", "a#b", "#", "#1", "@ab", "@", "https://", "http:/x",
                             "javascript:alert(1)", "##", "＃tide"}) {
        EXPECT_EQ(links(body), "") << body;
    }
}

TEST(PostText, TagsAndMentionsComeOnceAndFewOfThem) {
    EXPECT_THAT(tags_of("#b #A #a #b"), ElementsAre("b", "a"));
    EXPECT_THAT(mentions_of("@Ann @bob @ann"), ElementsAre("ann", "bob"));
    std::string many;
    for (char c = 'a'; c <= 'z'; ++c) many += std::string(" #tag") + c;
    EXPECT_EQ(tags_of(many).size(), tags_max);
    EXPECT_THAT(tags_of("none"), IsEmpty());
}

TEST(PostText, TextIsTidied) {
    EXPECT_EQ(tidied(" a\r\nb\rc\n "), "a\nb\nc");
    EXPECT_EQ(tidied(std::string_view("\0a\x1b[1mb\x7f", 8)), "a[1mb");
    EXPECT_EQ(tidied(" \n\t"), "");
    EXPECT_EQ(count_characters("a海🌊"), 3U);
    EXPECT_EQ(shortened("海海海", 2), "海海…");
    EXPECT_EQ(shortened("海海", 2), "海海");
}

TEST(PostText, APatternMeansItsTextAsItIs) {
    EXPECT_EQ(containing("100 %_!"), "%100 !%!_!!%");
}

TEST(PostText, UserNamesAreSmallAndPlain) {
    for (const char* name : {"ann", "a_1", "123", "abcdefghijklmnopqrstuvwxyz1234"}) {
        EXPECT_TRUE(is_username(name)) << name;
    }
    for (const char* name :
         {"", "ab", "Ann", "a b", "a-b", "ann!", "abcdefghijklmnopqrstuvwxyz12345", "áá"}) {
        EXPECT_FALSE(is_username(name)) << name;
    }
}

}  // namespace
}  // namespace tidepool
