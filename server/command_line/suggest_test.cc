#include "server/command_line/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace tiderace::server {
namespace {

TEST(EditDistance, CountsTheFourKindsOfSlip) {
    struct Case {
        std::string_view left, right;
        std::size_t edits;
    };
    const Case cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "", 3},
        {"listen", "listen", 0},
        {"lisen", "listen", 1},
        {"listten", "listen", 1},
        {"lixten", "listen", 1},
        {"lsiten", "listen", 1},
        {"LISTEN", "listen", 0},
        {"kitten", "sitting", 3},
        {"ca", "abc", 3},  // no character is edited twice
    };
    for (const Case& c : cases) {
        EXPECT_EQ(edit_distance(c.left, c.right), c.edits) << c.left << " -> " << c.right;
        EXPECT_EQ(edit_distance(c.right, c.left), c.edits) << c.right << " -> " << c.left;
    }
}

constexpr std::array<std::string_view, 6> flags{"listen",       "listing",      "threads",
                                                "idle-timeout", "body-timeout", "cache"};

TEST(NearestSpelling, FindsWhatWasMeant) {
    EXPECT_EQ(nearest_spelling("lisen", flags), "listen");
    EXPECT_EQ(nearest_spelling("listig", flags), "listing");
    EXPECT_EQ(nearest_spelling("thread", flags), "threads");
    EXPECT_EQ(nearest_spelling("idel-timeout", flags), "idle-timeout");
    EXPECT_EQ(nearest_spelling("Cache", flags), "cache");
}

TEST(NearestSpelling, ABeginningOfExactlyOneIsNear) {
    EXPECT_EQ(nearest_spelling("idle", flags), "idle-timeout");
    EXPECT_EQ(nearest_spelling("th", flags), "") << "two characters begin too much";
    EXPECT_EQ(nearest_spelling("lis", flags), "") << "listen or listing";
}

TEST(NearestSpelling, SaysNothingWhenNothingIsNear) {
    EXPECT_EQ(nearest_spelling("frobnicate", flags), "");
    EXPECT_EQ(nearest_spelling("", flags), "");
    EXPECT_EQ(nearest_spelling("x", flags), "");
    EXPECT_EQ(nearest_spelling("listen", {}), "");
}

TEST(NearestSpelling, DoesNotReplaceAWholeShortWord) {
    constexpr std::array<std::string_view, 2> letters{"a", "bc"};
    EXPECT_EQ(nearest_spelling("z", letters), "");
}

}  // namespace
}  // namespace tiderace::server
