#include "tiderace/http/handler/file_room.h"

#include <gtest/gtest.h>

namespace tiderace::http::handler {
namespace {

TEST(FileRoom, HasPlacesUntilItIsFullAndAgainWhenTheyAreGone) {
    const auto room = core::make_ref<FileRoom>(FileRoomLimits{.bytes_max = 100, .open_max = 1});
    auto first = room->place_in_memory(60);
    EXPECT_TRUE(first);
    EXPECT_FALSE(room->place_in_memory(41));
    EXPECT_TRUE(room->place_in_memory(40)) << "and given back at once";
    EXPECT_TRUE(room->place_in_memory(0));
    const auto open = room->place_for_descriptor();
    EXPECT_TRUE(open);
    EXPECT_FALSE(room->place_for_descriptor());
    EXPECT_EQ(room->bytes(), 60U);
    EXPECT_EQ(room->open(), 1U);
    {
        const FileRoom::Place moved = std::move(*first);
        first.reset();
        EXPECT_EQ(room->bytes(), 60U);
    }
    EXPECT_EQ(room->bytes(), 0U);
    EXPECT_TRUE(room->place_in_memory(100));
}

TEST(FileRoom, LivesAsLongAsItsPlaces) {
    auto room = core::make_ref<FileRoom>(FileRoomLimits{});
    const auto place = room->place_in_memory(1);
    FileRoom* const still = room.get();
    room = {};
    EXPECT_EQ(still->bytes(), 1U);
}

}  // namespace
}  // namespace tiderace::http::handler
