#include "tiderace/http/wire/entity_tag.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tiderace::http::wire {
namespace {

TEST(EntityTag, ReadsStrongAndWeakTags) {
    const auto strong = parse_entity_tag("\"abc\"");
    ASSERT_TRUE(strong);
    EXPECT_FALSE(strong->weak);
    EXPECT_EQ(strong->quoted, "\"abc\"");
    const auto weak = parse_entity_tag("W/\"abc\"");
    ASSERT_TRUE(weak);
    EXPECT_TRUE(weak->weak);
    EXPECT_EQ(weak->quoted, "\"abc\"");
    EXPECT_TRUE(parse_entity_tag("\"\""));
    EXPECT_TRUE(parse_entity_tag("\"a\\\""));
    EXPECT_TRUE(parse_entity_tag("\"\xC3\xA9,*!\""));
}

TEST(EntityTag, RefusesWhatIsNotOneTag) {
    for (const ByteView text :
         {"", "abc", "\"", "\"abc", "abc\"", "w/\"a\"", "W/", "W/abc", "W/ \"a\"", "W\"a\"", "'a'",
          "\"a b\"", "\"a\tb\"", "\"a\x7F\"", "\"a\" ", " \"a\"", "\"a\"b", "\"a\"\"b\"", "*"}) {
        EXPECT_FALSE(parse_entity_tag(text)) << text;
    }
}

TEST(EntityTag, ComparesAsTheTableOfTheStandard) {
    const EntityTag weak_1{true, "\"1\""}, weak_2{true, "\"2\""}, strong_1{false, "\"1\""};
    struct Case {
        EntityTag a, b;
        bool strong, weak;
    };
    const Case cases[] = {{weak_1, weak_1, false, true},
                          {weak_1, weak_2, false, false},
                          {weak_1, strong_1, false, true},
                          {strong_1, strong_1, true, true}};
    for (const Case& c : cases) {
        EXPECT_EQ(same_tag(c.a, c.b, TagCompare::strong), c.strong);
        EXPECT_EQ(same_tag(c.b, c.a, TagCompare::strong), c.strong);
        EXPECT_EQ(same_tag(c.a, c.b, TagCompare::weak), c.weak);
        EXPECT_EQ(same_tag(c.b, c.a, TagCompare::weak), c.weak);
    }
}

struct ListCase {
    ByteView value;
    bool strong, weak;
};

TEST(EntityTag, FindsTheCurrentTagInAList) {
    const EntityTag current{false, "\"b\""};
    const ListCase cases[] = {
        {"*", true, true},
        {" * ", true, true},
        {"\"b\"", true, true},
        {"\"a\"", false, false},
        {"W/\"b\"", false, true},
        {"\"a\", \"b\"", true, true},
        {"\"a\",\"b\",\"c\"", true, true},
        {"\t\"a\" ,\t W/\"b\"", false, true},
        {",\"a\",, \"b\",", true, true},
        {"\"a,b\"", false, false},
        {"\"a\\\", \"b\"", true, true},
        {"", false, false},
        {",", false, false},
        {"b", false, false},
        {"*, \"b\"", false, false},
        {"\"b\", *", false, false},
        {"\"b\" \"c\"", false, false},
        {"\"b\", c", false, false},
        {"\"b\", \"c", false, false},
        {"\"b\";q=1", false, false},
        {"\"B\"", false, false},
    };
    for (const ListCase& c : cases) {
        EXPECT_EQ(tag_list_matches(c.value, current, TagCompare::strong), c.strong) << c.value;
        EXPECT_EQ(tag_list_matches(c.value, current, TagCompare::weak), c.weak) << c.value;
    }
}

TEST(EntityTag, WithoutACurrentTagOnlyTheStarMatches) {
    EXPECT_TRUE(tag_list_matches("*", std::nullopt, TagCompare::strong));
    EXPECT_FALSE(tag_list_matches("\"a\"", std::nullopt, TagCompare::weak));
    EXPECT_FALSE(tag_list_matches("\"\"", std::nullopt, TagCompare::weak));
}

TEST(EntityTag, EveryPrefixOfAListIsReadWithinItsBounds) {
    const EntityTag current{false, "\"b\""};
    const std::string value = "\"a\", W/\"b\" , \"c\"";
    std::string matching;
    for (std::size_t size = 0; size <= value.size(); ++size) {
        const std::vector<char> exact(value.begin(), value.begin() + size);
        const ByteView view(exact.data(), exact.size());
        matching += tag_list_matches(view, current, TagCompare::weak) ? '+' : '-';
    }
    EXPECT_EQ(matching, "----------++++--+");
}

TEST(EntityTag, WritesATagThatItReads) {
    const auto text = format_entity_tag(0x18a3f0c2b5e91d00, 1024, 753);
    EXPECT_EQ(text.view(), "\"18a3f0c2b5e91d00-400-2f1\"");
    const auto longest = format_entity_tag(-1, ~std::uint64_t{0}, ~std::uint64_t{0});
    EXPECT_EQ(longest.size(), 52u);
    EXPECT_FALSE(parse_entity_tag(longest.view())->weak);
}

TEST(EntityTag, DiffersWhenAnyFactDiffers) {
    std::set<std::string> tags;
    for (std::int64_t modified : {1, 0x11}) {
        for (std::uint64_t size : {1, 0x11}) {
            for (std::uint64_t inode : {1, 0x11}) {
                const auto tag = format_entity_tag(modified, size, inode);
                tags.emplace(tag.view());
            }
        }
    }
    EXPECT_EQ(tags.size(), 8u);
}

TEST(EntityTagText, ASuffixStandsInsideTheQuotes) {
    const auto tag = format_entity_tag(1, 2, 3);
    const auto longer = append_to_tag(tag.view(), "gzip");
    EXPECT_EQ(longer.view(), "\"1-2-3-gzip\"");
    const auto longest = format_entity_tag(-1, UINT64_MAX, UINT64_MAX);
    const std::string suffix(tag_suffix_bytes_max, 'x');
    const auto most = append_to_tag(longest.view(), suffix);
    EXPECT_TRUE(most.view().ends_with("x\""));
}

}  // namespace
}  // namespace tiderace::http::wire
