#include "tiderace/core/kernel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#endif

#include <cerrno>
#include <cstddef>
#include <cstdint>
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

#if defined(__linux__)
// From now on, in this process, the call fails with `error`, as in a container whose filter does
// not know it. False: this system does not let us.
bool forbid(long call, int error) {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter{.len = std::size(steps), .filter = steps};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr int not_let = 77;

// Ends a child in which `call` fails: with the negated result of `made`, or 0.
template <typename Made>
[[noreturn]] void end_where_it_fails(long call, int error, Made made) {
    if (!forbid(call, error)) ::_exit(not_let);
    const auto result = made();
    ::_exit(result < 0 ? static_cast<int>(-result) : 0);
}

bool can_forbid() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(forbid(SYS_openat2, ENOSYS) ? 0 : not_let);
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(OpenBeneath, WalksWhereTheKernelsOwnCallIsUnknownOrCannotVouch) {
    if (!can_forbid()) GTEST_SKIP() << "this system forbids the filter";
    const auto open = [&] {
        return system_kernel().open_beneath(root_.get(), "inside/file", O_RDONLY, Links::inside);
    };
    for (const int error : {ENOSYS, EPERM, EAGAIN}) {
        EXPECT_EXIT(end_where_it_fails(SYS_openat2, error, open), ::testing::ExitedWithCode(0), "")
            << error;
    }
    EXPECT_EXIT(end_where_it_fails(SYS_openat2, EACCES, open), ::testing::ExitedWithCode(EACCES),
                "");
}

TEST_F(OpenBeneath, AReadThatMayNotWaitIsUnknownWhereTheKernelLacksIt) {
    if (!can_forbid()) GTEST_SKIP() << "this system forbids the filter";
    const Descriptor file(system_kernel(), system_kernel().open_beneath(root_.get(), "inside/file",
                                                                        O_RDONLY, Links::inside));
    ASSERT_TRUE(file);
    const auto read = [&] {
        char bytes[4];
        return system_kernel().read_now(file.get(), bytes, sizeof bytes, 0);
    };
    for (const int error : {ENOSYS, EINVAL, EPERM}) {
        EXPECT_EXIT(end_where_it_fails(SYS_preadv2, error, read),
                    ::testing::ExitedWithCode(EOPNOTSUPP), "")
            << error;
    }
    EXPECT_EXIT(end_where_it_fails(SYS_preadv2, EAGAIN, read), ::testing::ExitedWithCode(EAGAIN),
                "");
}
#endif

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
