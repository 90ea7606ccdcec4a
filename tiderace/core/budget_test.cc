#include "tiderace/core/budget.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/core/event_loop.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/manual_clock.h"

namespace tiderace::core {
namespace {

const Address nameless = *Address::parse("unix:@peer");

Address peer(const std::string& text) {
    return *Address::parse(text);
}

class Held final : public Budget::Holder {
  public:
    Held(Ref<Budget> all, std::function<void(Held&)> refused, const Address& peer = nameless)
        : Holder(std::move(all), peer), refused_(std::move(refused)) {}

  private:
    void refuse() override { refused_(*this); }

    std::function<void(Held&)> refused_;
};

class BudgetTest : public ::testing::Test {
  protected:
    Held& add(std::function<void(Held&)> refused, const Address& peer = nameless) {
        holders.push_back(std::make_unique<Held>(all, std::move(refused), peer));
        return *holders.back();
    }
    // The next holder, whose refusals are counted under this name.
    Held& add(const std::string& name, const Address& peer) {
        return add([this, name](Held& it) { refused.push_back(name), it.shrink_to(0); }, peer);
    }

    log::Doorbell bell;
    log::Ring ring{64_KiB, bell};
    log::SystemTime time;
    log::Logger logger{ring, time};
    testing::ManualClock clock;
    std::unique_ptr<EventLoop> loop = std::move(*EventLoop::create({.clock = &clock}));
    Ref<Budget> all = make_ref<Budget>(*loop, "test", 1'600);
    std::vector<std::unique_ptr<Held>> holders;
    int refusals = 0;
    std::vector<std::string> refused;
};

TEST_F(BudgetTest, ExactlyTheBoundIsHeldAndOneByteMoreIsNot) {
    for (int i = 0; i < 4; ++i) {
        add([&](Held& it) {
            ++refusals;
            it.shrink_to(0);
        }).grow_to(400);
    }
    EXPECT_EQ(all->bytes(), 1'600U);
    EXPECT_EQ(refusals, 0);
    holders.back()->grow_to(401);
    EXPECT_EQ(refusals, 1) << "a sixteenth is free behind one of them";
    EXPECT_EQ(all->bytes(), 1'200U) << "the largest";
}

TEST_F(BudgetTest, TheOldestOfThoseThatHoldTheMostAreRefused) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < 4; ++i) {
        add([&, i](Held& it) {
            order.push_back(i);
            it.shrink_to(0);
        }).grow_to(i == 0 ? 10 : 500);
    }
    holders[1]->grow_to(650);
    EXPECT_EQ(order, std::vector<std::size_t>{1}) << "what is small passes";
    EXPECT_EQ(all->bytes(), 1'010U);
}

// A sixteenth is free behind the refusals, to the byte.
TEST_F(BudgetTest, OneMoreIsRefusedWhereAByteOfTheSixteenthIsLacking) {
    for (const std::size_t oldest : {101U, 100U}) {
        holders.clear();
        refusals = 0;
        for (int i = 0; i < 16; ++i) {
            add([&](Held& it) {
                ++refusals;
                it.shrink_to(0);
            }).grow_to(i == 0 ? oldest : 100);
        }
        if (oldest == 100) add([](Held&) { FAIL() << "it is small"; }).grow_to(1);
        EXPECT_EQ(refusals, oldest == 100 ? 2 : 1);
    }
}

// Most hold nothing for most of their time, and do not count for the average.
TEST_F(BudgetTest, OneThatHoldsNothingMayEndAndShrinkAgain) {
    add([](Held&) { FAIL() << "it holds nothing"; }).shrink_to(0);
    holders.clear();
    const Held never_joined({}, [](Held&) {});
    add([&](Held& it) {
        ++refusals;
        it.shrink_to(0);
    }).grow_to(1'601);
    EXPECT_EQ(refusals, 1);
}

TEST_F(BudgetTest, OneThatHasGivenAllBackDoesNotCount) {
    Held& busy = add([](Held&) { FAIL() << "it holds nothing"; });
    for (int i = 0; i < 200; ++i) {
        busy.grow_to(100);
        busy.shrink_to(1);
        busy.shrink_to(0);
    }
    add([](Held&) { FAIL() << "it is small"; }).grow_to(10);
    add([&](Held& it) {
        ++refusals;
        it.shrink_to(0);
    }).grow_to(1'591);
    EXPECT_EQ(refusals, 1);
}

// An empty message, say.
TEST_F(BudgetTest, OneThatGrowsToNothingDoesNotCount) {
    Held& empty = add([](Held&) { FAIL() << "it is small"; });
    empty.grow_to(0);
    add([](Held&) { FAIL() << "it is smaller than the average"; }).grow_to(700);
    add([&](Held& it) {
        ++refusals;
        it.shrink_to(0);
    }).grow_to(901);
    EXPECT_EQ(refusals, 1);
    empty.grow_to(5);
    empty.grow_to(5);
    EXPECT_EQ(all->bytes(), 705U);
}

// As a connection that ends with all its streams.
TEST_F(BudgetTest, OneThatIsRefusedMayDestroyOthersAndItself) {
    for (int i = 0; i < 8; ++i) {
        add([&](Held&) {
            ++refusals;
            holders.clear();
        }).grow_to(200);
    }
    Held& last = add([](Held&) { FAIL() << "it is younger"; });
    last.grow_to(200);
    EXPECT_EQ(refusals, 1);
    EXPECT_EQ(all->bytes(), 0U);
}

// A task's receive gets its message, and may be the only one that still holds.
TEST_F(BudgetTest, OneMayKeepAPart) {
    add([&](Held& it) {
        ++refusals;
        it.shrink_to(100);
    }).grow_to(1'601);
    EXPECT_EQ(all->bytes(), 100U);
    holders.front()->grow_to(1'601);
    EXPECT_EQ(refusals, 2);
}

TEST_F(BudgetTest, TheLastOwnerMayBeRefused) {
    auto* const only = new Held(std::exchange(all, {}), [](Held& it) { delete &it; });
    only->grow_to(1'601);
}

TEST_F(BudgetTest, ARefusalThatThrowsLeavesTheRestToTheNext) {
    bool throws = true;
    for (int i = 0; i < 4; ++i) {
        add([&](Held& it) {
            ++refusals;
            it.shrink_to(0);
            if (std::exchange(throws, false)) throw std::runtime_error("no memory");
        }).grow_to(400);
    }
    Held& last = add([](Held& it) { it.shrink_to(0); });
    EXPECT_THROW(last.grow_to(399), std::runtime_error);
    EXPECT_EQ(all->bytes(), 1'599U);
    last.grow_to(401);
    EXPECT_GE(refusals, 2);
    EXPECT_LE(all->bytes(), 1'500U);
}

// --- whom it refuses -----------------------------------------------------------------------------

// As many slow peers of one address would deny all others.
TEST_F(BudgetTest, TheClientThatHoldsMostGoesHoweverSmallItsPartsAre) {
    for (int i = 0; i < 15; ++i) {
        add("hog", peer("192.0.2.1:" + std::to_string(1'000 + i))).grow_to(60);
    }
    add("large", peer("192.0.2.2:80")).grow_to(650);
    clock.advance(1h);
    loop->turn(0s);
    add("newcomer", peer("192.0.2.3:80")).grow_to(51);
    EXPECT_EQ(refused, (std::vector<std::string>{"hog", "hog"}));
}

TEST_F(BudgetTest, ASubscriberOfIpv6HasASlashSixtyFour) {
    for (int i = 0; i < 10; ++i) {
        add("hog", peer("[2001:db8::" + std::to_string(i + 1) + "]:80")).grow_to(100);
    }
    add("other", peer("[2001:db8:0:1::1]:80")).grow_to(600);
    add("newcomer", peer("[2001:db8:0:2::1]:80")).grow_to(1);
    EXPECT_EQ(refused, (std::vector<std::string>{"hog", "hog"}));
}

TEST_F(BudgetTest, PeersOfUnixSocketsAreNotOneClient) {
    for (int i = 0; i < 10; ++i) add("unix", nameless).grow_to(100);
    add("large", peer("192.0.2.2:80")).grow_to(600);
    add("unix", nameless).grow_to(1);
    EXPECT_EQ(refused, (std::vector<std::string>{"large"}));
}

TEST_F(BudgetTest, WhoeverIsNotTrustedGoesFirst) {
    Held& known = add("known", peer("192.0.2.1:80"));
    known.set_trusted(true);
    known.grow_to(1'400);
    add("unknown", peer("192.0.2.1:81")).grow_to(150);
    add("other", peer("192.0.2.2:80")).grow_to(10);
    known.grow_to(1'451);
    EXPECT_EQ(refused, (std::vector<std::string>{"unknown"}));
    known.grow_to(1'601);
    EXPECT_EQ(refused, (std::vector<std::string>{"unknown", "other", "known"}));
}

// A tenth of a second is enough to take what is small. What a peer sends is not excused.
TEST_F(BudgetTest, WhatWasJustMadeForAPeerCountsForLess) {
    std::vector<Claim> claims = {
        {.bytes = 700, .age = 1h, .client = ClientKey(peer("192.0.2.1:1"))},
        {.bytes = 900, .age = 99ms, .client = ClientKey(peer("192.0.2.2:1"))},
        {.bytes = 60'000, .age = 0ms, .client = ClientKey(peer("192.0.2.3:1"))}};
    EXPECT_EQ(choose_to_go(claims, 1'601), (std::vector<std::size_t>{1, 0, 2}));
    EXPECT_EQ(choose_to_go(claims, 900), (std::vector<std::size_t>{1}));
    EXPECT_TRUE(choose_to_go(claims, 0).empty());
    add("old", peer("192.0.2.1:80")).grow_to(700);
    clock.advance(1s);
    loop->turn(0s);
    add("new", peer("192.0.2.2:80")).grow_to(901);
    EXPECT_EQ(refused, (std::vector<std::string>{"new"}));
}

TEST_F(BudgetTest, ALineEachSecondSaysSo) {
    loop->set_log(&logger);
    const auto logs = [&] { return !log::take_all(ring).empty(); };
    add("first", nameless).grow_to(1'601);
    EXPECT_TRUE(logs());
    holders.back()->grow_to(1'601);
    EXPECT_FALSE(logs());
    clock.advance(1s);
    loop->turn(0s);
    holders.back()->grow_to(1'601);
    EXPECT_TRUE(logs());
}

// --- unsent bytes --------------------------------------------------------------------------------

struct SendsHolder final : SendHolder {
    std::vector<Holding> holdings() override {
        std::vector<Holding> all;
        for (const auto& [id, queue] : queues) {
            all.push_back({.held = queue.held(), .id = id});
            all.back().held.waits = waits[id];
            all.back().trusted = id >= first_trusted;
        }
        return all;
    }
    void give_up(std::uint64_t id) override { queues.erase(id); }

    std::map<std::uint64_t, SendQueue> queues;
    std::map<std::uint64_t, Duration> waits;
    std::uint64_t first_trusted = UINT64_MAX;
};

TEST(SendEviction, TakesFromThoseThatHoldMostUntilAnEighthIsFree) {
    BlockPool pool;
    pool.set_bytes_max(16 * BlockPool::block_bytes);
    SendsHolder one;
    SendsHolder other;
    SendEviction eviction;
    eviction.add(one);
    eviction.add(other);
    const auto fill = [&](SendsHolder& holder, std::uint64_t id, std::size_t blocks) {
        holder.queues[id].append(pool, std::string(blocks * BlockPool::block_room_bytes, 'x'));
    };
    for (std::uint64_t id = 1; id <= 6; ++id) fill(one, id, 1);
    fill(other, 1, 3);
    fill(other, 2, 5);
    fill(other, 3, 2);
    EXPECT_FALSE(pool.scarce()) << "16 of 16";
    fill(one, 7, 1);
    EXPECT_TRUE(pool.scarce());
    EXPECT_EQ(eviction.evict(pool), 1U);
    EXPECT_FALSE(other.queues.contains(2));
    EXPECT_EQ(pool.taken(), 12U);

    fill(one, 8, 5);
    EXPECT_EQ(eviction.evict(pool), 1U);
    EXPECT_FALSE(one.queues.contains(8));
    EXPECT_EQ(other.queues.size(), 2U);
}

// Otherwise a peer with a fresh answer would be closed in place of peers that read nothing.
TEST(SendEviction, TakesFromThoseThatHaveWaitedLong) {
    BlockPool pool;
    pool.set_bytes_max(16 * BlockPool::block_bytes);
    SendsHolder holder;
    SendEviction eviction;
    eviction.add(holder);
    for (std::uint64_t id = 1; id <= 8; ++id) {
        const std::size_t blocks = id == 1 ? 3 : 2;
        holder.queues[id].append(pool, std::string(blocks * BlockPool::block_room_bytes, 'x'));
        holder.waits[id] = id == 1 ? 0ms : id == 5 ? 20ms : 10ms;
    }
    EXPECT_EQ(eviction.evict(pool), 2U);
    EXPECT_TRUE(holder.queues.contains(1));
    EXPECT_FALSE(holder.queues.contains(5));
}

TEST(SendEviction, TakesFromThoseThatAreNotTrusted) {
    BlockPool pool;
    pool.set_bytes_max(16 * BlockPool::block_bytes);
    SendsHolder holder;
    SendEviction eviction;
    eviction.add(holder);
    holder.first_trusted = 8;
    for (std::uint64_t id = 1; id <= 8; ++id) {
        const std::size_t blocks = id == 8 ? 10 : 1;
        holder.queues[id].append(pool, std::string(blocks * BlockPool::block_room_bytes, 'x'));
    }
    EXPECT_EQ(eviction.evict(pool), 3U);
    EXPECT_TRUE(holder.queues.contains(8)) << "it holds most";
}

// An answer larger than the limit is let through: a quarter of the limit counts of each.
TEST(SendEviction, CountsWhatIsQueuedOfSharedBodies) {
    constexpr std::size_t bytes_max = 64 * BlockPool::block_bytes;
    BlockPool pool;
    pool.set_bytes_max(bytes_max);
    SendsHolder holder;
    SendEviction eviction;
    eviction.add(holder);
    const std::string body(2 * bytes_max, 'x');
    const auto queue = [&](std::uint64_t id, std::size_t bytes) {
        holder.queues[id].append_shared(ByteView(body).substr(0, bytes), {}, &pool);
    };
    queue(1, body.size());
    EXPECT_TRUE(pool.passes_limit());
    EXPECT_FALSE(pool.scarce()) << "others are not pushed back on";
    EXPECT_EQ(eviction.evict(pool), 0U);
    for (std::uint64_t id = 2; id <= 4; ++id) queue(id, bytes_max / 4);
    EXPECT_EQ(eviction.evict(pool), 0U) << "exactly the limit";
    queue(5, 1);
    EXPECT_EQ(eviction.evict(pool), 1U);
    EXPECT_FALSE(holder.queues.contains(1)) << "it held most";
    EXPECT_EQ(pool.shared_bytes(), bytes_max / 4 * 3 + 1);
    EXPECT_FALSE(pool.passes_limit());
    for (std::uint64_t id = 6; id <= 25; ++id) queue(id, bytes_max / 20);
    EXPECT_EQ(eviction.evict(pool), 6U) << "until an eighth is free";
    EXPECT_LE(pool.shared_bytes(), bytes_max * 7 / 8);
}

TEST(SendEviction, CountsAHeldBlockWholeAndLeavesThoseThatHoldNothing) {
    BlockPool pool;
    pool.set_bytes_max(8 * BlockPool::block_bytes);
    SendsHolder holder;
    SendEviction eviction;
    eviction.add(holder);
    holder.queues[0];
    for (std::uint64_t id = 1; id <= 9; ++id) holder.queues[id].append(pool, "a few bytes");
    EXPECT_EQ(eviction.evict(pool), 2U);
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
        loop_->send_eviction().add(holder_);
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
