#include "tiderace/core/kernel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace tiderace::core {
namespace {

class OpenBeneath : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/tiderace-kernel-XXXXXX";
        ASSERT_NE(::mkdtemp(name), nullptr);
        top_ = name;
        std::filesystem::create_directories(top_ / "root" / "inside");
        std::ofstream(top_ / "secret") << "secret";
        std::ofstream(top_ / "root" / "inside" / "file") << "file";
        std::filesystem::create_symlink("inside/file", top_ / "root" / "link-inside");
        std::filesystem::create_symlink("../secret", top_ / "root" / "link-outside");
        std::filesystem::create_symlink(top_ / "secret", top_ / "root" / "link-absolute");
        root_ = Descriptor(system_kernel(),
                           ::open((top_ / "root").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ASSERT_TRUE(root_);
    }
    void TearDown() override { std::filesystem::remove_all(top_); }

    // True if it could be opened.
    bool opens(const char* path, Links links = Links::inside) {
        return static_cast<bool>(Descriptor(
            system_kernel(), system_kernel().open_beneath(root_.get(), path, O_RDONLY, links)));
    }

    std::filesystem::path top_;
    Descriptor root_;
};

TEST_F(OpenBeneath, OpensWhatIsInside) {
    EXPECT_TRUE(opens("inside/file"));
    EXPECT_TRUE(opens("inside"));
    EXPECT_TRUE(opens("link-inside"));
    EXPECT_TRUE(opens("inside/../inside/file"));
}

TEST_F(OpenBeneath, NothingLeavesTheRoot) {
    EXPECT_FALSE(opens("../secret"));
    EXPECT_FALSE(opens("inside/../../secret"));
    EXPECT_FALSE(opens("link-outside"));
    EXPECT_FALSE(opens("link-absolute"));
    EXPECT_FALSE(opens((top_ / "secret").c_str()));
}

TEST_F(OpenBeneath, LinksAreFollowedAsFarAsIsAllowed) {
    EXPECT_TRUE(opens("inside/file", Links::never));
    EXPECT_FALSE(opens("link-inside", Links::never));
    EXPECT_TRUE(opens("link-inside", Links::anywhere));
    EXPECT_TRUE(opens("link-outside", Links::anywhere));
    EXPECT_TRUE(opens("link-absolute", Links::anywhere));
    EXPECT_FALSE(opens("../secret", Links::anywhere)) << "a link may lead out, a path may not";
    EXPECT_FALSE(opens((top_ / "secret").c_str(), Links::anywhere));
}

TEST_F(OpenBeneath, OpensAsItsFlagsSay) {
    const auto open = [&](const char* path, int flags) {
        return system_kernel().open_beneath(root_.get(), path, flags, Links::inside);
    };
    EXPECT_EQ(open("inside/file", O_RDONLY | O_DIRECTORY), -ENOTDIR);
    const Descriptor file(system_kernel(), open("inside/file", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    ASSERT_TRUE(file);
    EXPECT_NE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(file.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(OpenBeneath, AnAbsentFileIsNotFound) {
    EXPECT_EQ(system_kernel().open_beneath(root_.get(), "absent", O_RDONLY, Links::inside),
              -ENOENT);
}

// As in a server that was started without a standard input.
TEST_F(OpenBeneath, WhatItOpensMayHaveTheNumberZero) {
    const int input = ::dup(STDIN_FILENO);
    ::close(STDIN_FILENO);
    errno = ENOENT;  // of an earlier call
    const int fd =
        system_kernel().open_beneath(root_.get(), "inside/file", O_RDONLY, Links::inside);
    EXPECT_EQ(fd, STDIN_FILENO);
    if (fd >= 0) ::close(fd);
    if (input < 0) return;
    EXPECT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);
    ::close(input);
}

TEST(Descriptor, MovesAndClosesOnce) {
    int raw = -1;
    {
        Descriptor first(system_kernel(), ::open("/dev/null", O_RDONLY | O_CLOEXEC));
        raw = first.get();
        Descriptor second = std::move(first);
        EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from one is empty
        EXPECT_EQ(second.get(), raw);
    }
    EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

}  // namespace
}  // namespace tiderace::core
