#include "load/drip.h"

#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

struct Sent {
    std::string bytes;
    std::size_t slow;
    bool operator==(const Sent&) const = default;
};

Sent take(LoadDrip& drip, std::size_t most) {
    Sent sent;
    sent.slow = drip.take(most, [&](ByteView bytes) { sent.bytes += bytes; });
    return sent;
}

TEST(LoadDrip, SendsASlowHeadAndThenItsBody) {
    LoadDrip drip;
    const std::string body = "body";
    drip.keep("head", true);
    drip.lend(body, false);
    EXPECT_EQ(take(drip, 3), (Sent{"hea", 3}));
    EXPECT_EQ(take(drip, 3), (Sent{"dbody", 1}));
    EXPECT_TRUE(drip.empty());
    EXPECT_EQ(take(drip, 3), (Sent{"", 0}));
}

TEST(LoadDrip, SendsAHeadAndThenItsSlowBody) {
    LoadDrip drip;
    drip.keep("head", false);
    drip.lend("body", true);
    drip.keep("head", false);
    EXPECT_EQ(take(drip, 3), (Sent{"headbod", 3}));
    EXPECT_EQ(take(drip, 3), (Sent{"yhead", 1}));
    EXPECT_TRUE(drip.empty());
}

TEST(LoadDrip, GoesOverSeveralSlowParts) {
    LoadDrip drip;
    for (int i = 0; i < 3; ++i) drip.keep("ab", true);
    drip.keep("", true);
    EXPECT_EQ(take(drip, 3), (Sent{"aba", 3}));
    EXPECT_FALSE(drip.empty());
    EXPECT_EQ(take(drip, 99), (Sent{"bab", 3}));
    EXPECT_TRUE(drip.empty());
}

}  // namespace
}  // namespace tiderace::load
