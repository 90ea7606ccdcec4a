#include "tiderace/core/backend/descriptor_table.h"

#include <gtest/gtest.h>

namespace tiderace::core {
namespace {

struct Entry {
    IoObserver* observer = nullptr;
    std::uint32_t generation = 0;
    int mark = 0;
};

struct Observer final : IoObserver {};

TEST(DescriptorTable, FindsWhatWasAdded) {
    DescriptorTable<Entry> table;
    Observer one;
    Observer other;
    const IoHandle low = *table.add(3, one);
    table.at(low).mark = 7;
    const IoHandle high = *table.add(5'000, other);
    EXPECT_EQ(table.at(low).mark, 7) << "growing keeps what is there";
    EXPECT_EQ(table.at(low).observer, &one);
    EXPECT_EQ(table.at(high).observer, &other);
    EXPECT_EQ(high.fd, 5'000);
}

TEST(DescriptorTable, FindsNothingForAHandleOfAnEarlierUser) {
    DescriptorTable<Entry> table;
    Observer one;
    const IoHandle first = *table.add(3, one);
    table.at(first).mark = 7;
    IoHandle given_back = first;
    table.remove(given_back);
    EXPECT_FALSE(given_back);
    EXPECT_EQ(table.find(first), nullptr);
    const IoHandle second = *table.add(3, one);
    EXPECT_EQ(table.find(first), nullptr);
    EXPECT_EQ(table.at(second).mark, 0) << "nothing is left of the one before";
}

TEST(DescriptorTable, FindsNothingForWhatWasNeverThere) {
    DescriptorTable<Entry> table;
    EXPECT_EQ(table.find({}), nullptr);
    EXPECT_EQ(table.find({.fd = 3, .generation = 0}), nullptr);
    Observer one;
    ASSERT_TRUE(table.add(3, one));
    EXPECT_EQ(table.find({.fd = 4, .generation = 0}), nullptr);
    EXPECT_EQ(table.find({.fd = 1'000'000, .generation = 1}), nullptr);
}

TEST(DescriptorTableDeathTest, ToUseWhatIsGoneIsOurOwnFault) {
    DescriptorTable<Entry> table;
    Observer one;
    IoHandle handle = *table.add(3, one);
    EXPECT_DEATH(static_cast<void>(table.add(3, one)), "attached twice");
    const IoHandle gone = handle;
    table.remove(handle);
    EXPECT_DEATH(table.at(gone), "a handle that was closed");
}

}  // namespace
}  // namespace tiderace::core
