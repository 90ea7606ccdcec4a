#include "load/pacer.h"

#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

const Instant start{1'000s};

TEST(LoadPacer, AClosedLoopSendsAtOnceUntilTheBudgetIsSpent) {
    LoadPacer pacer(0, 2);
    pacer.begin(start);
    EXPECT_EQ(pacer.take(start + 5s), start + 5s);
    EXPECT_EQ(pacer.take(start + 6s), start + 6s);
    EXPECT_TRUE(pacer.exhausted());
    EXPECT_EQ(pacer.take(start + 7s), std::nullopt);
    EXPECT_EQ(pacer.overdue(start + 9s), 0U);
}

TEST(LoadPacer, AnOpenLoopGivesEachRequestItsMoment) {
    LoadPacer pacer(1'000, 0);
    pacer.begin(start);
    EXPECT_EQ(pacer.take(start), start);
    EXPECT_EQ(pacer.take(start), std::nullopt);
    EXPECT_EQ(pacer.take(start + 1ms), start + 1ms);
    // The server stalled: the requests due meanwhile keep their own due times.
    EXPECT_EQ(pacer.overdue(start + 1'000ms), 998U);
    EXPECT_EQ(pacer.take(start + 1s), start + 2ms);
    EXPECT_EQ(pacer.take(start + 1s), start + 3ms);
    EXPECT_EQ(pacer.overdue(start + 1'000ms), 996U);
    EXPECT_FALSE(pacer.exhausted());
}

TEST(LoadPacer, KeepsTheRateOverLongTimes) {
    LoadPacer pacer(3, 0);
    pacer.begin(start);
    std::uint64_t taken = 0;
    while (pacer.take(start + 1'000s)) ++taken;
    EXPECT_EQ(taken, 3'001U);
}

TEST(LoadPacer, WhatIsGivenBackIsSentFirst) {
    LoadPacer pacer(10, 2);
    pacer.begin(start);
    const auto first = pacer.take(start + 1s);
    pacer.take(start + 1s);
    EXPECT_TRUE(pacer.exhausted());
    pacer.give_back(*first);
    EXPECT_FALSE(pacer.exhausted());
    EXPECT_EQ(pacer.overdue(start + 1s), 1U);
    EXPECT_EQ(pacer.take(start + 2s), first);
    EXPECT_TRUE(pacer.exhausted());
}

TEST(LoadPacer, ARampRisesEvenly) {
    LoadPacer pacer(1'000, 0, 2s);
    pacer.begin(start);
    const auto due_by = [&](Duration after) {
        std::uint64_t taken = 0;
        const std::uint64_t before = pacer.overdue(start + after);
        while (pacer.take(start + after)) ++taken;
        EXPECT_NEAR(static_cast<double>(taken), static_cast<double>(before), 1);
        return static_cast<double>(taken);
    };
    EXPECT_NEAR(due_by(1s), 250, 2);  // half of the rate at the end, a quarter on the way
    EXPECT_NEAR(due_by(2s), 750, 2);
    EXPECT_NEAR(due_by(3s), 1'000, 2);  // and then the whole rate
    EXPECT_NEAR(due_by(4s), 1'000, 2);
}

TEST(LoadPacer, TheNextOneIsDueAtItsOwnMoment) {
    LoadPacer slow(0.75, 3);
    slow.begin(start);
    EXPECT_EQ(slow.next_due(start), std::nullopt) << "the first is due at once";
    slow.take(start);
    const auto second = slow.next_due(start);
    ASSERT_TRUE(second);
    EXPECT_EQ(*second, start + Duration(1'333'333'333));
    EXPECT_EQ(slow.next_due(*second), std::nullopt) << "it is overdue, and no moment is to come";
    EXPECT_EQ(slow.take(*second), second);
    slow.take(start + 10s);
    EXPECT_EQ(slow.next_due(start + 10s), std::nullopt) << "none is left";
    slow.give_back(start);
    EXPECT_EQ(slow.next_due(start + 10s), std::nullopt) << "it may be sent now";

    LoadPacer rising(100, 0, 1s);
    rising.begin(start);
    rising.take(start);
    EXPECT_EQ(rising.next_due(start), start + Duration(141'421'356));

    LoadPacer closed(0, 0);
    EXPECT_EQ(closed.next_due(start), std::nullopt);
}

}  // namespace
}  // namespace tiderace::load
