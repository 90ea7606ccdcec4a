#include "tiderace/http/files/file_budget.h"

#include <gtest/gtest.h>

#include <list>

namespace tiderace::http::files {
namespace {

TEST(FileBudget, HasPlacesUntilItIsFullAndAgainWhenTheyAreGone) {
    const auto room = core::make_ref<FileBudget>(FileBudgetLimits{.bytes_max = 100, .open_max = 1});
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
        const FileBudget::Place moved = std::move(*first);
        first.reset();
        EXPECT_EQ(room->bytes(), 60U);
    }
    EXPECT_EQ(room->bytes(), 0U);
    EXPECT_TRUE(room->place_in_memory(100));
}

TEST(FileBudget, AConnectionHoldsNoMoreThanItLeaves) {
    const auto room = core::make_ref<FileBudget>(FileBudgetLimits{.bytes_max = 0, .open_max = 40});
    std::list<FileBudget::Place> places;
    const auto take_all = [&](std::uint32_t connection) {
        room->set_asker({connection, connection});
        std::size_t taken = 0;
        while (auto place = room->place_for_descriptor()) {
            places.push_back(std::move(*place));
            ++taken;
        }
        return taken;
    };
    EXPECT_EQ(take_all(1), 8U);
    EXPECT_EQ(take_all(2), 6U);
    EXPECT_EQ(take_all(1), 0U);
    std::uint32_t connection = 3;
    while (room->open() < 40) EXPECT_GT(take_all(connection++), 0U) << connection;
    EXPECT_GE(connection, 15U) << "so many have a part of 40";
    EXPECT_EQ(take_all(99), 0U) << "none is left";
    for (int i = 0; i < 8; ++i) places.pop_front();  // the first connection's
    EXPECT_EQ(take_all(99), 1U);
    EXPECT_EQ(take_all(1), 1U) << "nothing is held against it any more";
    places.clear();
    EXPECT_EQ(take_all(0), 40U) << "nobody's are not counted";
}

TEST(FileBudget, AConnectionThatHoldsNothingHasOneSmallFileThoughThereIsNoRoom) {
    const auto room = core::make_ref<FileBudget>(FileBudgetLimits{.bytes_max = 10, .open_max = 1});
    const auto full = room->place_in_memory(10);
    EXPECT_FALSE(room->place_to_spare(5)) << "for nobody";
    room->set_asker({7, 1});
    auto spare = room->place_to_spare(5);
    EXPECT_TRUE(spare);
    EXPECT_EQ(room->bytes(), 15U);
    EXPECT_FALSE(room->place_in_memory(0));
    EXPECT_FALSE(room->place_to_spare(5));
    room->set_asker({8, 1});
    EXPECT_TRUE(room->place_to_spare(5));
    const auto open = room->place_for_descriptor();
    EXPECT_TRUE(open);
    EXPECT_FALSE(room->place_to_spare(5)) << "it holds a file";
    room->set_asker({7, 1});
    spare.reset();
    EXPECT_TRUE(room->place_to_spare(5));
}

TEST(FileBudget, LivesAsLongAsItsPlaces) {
    auto room = core::make_ref<FileBudget>(FileBudgetLimits{});
    const auto place = room->place_in_memory(1);
    FileBudget* const still = room.get();
    room = {};
    EXPECT_EQ(still->bytes(), 1U);
}

}  // namespace
}  // namespace tiderace::http::files
