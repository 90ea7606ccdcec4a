#include "tiderace/net/connection_room.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tiderace::net {
namespace {

TEST(ConnectionRoom, HasRoomForItsMaximum) {
    ConnectionRoom room(2);
    EXPECT_TRUE(room.enter());
    EXPECT_TRUE(room.enter());
    EXPECT_FALSE(room.enter());
    EXPECT_EQ(room.taken(), 2U);
    room.leave();
    EXPECT_TRUE(room.enter());
    EXPECT_FALSE(room.enter());
}

TEST(ConnectionRoom, CountsThoseThatAreNotRefused) {
    ConnectionRoom room(1);
    room.enter_anyway();
    room.enter_anyway();
    EXPECT_FALSE(room.enter());
    room.leave();
    EXPECT_FALSE(room.enter());
    room.leave();
    EXPECT_TRUE(room.enter());
}

TEST(ConnectionRoom, LetsInAsManyAsItHasRoomForFromAllThreadsTogether) {
    constexpr std::size_t connections_max = 1'000;
    ConnectionRoom room(connections_max);
    std::atomic<std::size_t> entered = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 1'000; ++n) entered += room.enter() ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(entered, connections_max);
    EXPECT_EQ(room.taken(), connections_max);
}

}  // namespace
}  // namespace tiderace::net
