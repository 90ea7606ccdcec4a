#include "server/live/admin_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;

// What it serves: tests/test_admin.py, with the real program.
class AdminSocketTest : public ::testing::Test {
  protected:
    mode_t mode() const {
        struct stat made{};
        EXPECT_EQ(::lstat(path_.c_str(), &made), 0);
        EXPECT_TRUE(S_ISSOCK(made.st_mode));
        return made.st_mode & 0777;
    }

    testing::TemporaryFolder folder_;
    std::string path_ = folder_.path_of("a.sock");
};

TEST_F(AdminSocketTest, TheFileHasItsPermissionsAndGoesWithIt) {
    const mode_t before = ::umask(0);
    for (const mode_t wanted : {0600U, 0660U, 0666U}) {
        const auto bound = AdminSocket::bind(path_, wanted);
        ASSERT_TRUE(bound) << bound.error().message();
        EXPECT_EQ(mode(), wanted);
    }
    EXPECT_EQ(::umask(before), 0U) << "what is made next has the permissions that it had";
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(AdminSocketTest, DrainingRemovesTheNameOnceAndCallsBack) {
    auto bound = *AdminSocket::bind(path_, 0600);
    bool drained = false;
    bound->drain(Instant::max(), [&] { drained = true; });
    EXPECT_TRUE(drained);
    EXPECT_FALSE(std::filesystem::exists(path_));
    folder_.write("a.sock", "another's");
    bound.reset();
    EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(AdminSocketTest, ANameThatWasReplacedStays) {
    auto bound = *AdminSocket::bind(path_, 0600);
    std::filesystem::remove(path_);
    folder_.write("a.sock", "another's");
    bound.reset();
    EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(AdminSocketTest, ATakenNameIsRefused) {
    const auto first = AdminSocket::bind(path_, 0600);
    const auto second = AdminSocket::bind(path_, 0600);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message(), HasSubstr("another program listens there"));
    folder_.write("file", "mine");
    const auto file = AdminSocket::bind(folder_.path_of("file"), 0600);
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().message(), HasSubstr("a file that is no socket is there"));
    EXPECT_FALSE(AdminSocket::bind(folder_.path_of(std::string(200, 'a')), 0600));
}

TEST_F(AdminSocketTest, ASocketOfAnotherUserIsRefusedAlsoWhereNobodyListens) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives a file to another user";
    {
        const auto bound = AdminSocket::bind(path_, 0600);
        std::filesystem::rename(path_, folder_.path_of("left.sock"));
    }
    const std::string left = folder_.path_of("left.sock");
    ASSERT_EQ(::chown(left.c_str(), 12345, 12345), 0);
    const auto others = AdminSocket::bind(left, 0600);
    ASSERT_FALSE(others);
    EXPECT_THAT(others.error().message(), HasSubstr("a socket of another user is there"));
    ASSERT_EQ(::chown(left.c_str(), 0, 0), 0);
    EXPECT_TRUE(AdminSocket::bind(left, 0600)) << "our own is taken";
}

}  // namespace
}  // namespace tiderace::server
