#include "tiderace/http/message_room.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tiderace::http {
namespace {

class Held final : public MessageRoom::Holder {
  public:
    Held(core::Ref<MessageRoom> all, std::function<void(Held&)> refused)
        : Holder(std::move(all)), refused_(std::move(refused)) {}

  private:
    void refuse() override { refused_(*this); }

    std::function<void(Held&)> refused_;
};

class MessageRoomTest : public ::testing::Test {
  protected:
    Held& add(std::function<void(Held&)> refused) {
        holders.push_back(std::make_unique<Held>(all, std::move(refused)));
        return *holders.back();
    }

    core::Ref<MessageRoom> all = core::make_ref<MessageRoom>(1'600);
    std::vector<std::unique_ptr<Held>> holders;
    int refusals = 0;
};

TEST_F(MessageRoomTest, ExactlyTheBoundIsHeldAndOneByteMoreIsNot) {
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
    EXPECT_EQ(all->bytes(), 1'201U) << "the oldest of the largest";
}

TEST_F(MessageRoomTest, TheOldestOfThoseThatHoldTheMostAreRefused) {
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
TEST_F(MessageRoomTest, OneMoreIsRefusedWhereAByteOfTheSixteenthIsLacking) {
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
TEST_F(MessageRoomTest, OneThatHoldsNothingMayEndAndShrinkAgain) {
    add([](Held&) { FAIL() << "it holds nothing"; }).shrink_to(0);
    holders.clear();
    const Held never_joined({}, [](Held&) {});
    add([&](Held& it) {
        ++refusals;
        it.shrink_to(0);
    }).grow_to(1'601);
    EXPECT_EQ(refusals, 1);
}

TEST_F(MessageRoomTest, OneThatHasGivenAllBackDoesNotCount) {
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
TEST_F(MessageRoomTest, OneThatGrowsToNothingDoesNotCount) {
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
TEST_F(MessageRoomTest, OneThatIsRefusedMayDestroyOthersAndItself) {
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
TEST_F(MessageRoomTest, OneMayKeepAPart) {
    add([&](Held& it) {
        ++refusals;
        it.shrink_to(100);
    }).grow_to(1'601);
    EXPECT_EQ(all->bytes(), 100U);
    holders.front()->grow_to(1'601);
    EXPECT_EQ(refusals, 2);
}

TEST_F(MessageRoomTest, TheLastOwnerMayBeRefused) {
    auto* const only = new Held(std::exchange(all, {}), [](Held& it) { delete &it; });
    only->grow_to(1'601);
}

TEST_F(MessageRoomTest, ARefusalThatThrowsLeavesTheRestToTheNext) {
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

}  // namespace
}  // namespace tiderace::http
