#include "tiderace/testing/fault_kernel.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace tiderace::testing {
namespace {

TEST(FaultKernel, FailsTheNthFileCallAndNoOther) {
    FaultKernel kernel;
    struct stat status{};
    kernel.fail_at(2, EIO);
    const int fd = kernel.open_beneath(AT_FDCWD, ".", O_RDONLY, core::Links::inside);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(kernel.file_status(fd, &status), -EIO);
    EXPECT_EQ(kernel.file_status(fd, &status), 0);
    EXPECT_EQ(kernel.calls(), 3U);
    EXPECT_EQ(kernel.open_files(), 1);
    kernel.close(fd);
    EXPECT_EQ(kernel.open_files(), 0);
}

TEST(FaultKernel, ActsJustBeforeTheNth) {
    FaultKernel kernel;
    int seen = -1;
    kernel.before(2, [&] { seen = kernel.open_files(); });
    const int fd = kernel.open_beneath(AT_FDCWD, ".", O_RDONLY, core::Links::inside);
    EXPECT_EQ(seen, -1);
    struct stat status{};
    kernel.file_status(fd, &status);
    EXPECT_EQ(seen, 1);
    kernel.close(fd);
}

}  // namespace
}  // namespace tiderace::testing
