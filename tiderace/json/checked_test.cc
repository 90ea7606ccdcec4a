#include "tiderace/json/checked.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace::json {
namespace {

TEST(JsonChecked, BehavesAsTheValueInside) {
    Range<int, 1, 10> range = 5;
    const int copy = range;
    EXPECT_EQ(copy + range, 10);
    EXPECT_TRUE(range == 5);
    EXPECT_TRUE(range == 5L);
    EXPECT_TRUE(range != 6);
    *range = 7;
    EXPECT_EQ(range.value, 7);
    const Range<int, 1, 10> same = 7;
    EXPECT_TRUE(range == same);

    Length<std::string, 1, 3> text = "ab";
    EXPECT_EQ(text->size(), 2u);
    EXPECT_TRUE(text == "ab");
    EXPECT_TRUE(text == std::string("ab"));
    const std::string& inside = text;
    EXPECT_EQ(inside, "ab");
}

TEST(JsonChecked, HoldsBothEnds) {
    using Percent = Range<int, 0, 100>;
    EXPECT_TRUE(Percent::holds(0) && Percent::holds(100));
    EXPECT_FALSE(Percent::holds(-1) || Percent::holds(101));
    EXPECT_EQ(Percent::expected(), "an integer from 0 to 100");
    EXPECT_EQ((Range<double, 0.5, 1e6>::expected()), "a number from 0.5 to 1e+06");
}

TEST(JsonChecked, CountsCharactersAndElements) {
    using Name = Length<std::string, 1, 3>;
    EXPECT_TRUE(Name::holds("€€€")) << "characters, not bytes";
    EXPECT_FALSE(Name::holds("abcd"));
    EXPECT_FALSE(Name::holds(""));
    EXPECT_EQ(Name::expected(), "a text of 1 to 3 characters");
    using Two = Length<std::vector<int>, 2, 2>;
    EXPECT_TRUE(Two::holds({1, 2}));
    EXPECT_FALSE(Two::holds({1}));
    EXPECT_EQ(Two::expected(), "an array of 2 elements");
}

TEST(JsonChecked, KeepsADefault) {
    struct Page {
        Default<int> number = 1;
        Default<std::string> order = "newest";
    };
    const Page page;
    EXPECT_TRUE(page.number == 1);
    EXPECT_TRUE(page.order == "newest");
    EXPECT_TRUE(Default<int>::may_be_missing);
    EXPECT_FALSE((Range<int, 0, 1>::may_be_missing));
}

}  // namespace
}  // namespace tiderace::json
