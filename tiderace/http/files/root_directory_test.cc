#include "tiderace/http/files/root_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::files {
namespace {

class RootDirectoryTest : public ::testing::Test {
  protected:
    RootDirectoryTest() {
        folder_.write("one/1", "");
        folder_.write("two/2", "");
    }
    std::string path(const char* name) const { return folder_.path_of(name); }
    static bool holds(const RootDirectory& root, const char* name) {
        return ::faccessat(root.descriptor(), name, F_OK, 0) == 0;
    }
    static RootDirectory open(const std::string& path) {
        return std::move(*RootDirectory::open(core::system_kernel(), path));
    }

    testing::TemporaryFolder folder_;
};

TEST_F(RootDirectoryTest, WhereNothingChangedNothingIsOpened) {
    RootDirectory root = open(path("one"));
    EXPECT_FALSE(root.follow());
    EXPECT_TRUE(holds(root, "1"));
}

TEST_F(RootDirectoryTest, ADirectoryInTheOldOnesPlaceIsOpenedUnderTheOldNumber) {
    RootDirectory root = open(path("one"));
    const int number = root.descriptor();
    ASSERT_EQ(std::rename(path("one").c_str(), path("gone").c_str()), 0);
    EXPECT_FALSE(root.follow());  // it leads nowhere
    EXPECT_TRUE(holds(root, "1"));
    ASSERT_EQ(std::rename(path("two").c_str(), path("one").c_str()), 0);
    EXPECT_TRUE(root.follow());
    EXPECT_TRUE(holds(root, "2"));
    EXPECT_FALSE(holds(root, "1"));
    EXPECT_EQ(root.descriptor(), number);
    EXPECT_NE(::fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_FALSE(root.follow());
}

TEST_F(RootDirectoryTest, OneThatWasRemovedAndMadeAgainIsAnother) {
    ASSERT_EQ(::mkdir(path("empty").c_str(), 0755), 0);
    RootDirectory root = open(path("empty"));
    ASSERT_EQ(::rmdir(path("empty").c_str()), 0);
    ASSERT_EQ(::mkdir(path("empty").c_str(), 0755), 0);
    folder_.write("empty/new", "");
    EXPECT_TRUE(root.follow());
    EXPECT_TRUE(holds(root, "new"));
}

TEST_F(RootDirectoryTest, ALinkIsFollowedToTheNextRelease) {
    folder_.link("current", "one");
    RootDirectory root = open(path("current"));
    folder_.link("next", "two");
    ASSERT_EQ(std::rename(path("next").c_str(), path("current").c_str()), 0);
    EXPECT_TRUE(root.follow());
    EXPECT_TRUE(holds(root, "2"));
}

// As in a server that was started without a standard input.
TEST_F(RootDirectoryTest, MayHaveTheNumberZero) {
    const int input = ::dup(STDIN_FILENO);
    ::close(STDIN_FILENO);
    {
        const auto root = RootDirectory::open(core::system_kernel(), path("one"));
        ASSERT_TRUE(root);
        EXPECT_EQ(root->descriptor(), STDIN_FILENO);
        EXPECT_TRUE(holds(*root, "1"));
    }
    if (input < 0) return;
    EXPECT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);
    ::close(input);
}

TEST_F(RootDirectoryTest, WhatReplacesItMayBeOpenedAsNumberZero) {
    RootDirectory root = open(path("one"));
    ASSERT_EQ(std::rename(path("one").c_str(), path("gone").c_str()), 0);
    ASSERT_EQ(std::rename(path("two").c_str(), path("one").c_str()), 0);
    const int input = ::dup(STDIN_FILENO);
    ::close(STDIN_FILENO);
    EXPECT_TRUE(root.follow());
    EXPECT_TRUE(holds(root, "2"));
    EXPECT_LT(::fcntl(STDIN_FILENO, F_GETFD), 0) << "it was needed for a moment only";
    if (input < 0) return;
    EXPECT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);
    ::close(input);
}

TEST_F(RootDirectoryTest, AFileInItsPlaceChangesNothing) {
    RootDirectory root = open(path("one"));
    ASSERT_EQ(std::rename(path("one").c_str(), path("gone").c_str()), 0);
    folder_.write("one", "a file");
    EXPECT_FALSE(root.follow());
    EXPECT_TRUE(holds(root, "1"));
}

TEST_F(RootDirectoryTest, WhatIsNoDirectoryIsAnErrorThatSaysWhatToDo) {
    const auto absent = RootDirectory::open(core::system_kernel(), path("absent"));
    ASSERT_FALSE(absent.has_value());
    EXPECT_EQ(absent.error().code(), ENOENT);
    EXPECT_THAT(absent.error().message(), ::testing::HasSubstr("check the spelling"));
    const auto file = RootDirectory::open(core::system_kernel(), path("one/1"));
    ASSERT_FALSE(file.has_value());
    EXPECT_THAT(file.error().message(), ::testing::HasSubstr("name the folder it is in"));
}

}  // namespace
}  // namespace tiderace::http::files
