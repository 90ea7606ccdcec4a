#include "tiderace/http/wire/bounded_text.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

TEST(BoundedText, HoldsWhatWasAppendedInOrder) {
    std::array<char, 16> memory;
    BoundedText text(memory);
    EXPECT_TRUE(text.append("bytes "));
    EXPECT_TRUE(text.append_number(255));
    EXPECT_TRUE(text.append('/'));
    EXPECT_TRUE(text.append_number(255, 16));
    EXPECT_EQ(text.view(), "bytes 255/ff");
    EXPECT_EQ(text.room(), 4u);
}

TEST(BoundedText, AnAppendThatDoesNotFitChangesNothing) {
    std::array<char, 4> memory;
    BoundedText text(memory);
    EXPECT_TRUE(text.append("abc"));
    EXPECT_FALSE(text.append("de"));
    EXPECT_FALSE(text.append_number(10));
    EXPECT_EQ(text.view(), "abc");
    EXPECT_TRUE(text.append('d'));
    EXPECT_FALSE(text.append('e'));
    EXPECT_TRUE(text.append(""));
    EXPECT_EQ(text.view(), "abcd");
}

TEST(BoundedText, ShrinksBackToAnEarlierSize) {
    std::array<char, 8> memory;
    BoundedText text(memory);
    text.append("keep");
    const std::size_t kept = text.size();
    text.append("drop");
    text.shrink_to(kept);
    EXPECT_EQ(text.view(), "keep");
    text.clear();
    EXPECT_EQ(text.view(), "");
    EXPECT_EQ(text.room(), 8u);
}

TEST(BoundedTextDeathTest, RefusesToShrinkToMoreThanItHolds) {
    std::array<char, 8> memory;
    BoundedText text(memory);
    EXPECT_DEATH(text.shrink_to(1), "shrink");
}

TEST(FixedText, KeepsItsBytesWhenCopied) {
    FixedText<20> text;
    text.add("max ").add_number(~std::uint64_t{0}, 16);
    const FixedText<20> copy = text;
    EXPECT_EQ(copy.view(), "max ffffffffffffffff");
}

TEST(FixedTextDeathTest, AbortsWhenItsFormatIsLongerThanItsSize) {
    FixedText<2> text;
    EXPECT_DEATH(text.add("abc"), "too small");
    EXPECT_DEATH(text.add_number(100), "too small");
}

}  // namespace
}  // namespace tiderace::http::wire
