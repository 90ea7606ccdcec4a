#include "tiderace/core/send_relief.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tiderace::core {
namespace {

struct Holder final : SendHolder {
    std::vector<Holding> holdings() override {
        std::vector<Holding> all;
        for (const auto& [id, queue] : queues) {
            all.push_back({.bytes = queue.copied_bytes(), .id = id});
        }
        return all;
    }
    void give_up(std::uint64_t id) override { queues.erase(id); }

    std::map<std::uint64_t, SendQueue> queues;
};

TEST(SendRelief, TakesFromThoseThatHoldMostUntilAnEighthIsFree) {
    BlockPool pool;
    pool.set_bytes_max(16 * BlockPool::block_bytes);
    Holder one;
    Holder other;
    SendRelief relief;
    relief.add(one);
    relief.add(other);
    const auto fill = [&](Holder& holder, std::uint64_t id, std::size_t blocks) {
        holder.queues[id].append(pool, std::string(blocks * BlockPool::block_room_bytes, 'x'));
    };
    for (std::uint64_t id = 1; id <= 6; ++id) fill(one, id, 1);
    fill(other, 1, 3);
    fill(other, 2, 5);
    fill(other, 3, 2);
    EXPECT_FALSE(pool.scarce()) << "16 of 16";
    fill(one, 7, 1);
    EXPECT_TRUE(pool.scarce());
    EXPECT_EQ(relief.relieve(pool), 1U);
    EXPECT_FALSE(other.queues.contains(2));
    EXPECT_EQ(pool.taken(), 12U);

    fill(one, 8, 5);
    EXPECT_EQ(relief.relieve(pool), 1U);
    EXPECT_FALSE(one.queues.contains(8));
    EXPECT_EQ(other.queues.size(), 2U);
}

TEST(SendRelief, CountsAHeldBlockWholeAndLeavesThoseThatHoldNothing) {
    BlockPool pool;
    pool.set_bytes_max(8 * BlockPool::block_bytes);
    Holder holder;
    SendRelief relief;
    relief.add(holder);
    holder.queues[0];
    for (std::uint64_t id = 1; id <= 9; ++id) holder.queues[id].append(pool, "a few bytes");
    EXPECT_EQ(relief.relieve(pool), 2U);
    EXPECT_EQ(pool.taken(), 7U);
    EXPECT_TRUE(holder.queues.contains(0));
}

}  // namespace
}  // namespace tiderace::core
