#include "load/tally.h"

#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

TEST(LoadTally, AddsUpWhatWorkersCounted) {
    LoadTally sum;
    LoadTally one;
    one.answers = 3;
    one.connections = one.opened = one.open_max = 2;
    one.per_connection_min = 1;
    one.per_connection_max = 2;
    one.error(LoadError::reset) = 1;
    one.error(ConnectError::refused) = 4;
    one.latency.record(1ms);
    LoadTally other = one;
    other.per_connection_min = 0;
    other.per_connection_max = 7;
    other.starved = 1;
    sum.merge(one);
    sum.merge(other);
    EXPECT_EQ(sum.answers, 6U);
    EXPECT_EQ(sum.connections, 4U);
    EXPECT_EQ(sum.per_connection_min, 0U);
    EXPECT_EQ(sum.per_connection_max, 7U);
    EXPECT_EQ(sum.errors_total(), 2U);
    EXPECT_EQ(sum.connect_errors_total(), 8U);
    EXPECT_EQ(sum.latency.count(), 2U);
    EXPECT_EQ(sum.starved, 1U);
}

TEST(LoadTally, AWrongAnswerIsOneThatCameAndIsNoRefusal) {
    LoadTally tally;
    for (std::size_t i = 0; i < tally.errors.size(); ++i) tally.errors[i] = 1;
    tally.wrong_status = 404;
    EXPECT_EQ(tally.wrong_answers(), 5U) << "status, length, hash, not HTTP, unasked bytes";
    EXPECT_FALSE(tally.is_wrong_answer(LoadError::cut_short));
    EXPECT_FALSE(tally.is_wrong_answer(LoadError::turned_away));
    tally.wrong_status = 503;
    EXPECT_EQ(tally.wrong_answers(), 4U);
}

TEST(LoadTally, SeesThatWorkersWereAnsweredDifferently) {
    LoadTally sum;
    LoadTally one;
    one.reference = {.known = true, .length = 10, .hash = 0};
    sum.merge(LoadTally{});
    sum.merge(one);
    sum.merge(one);
    EXPECT_FALSE(sum.references_differ);
    one.reference.length = 11;
    sum.merge(one);
    EXPECT_TRUE(sum.references_differ);
    EXPECT_EQ(sum.reference.length, 10U);
}

TEST(LoadTally, EveryErrorHasAName) {
    for (int i = 0; i < static_cast<int>(LoadError::count_); ++i) {
        EXPECT_FALSE(to_string(static_cast<LoadError>(i)).empty());
    }
    for (int i = 0; i < static_cast<int>(ConnectError::count_); ++i) {
        EXPECT_FALSE(to_string(static_cast<ConnectError>(i)).empty());
    }
}

}  // namespace
}  // namespace tiderace::load
