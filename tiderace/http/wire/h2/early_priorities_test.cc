#include "tiderace/http/wire/h2/early_priorities.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

constexpr H2Priority urgent{.urgency = 0};
constexpr H2Priority shared{.urgency = 5, .incremental = true};

TEST(H2EarlyPriorities, AStreamGetsItsLatestPriority) {
    H2EarlyPriorities early;
    EXPECT_TRUE(early.keep(7, urgent, 10));
    EXPECT_TRUE(early.keep(3, urgent, 10));
    EXPECT_TRUE(early.keep(3, shared, 10));
    EXPECT_EQ(early.size(), 2U);
    EXPECT_EQ(early.take(1), std::nullopt);
    EXPECT_EQ(early.take(3), shared);
    EXPECT_EQ(early.take(3), std::nullopt);
    EXPECT_EQ(early.take(7), urgent);
    EXPECT_EQ(early.size(), 0U);
}

TEST(H2EarlyPriorities, WhatCannotOpenAnyMoreIsForgotten) {
    H2EarlyPriorities early;
    for (const std::uint32_t stream : {9U, 1U, 5U, 3U, 7U}) {
        EXPECT_TRUE(early.keep(stream, urgent, 5));
    }
    EXPECT_EQ(early.take(6), std::nullopt);
    EXPECT_EQ(early.size(), 2U);
    EXPECT_EQ(early.take(9), urgent);
    EXPECT_EQ(early.size(), 0U);
}

TEST(H2EarlyPriorities, NoMoreAreKeptThanMayOpen) {
    H2EarlyPriorities early;
    EXPECT_FALSE(early.keep(1, urgent, 0));
    EXPECT_TRUE(early.keep(1, urgent, 2));
    EXPECT_TRUE(early.keep(5, urgent, 2));
    EXPECT_FALSE(early.keep(3, urgent, 2));
    EXPECT_TRUE(early.keep(5, shared, 2));  // one that is known already takes no more room
    EXPECT_TRUE(early.keep(1, shared, 1));
    EXPECT_EQ(early.take(5), shared);
}

}  // namespace
}  // namespace tiderace::http::wire
