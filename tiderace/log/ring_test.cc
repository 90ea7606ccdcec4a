#include "tiderace/log/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/log/ring_fixture.h"

namespace tiderace::log {
namespace {

class RingTest : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(bell_.open()); }

    static bool put(Ring& ring, ByteView line, std::size_t reserved_bytes = 0) {
        char* room = ring.reserve(std::max(reserved_bytes, line.size()));
        if (room == nullptr) return false;
        std::memcpy(room, line.data(), line.size());
        ring.commit(line.size());
        return true;
    }
    bool rung() { return bell_.sleep_for(1ns); }

    Doorbell bell_;
};

TEST_F(RingTest, NothingIsSeenBeforeItIsPublished) {
    Ring ring(1'024, bell_);
    EXPECT_TRUE(ring.empty());
    put(ring, "one\n");
    put(ring, "two\n");
    EXPECT_TRUE(ring.empty());
    EXPECT_EQ(take_all(ring), "");
    ring.publish();
    EXPECT_FALSE(ring.empty());
    EXPECT_EQ(take_all(ring), "one\ntwo\n");
    EXPECT_TRUE(ring.empty());
}

TEST_F(RingTest, AReservationMayBeGivenUpOrUsedInPart) {
    Ring ring(1'024, bell_);
    char* first = ring.reserve(100);
    EXPECT_EQ(ring.reserve(100), first);
    ring.commit(0);
    EXPECT_TRUE(put(ring, "short\n", 100));
    ring.publish();
    EXPECT_EQ(take_all(ring), "short\n");
    EXPECT_EQ(ring.dropped(), 0U);
}

TEST_F(RingTest, AFullRingRefusesAndCounts) {
    Ring ring(64, bell_);
    const std::string line(31, 'a');
    EXPECT_TRUE(put(ring, line + "\n"));
    EXPECT_TRUE(put(ring, line + "\n"));
    EXPECT_FALSE(put(ring, "x\n"));
    EXPECT_FALSE(put(ring, "y\n"));
    EXPECT_EQ(ring.dropped(), 2U);
    EXPECT_EQ(take_all(ring), line + "\n" + line + "\n");  // refusing has published them
    EXPECT_TRUE(put(ring, "z\n"));
    ring.publish();
    EXPECT_EQ(take_all(ring), "z\n");
    EXPECT_EQ(ring.dropped(), 2U);
}

TEST_F(RingTest, WhatCanNeverFitIsDroppedAndNothingElse) {
    Ring ring(64, bell_);
    EXPECT_EQ(ring.reserve(65), nullptr);
    EXPECT_EQ(ring.dropped(), 1U);
    EXPECT_NE(ring.reserve(64), nullptr);
    ring.commit(64);
}

TEST_F(RingTest, GivingUpASkippedReservationWithNothingKeepsTheRingWhole) {
    Ring ring(64, bell_);
    put(ring, std::string(39, 'a') + "\n");
    ring.publish();
    EXPECT_EQ(take_all(ring).size(), 40U);
    ASSERT_NE(ring.reserve(32), nullptr);  // would skip the last 24
    ring.commit(0);
    ring.publish();
    EXPECT_TRUE(ring.empty());
    EXPECT_TRUE(put(ring, "short\n"));  // this fits without a skip
    ring.publish();
    EXPECT_EQ(take_all(ring), "short\n");
}

TEST_F(RingTest, ALoopThatNeverPublishesIsSeenFromHalfOn) {
    Ring ring(1'024, bell_);
    const std::string line = std::string(99, 'a') + "\n";
    for (int i = 0; i < 5; ++i) put(ring, line);
    EXPECT_TRUE(ring.empty());
    put(ring, line);
    EXPECT_EQ(take_all(ring).size(), 600U);
}

TEST_F(RingTest, PassingHalfRingsOncePerCrossing) {
    Ring ring(1'024, bell_);
    const std::string line = std::string(63, 'a') + "\n";  // fills laps to the brim
    for (int lap = 0; lap < 5; ++lap) {
        for (int i = 0; i < 8; ++i) {
            put(ring, line);
            ring.publish();
        }
        EXPECT_FALSE(rung()) << "below half, and the writer does not idle";
        put(ring, line);
        ring.publish();
        EXPECT_TRUE(rung());
        put(ring, line);
        ring.publish();
        EXPECT_FALSE(rung()) << "it has been told";
        take_all(ring);
    }
}

TEST_F(RingTest, AboveHalfItRingsAgainOnceTheWriterHasTakenSomething) {
    // Else a writer that took a little and slept again would leave a full ring for the interval.
    Ring ring(1'024, bell_);
    const std::string line = std::string(63, 'a') + "\n";
    while (put(ring, line)) ring.publish();
    EXPECT_TRUE(rung());
    EXPECT_FALSE(put(ring, line));
    EXPECT_FALSE(rung()) << "it has been told";
    ring.consume(ring.readable(ring.published()).substr(0, 128).size());
    EXPECT_TRUE(put(ring, line));
    ring.publish();
    EXPECT_TRUE(rung()) << "by publishing";
    ring.consume(32);
    EXPECT_TRUE(put(ring, line));
    EXPECT_FALSE(put(ring, line));
    EXPECT_TRUE(rung()) << "by dropping";
}

TEST_F(RingTest, KeepsEveryLineOverManyLaps) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Random random(seed);
        Ring ring(256, bell_);
        std::string expected, taken;
        std::uint64_t refused = 0;
        for (int step = 0; step < 2'000; ++step) {
            const std::size_t length = 1 + random.below(100);
            const std::string line =
                std::string(length - 1, static_cast<char>('a' + step % 26)) + "\n";
            if (put(ring, line, length + random.below(60))) {
                expected += line;
            } else {
                ++refused;
            }
            if (random.chance(1, 2)) ring.publish();
            if (random.chance(1, 3)) taken += take_all(ring);
            if (random.chance(1, 3)) {
                const ByteView piece = ring.readable(ring.published());
                const std::size_t part = piece.empty() ? 0 : random.below(piece.size() + 1);
                taken += piece.substr(0, part);
                ring.consume(part);
            }
        }
        ring.publish();
        taken += take_all(ring);
        ASSERT_EQ(taken, expected) << "seed " << seed;
        ASSERT_EQ(ring.dropped(), refused);
        ASSERT_GT(refused, 0U);
    }
}

TEST_F(RingTest, AConsumerOnAnotherThreadSeesEveryLineInOrder) {
    constexpr int lines = 50'000;
    Ring ring(4'096, bell_);
    std::vector<int> sent, seen;
    std::atomic<bool> done = false;
    std::thread producer([&] {
        for (int i = 0; i < lines; ++i) {
            if (put(ring, std::to_string(i) + "\n", 16)) sent.push_back(i);
            if (i % 7 == 0) ring.publish();
        }
        ring.publish();
        done.store(true, std::memory_order_release);
    });
    std::string text;
    for (bool last = false; !last;) {
        last = done.load(std::memory_order_acquire);
        text += take_all(ring);
    }
    producer.join();
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        seen.push_back(std::stoi(text.substr(at, 8)));
    }
    EXPECT_EQ(seen, sent);
    EXPECT_EQ(sent.size() + ring.dropped(), static_cast<std::size_t>(lines));
}

TEST_F(RingTest, AnOddCapacityAborts) {
    EXPECT_DEATH(Ring(1'000, bell_), "power of two");
}

}  // namespace
}  // namespace tiderace::log
