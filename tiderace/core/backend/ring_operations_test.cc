#include "tiderace/core/backend/ring_operations.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <set>

namespace tiderace::core {
namespace {

TEST(RingOperations, TheirTagsSayWhatAndWhoseTheyAre) {
    for (const Operation operation : users_operations) {
        const Tag tag(tag_of(operation, {descriptor_max, 0xFFFFFFFF}));
        EXPECT_EQ(tag.operation, operation);
        EXPECT_EQ(tag.handle.fd, descriptor_max);
        EXPECT_EQ(tag.handle.generation, 0xFFFFFFFF);
    }
    EXPECT_EQ(Tag(send_tag(7)).operation, Operation::send);
    EXPECT_EQ(Tag(no_tag).operation, Operation::none);
}

TEST(RingOperations, AUsersHaveABitEach) {
    std::set<int> bits;
    for (const Operation operation : users_operations) bits.insert(bit(operation));
    EXPECT_EQ(bits.size(), users_operations.size());
    EXPECT_FALSE(bits.contains(0));
}

// The ring's buffer is the bound of a receive; a length would be another.
TEST(RingOperations, AReceiveTakesAsMuchAsItsBufferHolds) {
    io_uring_sqe ask{};
    prepare(ask, Operation::receive, 5, 0);
    EXPECT_EQ(ask.opcode, IORING_OP_RECV);
    EXPECT_EQ(ask.len, 0U);
    EXPECT_NE(ask.flags & IOSQE_BUFFER_SELECT, 0);
    EXPECT_NE(ask.ioprio & IORING_RECV_MULTISHOT, 0);
}

TEST(RingOperations, AWatchRequestsExactlyItsInterest) {
    constexpr unsigned masks[] = {0, POLLIN, POLLOUT, POLLIN | POLLOUT};
    for (unsigned watched = 0; watched < 4; ++watched) {
        io_uring_sqe ask{};
        prepare(ask, Operation::watch, 5, watched);
        EXPECT_EQ(ask.opcode, IORING_OP_POLL_ADD);
        EXPECT_EQ(ask.fd, 5);
        io_uring_sqe expected{};
        io_uring_prep_poll_add(&expected, 5, masks[watched]);
        EXPECT_EQ(ask.poll32_events, expected.poll32_events) << watched;
    }
}

}  // namespace
}  // namespace tiderace::core
