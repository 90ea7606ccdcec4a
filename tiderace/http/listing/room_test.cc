#include "tiderace/http/listing/room.h"

#include <gtest/gtest.h>

namespace tiderace::http::listing {
namespace {

TEST(ListingRoom, HoldsSoManyListings) {
    const core::ClientKey unix;
    ListingRoom room({.listings_max = 2});
    EXPECT_TRUE(room.enter(unix));
    EXPECT_TRUE(room.enter(unix));
    EXPECT_FALSE(room.enter(unix));
    room.leave(unix);
    EXPECT_TRUE(room.enter(unix));
    EXPECT_EQ(room.listings(), 2U);
}

// As slow readers of one address would deny them to everyone.
TEST(ListingRoom, NoClientHasAllOfThem) {
    const core::ClientKey hog(*core::Address::parse("192.0.2.1:80"));
    const core::ClientKey other(*core::Address::parse("192.0.2.2:80"));
    ListingRoom room({.listings_max = 8});
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(room.enter(hog));
    EXPECT_FALSE(room.enter(hog));
    EXPECT_TRUE(room.enter(other));
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
    EXPECT_DEATH(room.leave({}), "given back");
}

}  // namespace
}  // namespace tiderace::http::listing
