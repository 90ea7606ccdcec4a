#include "tiderace/base/intrusive_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tiderace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Guest : ListHook {
    explicit Guest(int given) : name(given) {}
    int name;
};

std::vector<int> names(IntrusiveList<Guest>& list) {
    std::vector<int> found;
    list.for_each([&](Guest& guest) { found.push_back(guest.name); });
    return found;
}

TEST(IntrusiveList, KeepsTheOrderOfBothEnds) {
    Guest one(1), two(2), three(3);
    IntrusiveList<Guest> list;
    EXPECT_TRUE(list.empty());
    list.push_back(one);
    list.push_back(two);
    list.push_back(three);
    EXPECT_FALSE(list.empty());
    EXPECT_THAT(names(list), ElementsAre(1, 2, 3));
    EXPECT_EQ(&list.front(), &one);
    EXPECT_EQ(&list.back(), &three);
}

TEST(IntrusiveList, PopsTheFrontAndUnlinksIt) {
    Guest one(1), two(2);
    IntrusiveList<Guest> list;
    list.push_back(one);
    list.push_back(two);
    EXPECT_EQ(&list.pop_front(), &one);
    EXPECT_FALSE(one.linked());
    EXPECT_EQ(&list.pop_front(), &two);
    EXPECT_TRUE(list.empty());
}

TEST(IntrusiveList, UnlinkFromTheMiddleAndTwiceIsHarmless) {
    Guest one(1), two(2), three(3);
    IntrusiveList<Guest> list;
    for (Guest* guest : {&one, &two, &three}) list.push_back(*guest);
    two.unlink();
    two.unlink();
    EXPECT_THAT(names(list), ElementsAre(1, 3));
    list.push_back(two);
    EXPECT_THAT(names(list), ElementsAre(1, 3, 2));
}

TEST(IntrusiveList, AnObjectLeavesItsListWhenItDies) {
    Guest one(1), three(3);
    IntrusiveList<Guest> list;
    auto two = std::make_unique<Guest>(2);
    list.push_back(one);
    list.push_back(*two);
    list.push_back(three);
    two.reset();
    EXPECT_THAT(names(list), ElementsAre(1, 3));
}

TEST(IntrusiveList, ObjectsOutliveTheirList) {
    Guest one(1), two(2);
    {
        IntrusiveList<Guest> list;
        list.push_back(one);
        list.push_back(two);
    }
    one.unlink();
    two.unlink();
    IntrusiveList<Guest> next;
    next.push_back(two);
    next.push_back(one);
    EXPECT_THAT(names(next), ElementsAre(2, 1));
}

TEST(IntrusiveList, SpliceTakesAllInOrderAndLeavesTheOtherEmpty) {
    Guest one(1), two(2), three(3), four(4);
    IntrusiveList<Guest> first, second;
    first.push_back(one);
    second.push_back(two);
    second.push_back(three);
    first.splice_back(second);
    EXPECT_THAT(names(first), ElementsAre(1, 2, 3));
    EXPECT_THAT(names(second), IsEmpty());
    second.push_back(four);
    EXPECT_THAT(names(first), ElementsAre(1, 2, 3));
    first.splice_back(second);
    EXPECT_THAT(names(first), ElementsAre(1, 2, 3, 4));
    first.splice_back(second);
    EXPECT_THAT(names(first), ElementsAre(1, 2, 3, 4));
    IntrusiveList<Guest> empty;
    empty.splice_back(first);
    EXPECT_THAT(names(empty), ElementsAre(1, 2, 3, 4));
    EXPECT_TRUE(first.empty());
}

TEST(IntrusiveList, ForEachMayUnlinkTheOneItIsGiven) {
    Guest one(1), two(2), three(3);
    IntrusiveList<Guest> list;
    for (Guest* guest : {&one, &two, &three}) list.push_back(*guest);
    list.for_each([](Guest& guest) {
        if (guest.name != 2) guest.unlink();
    });
    EXPECT_THAT(names(list), ElementsAre(2));
}

TEST(IntrusiveListDeathTest, MisuseAborts) {
    IntrusiveList<Guest> list, other;
    EXPECT_DEATH(list.front(), "the list is empty");
    EXPECT_DEATH(list.pop_front(), "the list is empty");
    Guest one(1);
    list.push_back(one);
    EXPECT_DEATH(other.push_back(one), "already in a list");
}

}  // namespace
}  // namespace tiderace
