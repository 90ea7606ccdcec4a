#include "tiderace/net/folder_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::net {
namespace {

class FolderLockTest : public ::testing::Test {
  protected:
    int open() { return ::open(folder_.path_of(".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

    testing::TemporaryFolder folder_;
    const int mine_ = open();
    const int other_ = open();

    ~FolderLockTest() override {
        ::close(mine_);
        ::close(other_);
    }
};

TEST_F(FolderLockTest, IsTakenAtOnceWhereItIsFree) {
    EXPECT_EQ(lock_folder(mine_, Duration::zero()), FolderLock::taken);
}

TEST_F(FolderLockTest, IsWaitedForNoLongerThanItsLimit) {
    ASSERT_EQ(lock_folder(other_, Duration::zero()), FolderLock::taken);
    for (const Duration wait_max : {Duration::zero(), Duration(25ms)}) {
        EXPECT_EQ(lock_folder(mine_, wait_max), FolderLock::held_by_another);
    }
}

TEST_F(FolderLockTest, IsTakenWhenItsHolderGoes) {
    ASSERT_EQ(lock_folder(other_, Duration::zero()), FolderLock::taken);
    FolderLock outcome{};
    std::thread waiter([&] { outcome = lock_folder(mine_, Duration::max()); });
    ASSERT_EQ(::flock(other_, LOCK_UN), 0);
    waiter.join();
    EXPECT_EQ(outcome, FolderLock::taken);
    EXPECT_EQ(lock_folder(other_, Duration::zero()), FolderLock::held_by_another);
}

TEST_F(FolderLockTest, WhatHasNoLocksIsSaid) {
    EXPECT_EQ(lock_folder(-1, Duration::max()), FolderLock::unavailable);
    EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace tiderace::net
