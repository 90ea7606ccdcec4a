#include "tiderace/base/thread_role.h"

#include <gtest/gtest.h>

#include <thread>

namespace tiderace {
namespace {

TEST(ThreadRole, IsHeldOnlyByTheThreadThatTookIt) {
    ThreadRole role;
    EXPECT_FALSE(role.held_here());
    role.take();
    EXPECT_TRUE(role.held_here());
    role.assert_here();
    bool held_elsewhere = true;
    std::thread([&] { held_elsewhere = role.held_here(); }).join();
    EXPECT_FALSE(held_elsewhere);
    role.give_back();
    EXPECT_FALSE(role.held_here());
}

TEST(ThreadRole, MovesToAnotherThreadOnceGivenBack) {
    ThreadRole role;
    role.take();
    role.give_back();
    bool held_there = false;
    std::thread([&] {
        role.take();
        held_there = role.held_here();
        role.give_back();
    }).join();
    EXPECT_TRUE(held_there);
    EXPECT_FALSE(role.held_here());
}

TEST(ThreadRole, EachThreadMayHoldItsOwn) {
    ThreadRole mine, theirs;
    mine.take();
    bool both = false;
    std::thread([&] {
        theirs.take();
        both = theirs.held_here() && !mine.held_here();
        theirs.give_back();
    }).join();
    EXPECT_TRUE(both);
    EXPECT_FALSE(theirs.held_here());
    mine.give_back();
}

TEST(ThreadRoleDeathTest, TheWrongThreadAborts) {
    ThreadRole role;
    EXPECT_DEATH(role.assert_here(), "called on the wrong thread");
    EXPECT_DEATH(role.give_back(), "check failed");
}

TEST(ThreadRoleDeathTest, AThreadHoldsOneRoleAtATime) {
    ThreadRole first, second;
    first.take();
    EXPECT_DEATH(second.take(), "has a role already");
    EXPECT_DEATH(first.take(), "has a role already");
    first.give_back();
}

}  // namespace
}  // namespace tiderace
