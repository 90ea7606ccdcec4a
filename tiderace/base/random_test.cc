#include "tiderace/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tiderace {
namespace {

TEST(Random, GivesThePublishedSequenceOfItsAlgorithm) {
    // xoshiro256** seeded by splitmix64, computed by an independent program.
    Random zero(0);
    EXPECT_EQ(zero.next(), 0x99ec5f36cb75f2b4ULL);
    EXPECT_EQ(zero.next(), 0xbf6e1f784956452aULL);
    EXPECT_EQ(zero.next(), 0x1a5f849d4933e6e0ULL);
    Random forty_two(42);
    EXPECT_EQ(forty_two.next(), 0x15780b2e0c2ec716ULL);
    EXPECT_EQ(forty_two.next(), 0x6104d9866d113a7eULL);
}

TEST(Random, TheSameSeedGivesTheSameSequence) {
    Random first(7), second(7), other(8);
    bool differs = false;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t value = first.next();
        ASSERT_EQ(value, second.next());
        differs = differs || value != other.next();
    }
    EXPECT_TRUE(differs);
}

TEST(Random, BelowStaysBelowAndReachesEveryValue) {
    Random random(1);
    std::vector<int> seen(10);
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t value = random.below(10);
        ASSERT_LT(value, 10U);
        ++seen[value];
    }
    // 1,000 expected of each; the seed is fixed, so this is not a matter of luck.
    EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 850);
    EXPECT_LT(*std::max_element(seen.begin(), seen.end()), 1'150);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(random.below(1), 0U);
}

TEST(Random, BelowWorksForBoundsOfSixtyFourBits) {
    Random random(3);
    constexpr std::uint64_t bound = (1ULL << 63) + 1;
    bool high = false;
    for (int i = 0; i < 1'000; ++i) {
        const std::uint64_t value = random.below(bound);
        ASSERT_LT(value, bound);
        high = high || value > bound / 2;
    }
    EXPECT_TRUE(high);
}

TEST(Random, ChanceIsNeverAtZeroAndAlwaysAtOne) {
    Random random(5);
    int hits = 0;
    for (int i = 0; i < 1'000; ++i) {
        EXPECT_FALSE(random.chance(0, 10));
        EXPECT_TRUE(random.chance(10, 10));
        hits += random.chance(1, 4) ? 1 : 0;
    }
    EXPECT_GT(hits, 200);
    EXPECT_LT(hits, 300);
}

TEST(RandomDeathTest, BelowZeroAborts) {
    Random random(1);
    EXPECT_DEATH(random.below(0), "bound > 0");
}

TEST(SecureRandom, FillsEveryPieceOfALongSpan) {
    // 1,000 bytes are four calls of the kernel. That 32 bytes in a row stay zero by chance is
    // 2^-256.
    std::vector<unsigned char> bytes(1'000);
    secure_random(bytes);
    for (std::size_t start = 0; start + 32 <= bytes.size(); start += 32) {
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(start);
        EXPECT_FALSE(std::all_of(first, first + 32, [](unsigned char b) { return b == 0; }));
    }
    std::vector<unsigned char> again(1'000);
    secure_random(again);
    EXPECT_NE(bytes, again);
}

TEST(SecureRandom, TouchesNothingOutsideTheSpan) {
    std::vector<unsigned char> bytes(64);
    secure_random(std::span(bytes).subspan(16, 32));
    secure_random(std::span(bytes).first(0));
    for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(bytes[i], 0);
        EXPECT_EQ(bytes[48 + i], 0);
    }
}

}  // namespace
}  // namespace tiderace
