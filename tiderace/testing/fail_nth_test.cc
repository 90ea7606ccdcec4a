#include "tiderace/testing/fail_nth.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "tiderace/testing/fake/network.h"

namespace tiderace::testing {
namespace {

class FailNthTest : public ::testing::Test {
  protected:
    ManualClock clock_;
    FakeNetwork network_{clock_, {}};
    FailNth kernel_{network_};
};

TEST_F(FailNthTest, CountsEveryKindAndPassesItOn) {
    const int fd = kernel_.open_socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_GE(fd, FakeNetwork::first_descriptor);
    kernel_.close(fd);
    EXPECT_EQ(kernel_.calls(Call::open_socket), 1U);
    EXPECT_EQ(kernel_.calls(Call::close), 1U);
    EXPECT_EQ(kernel_.calls(), 2U);
    EXPECT_FALSE(kernel_.failed());
    EXPECT_EQ(network_.open_descriptors(), 0U);
}

TEST_F(FailNthTest, FailsTheNthOfAnyKindOnce) {
    kernel_.fail(2);
    const int fd = kernel_.open_socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(kernel_.listen(fd, 1), -usual_error(Call::listen));
    EXPECT_EQ(kernel_.failed_call(), Call::listen);
    EXPECT_EQ(kernel_.listen(fd, 1), 0);
}

TEST_F(FailNthTest, FailsTheNthOfOneKindWithTheGivenError) {
    kernel_.fail(2, ENFILE, Call::open_socket);
    const int fd = kernel_.open_socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(kernel_.listen(fd, 1), 0);
    EXPECT_EQ(kernel_.open_socket(AF_INET, SOCK_STREAM, 0), -ENFILE);
}

TEST_F(FailNthTest, FailsAllOfAKindUntilReset) {
    kernel_.fail_all(Call::open_socket, EMFILE);
    EXPECT_EQ(kernel_.open_socket(AF_INET, SOCK_STREAM, 0), -EMFILE);
    EXPECT_EQ(kernel_.open_socket(AF_INET, SOCK_STREAM, 0), -EMFILE);
    kernel_.fail_all(Call::open_socket, 0);
    EXPECT_GE(kernel_.open_socket(AF_INET, SOCK_STREAM, 0), 0);
}

TEST_F(FailNthTest, AFailedCloseFreesTheDescriptor) {
    const int fd = kernel_.open_socket(AF_INET, SOCK_STREAM, 0);
    kernel_.fail(1);
    EXPECT_EQ(kernel_.close(fd), -EIO);
    EXPECT_EQ(network_.open_descriptors(), 0U);
}

TEST_F(FailNthTest, FailEachGoesThroughEveryCallOfAnOperation) {
    std::vector<Call> failed;
    const std::uint64_t calls = fail_each([&](std::uint64_t nth) {
        FailNth kernel(network_);
        kernel.fail(nth);
        const int fd = kernel.open_socket(AF_INET, SOCK_STREAM, 0);
        if (fd >= 0) {
            kernel.listen(fd, 1);
            kernel.close(fd);
        }
        if (kernel.failed()) failed.push_back(*kernel.failed_call());
        return kernel.failed();
    });
    EXPECT_EQ(calls, 3U);
    EXPECT_EQ(failed, (std::vector{Call::open_socket, Call::listen, Call::close}));
    EXPECT_EQ(network_.open_descriptors(), 0U);
}

TEST(FailNthNames, EachCallHasItsNameAndAnError) {
    std::set<std::string_view> names;
    for (int i = 0; i < static_cast<int>(Call::count_); ++i) {
        names.insert(to_string(static_cast<Call>(i)));
        EXPECT_GT(usual_error(static_cast<Call>(i)), 0);
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(Call::count_));
    EXPECT_EQ(to_string(Call::read_directory), "read_directory");
}

}  // namespace
}  // namespace tiderace::testing
