#include "tiderace/base/slot_map.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

namespace tiderace {
namespace {

TEST(SlotMap, FindsWhatItHoldsAndNothingElse) {
    SlotMap<std::string> map;
    SlotId id;
    map.emplace("one");
    map.for_each([&](SlotId found, std::string&) { id = found; });
    ASSERT_NE(map.find(id), nullptr);
    EXPECT_EQ(*map.find(id), "one");
    EXPECT_EQ(map.find(SlotId{}), nullptr);
    EXPECT_EQ(map.find(SlotId{1'000'000, 1}), nullptr);
}

TEST(SlotMap, AnOldIdMissesTheNextTenantOfItsSlot) {
    struct Tenant {
        explicit Tenant(SlotId given) : id(given) {}
        SlotId id;
    };
    SlotMap<Tenant> map;
    const SlotId first = map.emplace().id;
    map.erase(first);
    const SlotId second = map.emplace().id;
    EXPECT_EQ(first.slot, second.slot);
    EXPECT_EQ(map.find(first), nullptr);
    EXPECT_NE(map.find(second), nullptr);
}

TEST(SlotMap, AddressesStayWhileItGrows) {
    SlotMap<int, 4> map;
    std::set<int*> addresses;
    for (int i = 0; i < 100; ++i) addresses.insert(&map.emplace(i));
    EXPECT_EQ(addresses.size(), 100U);
    EXPECT_EQ(map.size(), 100U);
    map.for_each([&](SlotId, int& value) { EXPECT_TRUE(addresses.contains(&value)); });
}

TEST(SlotMapDeathTest, ErasingTwiceAborts) {
    SlotMap<int> map;
    map.emplace(1);
    SlotId id;
    map.for_each([&](SlotId found, int&) { id = found; });
    map.erase(id);
    EXPECT_DEATH(map.erase(id), "dead id");
}

struct Refusing {
    explicit Refusing(bool refuses) {
        if (refuses) throw std::runtime_error("no");
    }
};

TEST(SlotMap, AConstructorThatThrowsLeavesItsSlotFree) {
    SlotMap<Refusing, 2> map;
    for (int i = 0; i < 3; ++i) EXPECT_THROW(map.emplace(true), std::runtime_error);
    EXPECT_EQ(map.size(), 0U);
    EXPECT_EQ(map.capacity(), 2U);
    std::size_t there = 0;
    map.for_each([&](SlotId, Refusing&) { ++there; });
    EXPECT_EQ(there, 0U);
    map.emplace(false);
    EXPECT_EQ(map.size(), 1U);
}

}  // namespace
}  // namespace tiderace
