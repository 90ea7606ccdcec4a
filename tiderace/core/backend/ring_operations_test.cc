#include "tiderace/core/backend/ring_operations.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tiderace::core
