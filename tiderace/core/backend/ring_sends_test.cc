#include "tiderace/core/backend/ring_sends.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tiderace::core {
namespace {

std::string text_of(const SendQueue& queue) {
    std::array<iovec, 16> pieces;
    std::string text;
    const std::size_t count = queue.gather(pieces);
    for (std::size_t i = 0; i < count; ++i) {
        text.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    }
    return text;
}

struct Forever final : Shared {};

class ARingsSends : public ::testing::Test {
  protected:
    void queue(std::string_view text) { queue_.append(pool_, text); }

    BlockPool pool_;
    SendQueue queue_;
    RingSends sends_;
};

struct NoFile final : SharedFile {
    int descriptor() const override { return -1; }
};

TEST_F(ARingsSends, AreMemoryInAnyNumberOfPieces) {
    queue("head ");
    queue_.append_shared("body", make_ref<Forever>());
    ASSERT_TRUE(sends_.fits(queue_));
    EXPECT_EQ(sends_.take({7, 1}, queue_).bytes, "head body");
    EXPECT_TRUE(queue_.empty());
    EXPECT_EQ(pool_.taken(), 0U) << "the next answer has its block";
    for (int i = 0; i < 100; ++i) queue_.append_shared("piece", make_ref<Forever>());
    EXPECT_FALSE(sends_.fits(queue_)) << "but not in very many";
}

TEST_F(ARingsSends, AreNoFiles) {
    queue("head");
    EXPECT_TRUE(sends_.fits(queue_));
    queue_.append_file(make_ref<NoFile>(), 0, 10);
    EXPECT_FALSE(sends_.fits(queue_));
    queue_.consume(4);
    EXPECT_FALSE(sends_.fits(queue_));
}

TEST_F(ARingsSends, AreSmall) {
    queue(std::string(ring_send_bytes_max, 'x'));
    EXPECT_TRUE(sends_.fits(queue_));
    queue("x");
    EXPECT_FALSE(sends_.fits(queue_));
}

TEST_F(ARingsSends, AreBoundedInBytesUntilAllAreFinished) {
    const std::string large(ring_send_bytes_max, 'x');
    constexpr std::uint32_t fit = ring_sends_bytes_max / ring_send_bytes_max;
    for (std::uint32_t i = 0; i < fit; ++i) {
        queue(large);
        ASSERT_TRUE(sends_.fits(queue_)) << i;
        EXPECT_EQ(sends_.take({static_cast<int>(i), 1}, queue_).slot, i);
    }
    queue("x");
    EXPECT_FALSE(sends_.fits(queue_));
    for (std::uint32_t i = 0; i < fit; ++i) {
        EXPECT_FALSE(sends_.fits(queue_)) << i;
        EXPECT_EQ(sends_.finish(i, large.size()).fd, static_cast<int>(i));
    }
    EXPECT_TRUE(sends_.fits(queue_));
}

TEST_F(ARingsSends, AreBoundedInNumber) {
    for (std::size_t i = 0; i < ring_sends_max; ++i) {
        queue("x");
        ASSERT_TRUE(sends_.fits(queue_)) << i;
        sends_.take({static_cast<int>(i), 1}, queue_);
    }
    queue("x");
    EXPECT_FALSE(sends_.fits(queue_));
}

TEST_F(ARingsSends, WhatTheKernelLeftComesBeforeWhatWasQueuedSince) {
    for (const std::size_t taken : {0, 1, 3, 4}) {
        queue("abcd");
        const auto [slot, bytes] = sends_.take({7, 1}, queue_);
        queue("efg");
        EXPECT_EQ(sends_.finish(slot, taken).generation, 1U);
        EXPECT_EQ(text_of(queue_), std::string("abcdefg").substr(taken));
        EXPECT_EQ(queue_.bytes(), 7 - taken);
        queue_.clear();
    }
}

TEST_F(ARingsSends, BytesOfAClosedDescriptorStayUntilTheKernelIsDone) {
    queue("still read");
    const auto [slot, bytes] = sends_.take({7, 1}, queue_);
    sends_.forget(sends_.find({7, 1}).slot);
    queue("another's");
    const auto [other, others] = sends_.take({7, 2}, queue_);
    EXPECT_EQ(sends_.find({7, 2}).slot, other);
    EXPECT_EQ(bytes, "still read");
    EXPECT_FALSE(sends_.finish(slot, 3)) << "nobody is to be told";
    EXPECT_TRUE(queue_.empty());
    EXPECT_EQ(sends_.finish(other, 9).generation, 2U);
}

TEST_F(ARingsSends, ASendThatIsNotInFlightHasNoSlot) {
    queue("x");
    EXPECT_EQ(sends_.finish(sends_.take({7, 1}, queue_).slot, 1).fd, 7);
    EXPECT_DEATH(sends_.find({7, 1}), "under way");
}

}  // namespace
}  // namespace tiderace::core
