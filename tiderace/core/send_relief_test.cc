#include "tiderace/core/send_relief.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/core/event_loop.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/manual_clock.h"

namespace tiderace::core {
namespace {

struct Holder final : SendHolder {
    std::vector<Holding> holdings() override {
        std::vector<Holding> all;
        for (const auto& [id, queue] : queues) {
            all.push_back({.held = queue.held(), .id = id});
            all.back().held.waits = waits[id];
        }
        return all;
    }
    void give_up(std::uint64_t id) override { queues.erase(id); }

    std::map<std::uint64_t, SendQueue> queues;
    std::map<std::uint64_t, Duration> waits;
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

// Otherwise a peer with a fresh answer would be closed in place of those that read nothing.
TEST(SendRelief, TakesFromThoseThatHaveWaitedLong) {
    BlockPool pool;
    pool.set_bytes_max(16 * BlockPool::block_bytes);
    Holder holder;
    SendRelief relief;
    relief.add(holder);
    for (std::uint64_t id = 1; id <= 8; ++id) {
        const std::size_t blocks = id == 1 ? 3 : 2;
        holder.queues[id].append(pool, std::string(blocks * BlockPool::block_room_bytes, 'x'));
        holder.waits[id] = id == 1 ? 0ms : id == 5 ? 20ms : 10ms;
    }
    EXPECT_EQ(relief.relieve(pool), 2U);
    EXPECT_TRUE(holder.queues.contains(1));
    EXPECT_FALSE(holder.queues.contains(5));
}

// An answer larger than the limit is let through: a quarter of the limit counts of each.
TEST(SendRelief, CountsWhatIsQueuedOfSharedBodies) {
    constexpr std::size_t bytes_max = 64 * BlockPool::block_bytes;
    BlockPool pool;
    pool.set_bytes_max(bytes_max);
    Holder holder;
    SendRelief relief;
    relief.add(holder);
    const std::string body(2 * bytes_max, 'x');
    const auto queue = [&](std::uint64_t id, std::size_t bytes) {
        holder.queues[id].append_shared(ByteView(body).substr(0, bytes), {}, &pool);
    };
    queue(1, body.size());
    EXPECT_TRUE(pool.passes_limit());
    EXPECT_FALSE(pool.scarce()) << "others are not pushed back on";
    EXPECT_EQ(relief.relieve(pool), 0U);
    for (std::uint64_t id = 2; id <= 4; ++id) queue(id, bytes_max / 4);
    EXPECT_EQ(relief.relieve(pool), 0U) << "exactly the limit";
    queue(5, 1);
    EXPECT_EQ(relief.relieve(pool), 1U);
    EXPECT_FALSE(holder.queues.contains(1)) << "it held most";
    EXPECT_EQ(pool.shared_bytes(), bytes_max / 4 * 3 + 1);
    EXPECT_FALSE(pool.passes_limit());
    for (std::uint64_t id = 6; id <= 25; ++id) queue(id, bytes_max / 20);
    EXPECT_EQ(relief.relieve(pool), 6U) << "until an eighth is free";
    EXPECT_LE(pool.shared_bytes(), bytes_max * 7 / 8);
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

// --- the loop that calls it ----------------------------------------------------------------------

class ALoopPastItsLimit : public ::testing::Test {
  protected:
    struct Holder final : SendHolder {
        std::vector<Holding> holdings() override {
            ++asked;
            if (!gives) return {};
            return {{.held = queue.held(), .id = 1}};
        }
        void give_up(std::uint64_t) override { queue.clear(); }

        SendQueue queue;
        bool gives = true;
        int asked = 0;
    };

    ALoopPastItsLimit() {
        loop_->set_log(&logger_);
        loop_->send_relief().add(holder_);
        fill();
    }
    void fill() {
        holder_.queue.append(loop_->blocks(), std::string(3 * BlockPool::block_bytes, 'x'));
    }
    void turn_after(Duration passed) {
        clock_.advance(passed);
        loop_->turn(0s);
    }
    bool logs() { return !log::take_all(ring_).empty(); }

    log::Doorbell bell_;
    log::Ring ring_{64_KiB, bell_};
    log::SystemTime time_;
    log::Logger logger_{ring_, time_};
    testing::ManualClock clock_;
    std::unique_ptr<EventLoop> loop_ =
        std::move(*EventLoop::create({.clock = &clock_, .send_bytes_max = BlockPool::block_bytes}));
    Holder holder_;
};

// Listing all connections in every turn would make a full machine slower yet.
TEST_F(ALoopPastItsLimit, LooksTenTimesASecondWhereNoneCanBeClosed) {
    holder_.gives = false;
    turn_after(0ms);
    EXPECT_EQ(holder_.asked, 1);
    turn_after(99ms);
    EXPECT_EQ(holder_.asked, 1);
    turn_after(1ms);
    EXPECT_EQ(holder_.asked, 2);
    EXPECT_FALSE(logs());
}

TEST_F(ALoopPastItsLimit, ClosesAtOnceAndLogsItOnceASecond) {
    turn_after(0ms);
    EXPECT_TRUE(holder_.queue.empty());
    EXPECT_TRUE(logs());
    fill();
    turn_after(999ms);
    EXPECT_TRUE(holder_.queue.empty());
    EXPECT_FALSE(logs());
    fill();
    turn_after(1ms);
    EXPECT_TRUE(holder_.queue.empty());
    EXPECT_TRUE(logs());
}

}  // namespace
}  // namespace tiderace::core
