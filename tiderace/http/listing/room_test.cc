#include "tiderace/http/listing/room.h"

#include <gtest/gtest.h>

namespace tiderace::http::listing {
namespace {

TEST(ListingRoom, HoldsSoManyListings) {
    ListingRoom room({.listings_max = 2});
    EXPECT_TRUE(room.enter());
    EXPECT_TRUE(room.enter());
    EXPECT_FALSE(room.enter());
    room.leave();
    EXPECT_TRUE(room.enter());
    EXPECT_EQ(room.listings(), 2U);
}

TEST(ListingRoom, NamesOfSmallDirectoriesAreFree) {
    ListingRoom room({.sorted_max = 5, .names_max = 1, .names_free = 2});
    for (std::size_t kept = 0; kept < 3; ++kept) EXPECT_TRUE(room.keep_name(kept)) << kept;
    EXPECT_FALSE(room.keep_name(3)) << "the one name that is not free is taken";
    EXPECT_TRUE(room.keep_name(1)) << "of another listing";
    EXPECT_EQ(room.names(), 1U);
    room.drop_names(2);
    EXPECT_EQ(room.names(), 1U);
    room.drop_names(3);
    EXPECT_EQ(room.names(), 0U);
    EXPECT_TRUE(room.keep_name(4));
    EXPECT_FALSE(room.keep_name(5)) << "more than any may sort";
}

TEST(ListingRoomDeathTest, LeavingWithoutEnteringAborts) {
    ListingRoom room({});
    EXPECT_DEATH(room.leave(), "given back");
}

}  // namespace
}  // namespace tiderace::http::listing
