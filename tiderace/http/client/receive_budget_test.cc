#include "tiderace/http/client/receive_budget.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tiderace::http {
namespace {

TEST(ReceiveBudget, SharesAreTakenAndGivenBackOnce) {
    const core::Ref<ReceiveBudget> room(new ReceiveBudget);
    {
        ReceiveShare one{room};
        EXPECT_EQ(room->taken(), ReceiveBudget::first_bytes);
        EXPECT_TRUE(one.grow_to(100'000));
        ReceiveShare other = std::move(one);
        EXPECT_EQ(one.bytes(), 0U);  // NOLINT: what is left of it
        EXPECT_EQ(room->taken(), 100'000U);
        other.shrink_to(200'000);
        EXPECT_EQ(room->taken(), 100'000U);
        other.shrink_to(7);
        EXPECT_EQ(room->taken(), 7U);
        other = ReceiveShare{room};
        EXPECT_EQ(room->taken(), ReceiveBudget::first_bytes);
    }
    EXPECT_EQ(room->taken(), 0U);
    ReceiveShare none;
    EXPECT_FALSE(none.grow_to(1));
    none.shrink_to(0);
}

TEST(ReceiveBudget, GrowthLeavesHalfForAnswersThatBegin) {
    const core::Ref<ReceiveBudget> room(new ReceiveBudget);
    int told = 0;
    room->on_room([&] { ++told; });
    std::vector<ReceiveShare> all;
    const auto begin = [&] { return all.emplace_back(room).grow_to(256_KiB); };
    while (begin()) {
    }
    EXPECT_LE(room->taken(), ReceiveBudget::bytes_max / 2 + ReceiveBudget::first_bytes);
    EXPECT_GT(room->taken(), ReceiveBudget::bytes_max / 2 - 256_KiB);
    while (room->shares_left() > 0) EXPECT_FALSE(begin());
    EXPECT_LE(room->taken(), ReceiveBudget::bytes_max);
    EXPECT_EQ(told, 0);
    all.pop_back();
    EXPECT_EQ(told, 1);
    all.pop_back();
    EXPECT_EQ(told, 1);  // there was room already
    room->on_room({});
    all.clear();
    EXPECT_EQ(room->taken(), 0U);
}

}  // namespace
}  // namespace tiderace::http
