#include "load/paced_queue.h"

#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

struct Sent {
    std::string bytes;
    std::size_t slow;
    bool operator==(const Sent&) const = default;
};

Sent take(LoadPacedQueue& queue, std::size_t most) {
    Sent sent;
    sent.slow = queue.take(most, [&](ByteView bytes) { sent.bytes += bytes; });
    return sent;
}

TEST(LoadPacedQueue, SendsASlowHeadAndThenItsBody) {
    LoadPacedQueue queue;
    const std::string body = "body";
    queue.keep("head", true);
    queue.lend(body, false);
    EXPECT_EQ(take(queue, 3), (Sent{"hea", 3}));
    EXPECT_EQ(take(queue, 3), (Sent{"dbody", 1}));
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(take(queue, 3), (Sent{"", 0}));
}

TEST(LoadPacedQueue, SendsAHeadAndThenItsSlowBody) {
    LoadPacedQueue queue;
    queue.keep("head", false);
    queue.lend("body", true);
    queue.keep("head", false);
    EXPECT_EQ(take(queue, 3), (Sent{"headbod", 3}));
    EXPECT_EQ(take(queue, 3), (Sent{"yhead", 1}));
    EXPECT_TRUE(queue.empty());
}

TEST(LoadPacedQueue, GoesOverSeveralSlowParts) {
    LoadPacedQueue queue;
    for (int i = 0; i < 3; ++i) queue.keep("ab", true);
    queue.keep("", true);
    EXPECT_EQ(take(queue, 3), (Sent{"aba", 3}));
    EXPECT_FALSE(queue.empty());
    EXPECT_EQ(take(queue, 99), (Sent{"bab", 3}));
    EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace tiderace::load
