#include "tiderace/base/whole_characters.h"

#include <gtest/gtest.h>

namespace tiderace {
namespace {

TEST(WholeCharacters, AreTheBeginningThatFits) {
    EXPECT_EQ(whole_characters("", 0), "");
    EXPECT_EQ(whole_characters("ab", 2), "ab");
    EXPECT_EQ(whole_characters("abc", 2), "ab");
    EXPECT_EQ(whole_characters("a€b", 5), "a€b");
    EXPECT_EQ(whole_characters("a€b", 4), "a€");
    EXPECT_EQ(whole_characters("a€b", 3), "a");
    EXPECT_EQ(whole_characters("a€b", 1), "a");
    EXPECT_EQ(whole_characters("\x80\x80\x80", 2), "") << "no character begins there";
}

}  // namespace
}  // namespace tiderace
