#include "tiderace/testing/cold_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::testing {
namespace {

class ColdDiskTest : public ::testing::Test {
  protected:
    ColdDiskTest() {
        folder_.write("cold", "abc");
        folder_.write("warm", "abc");
        disk_.make_cold(folder_.path() + "/cold");
    }
    core::Descriptor open(const char* name) {
        const core::Descriptor root(disk_, ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY));
        return {disk_, disk_.open_beneath(root.get(), name, O_RDONLY, core::Links::never)};
    }

    TemporaryFolder folder_;
    ColdDisk disk_;
    char buffer_[8];
};

TEST_F(ColdDiskTest, AFileIsColdUntilItWasRead) {
    const core::Descriptor warm = open("warm"), cold = open("cold");
    EXPECT_EQ(disk_.open_files(), 2U);
    EXPECT_EQ(disk_.read_now(warm.get(), buffer_, 8, 0), 3);
    EXPECT_EQ(disk_.read_now(cold.get(), buffer_, 8, 0), -EAGAIN);
    EXPECT_EQ(disk_.read_at(cold.get(), buffer_, 8, 0), 3);
    EXPECT_EQ(disk_.loop_waits(), 1);
    EXPECT_EQ(disk_.read_now(cold.get(), buffer_, 8, 0), 3);
    disk_.set_telling(false);
    EXPECT_EQ(disk_.read_now(cold.get(), buffer_, 8, 0), -EOPNOTSUPP);
}

TEST_F(ColdDiskTest, OtherThreadsAreHeldUpWhenAskedTo) {
    const core::Descriptor cold = open("cold");
    disk_.set_holding(true);
    std::atomic<bool> over = false;
    std::thread other([&] {
        char buffer[8];
        disk_.read_at(cold.get(), buffer, 8, 0);
        over = true;
    });
    EXPECT_EQ(disk_.read_now(cold.get(), buffer_, 8, 0), -EAGAIN);
    EXPECT_FALSE(over);
    disk_.set_holding(false);
    other.join();
    EXPECT_EQ(disk_.other_waits(), 1);
    EXPECT_EQ(disk_.read_now(cold.get(), buffer_, 8, 0), 3);
}

}  // namespace
}  // namespace tiderace::testing
