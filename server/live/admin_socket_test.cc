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

    static Result<std::shared_ptr<AdminSocket::Bound>> bind(const std::string& path,
                                                            mode_t mode = 0600,
                                                            const std::string& now = {}) {
        ServeOptions wanted;
        wanted.admin_socket = path;
        wanted.admin_mode = mode;
        return AdminSocket::bind(wanted, now);
    }

    testing::TemporaryFolder folder_;
    std::string path_ = folder_.path_of("a.sock");
};

TEST_F(AdminSocketTest, TheFileHasItsPermissionsAndGoesWithIt) {
    const mode_t before = ::umask(027);
    for (const mode_t wanted : {0600U, 0660U, 0666U}) {
        const auto bound = bind(path_, wanted);
        ASSERT_TRUE(bound) << bound.error().message();
        EXPECT_EQ(mode(), wanted);
    }
    EXPECT_EQ(::umask(before), 027U) << "what is made next has the permissions that it had";
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(AdminSocketTest, TheSocketThatStaysAndNoneAreNotBoundAnew) {
    EXPECT_FALSE((*bind(path_, 0600, path_))->socket);
    EXPECT_FALSE((*bind("", 0600, path_))->socket);
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(AdminSocketTest, TheNameIsRemovedOnce) {
    auto bound = *bind(path_);
    bound->remove_name();
    EXPECT_FALSE(std::filesystem::exists(path_));
    folder_.write("a.sock", "another's");
    bound.reset();
    EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(AdminSocketTest, ANameThatWasReplacedStays) {
    auto bound = *bind(path_);
    std::filesystem::remove(path_);
    folder_.write("a.sock", "another's");
    bound.reset();
    EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(AdminSocketTest, ATakenNameIsRefused) {
    const auto first = bind(path_);
    ASSERT_TRUE(SideServer::start((*first)->socket));
    const auto second = bind(path_);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message(), HasSubstr("another program listens there"));
    folder_.write("file", "mine");
    const auto file = bind(folder_.path_of("file"));
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().message(), HasSubstr("a file that is no socket is there"));
    EXPECT_FALSE(bind(folder_.path_of(std::string(200, 'a'))));
}

TEST_F(AdminSocketTest, ASocketOfAnotherUserIsRefusedAlsoWhereNobodyListens) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives a file to another user";
    {
        const auto bound = bind(path_);
        std::filesystem::rename(path_, folder_.path_of("left.sock"));
    }
    const std::string left = folder_.path_of("left.sock");
    ASSERT_EQ(::chown(left.c_str(), 12345, 12345), 0);
    const auto others = bind(left);
    ASSERT_FALSE(others);
    EXPECT_THAT(others.error().message(), HasSubstr("a socket of another user is there"));
    ASSERT_EQ(::chown(left.c_str(), 0, 0), 0);
    EXPECT_TRUE(bind(left)) << "our own is taken";
}

}  // namespace
}  // namespace tiderace::server
