#include "server/config/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server::config {
namespace {

TEST(Check, ItsStatusSaysWhetherTheFileIsRightWrongOrNotThere) {
    testing::TemporaryFolder folder;
    folder.make_folder("www");
    const std::string stays = ::geteuid() == 0 ? "[server]\nuser = \"root\"\n" : "";
    folder.write("right.toml",
                 stays + "[[site]]\nroot = \"www\"\nroute = [ { path = \"/a\", deny = true } ]\n");
    folder.write("wrong.toml", "[[site]]\nrot = \"www\"\n");
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(check(folder.path_of("right.toml")), 0);
    EXPECT_THAT(::testing::internal::GetCapturedStdout(),
                ::testing::EndsWith("right.toml: nothing is wrong: 1 site, 1 route\n"));
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(check(folder.path_of("wrong.toml")), 1);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr("did you mean \"root\"?"));
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(check(folder.path_of("none.toml")), 2);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("no such file"));
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(check(folder.path_of("www")), 2) << "a folder";
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("is a directory"));
}

TEST(Check, TheFoldersAreJudgedAsTheUserThatWillServe) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
    testing::TemporaryFolder folder;
    folder.make_folder("www");
    ASSERT_EQ(::chmod(folder.path_of("www").c_str(), 0700), 0);
    folder.write("a.toml", "[server]\nuser = \"65534\"\n[[site]]\nroot = \"www\"\n");
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(check(folder.path_of("a.toml")), 1);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr("which may not read this folder"));
    EXPECT_EQ(::geteuid(), 0U);
}

TEST(Check, APasswordFileThatCannotBeUsedIsAMistake) {
    testing::TemporaryFolder folder;
    folder.write("users", "bob:b\n");
    const std::string stays = ::geteuid() == 0 ? "[server]\nuser = \"root\"\n" : "";
    folder.write("a.toml", "[[site]]\nrespond = \"a\"\nauth = { users = \"./users\" }\n" + stays);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(check(folder.path_of("a.toml")), 1);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr("a.toml:3:18: error: cannot read passwords from "));
}

}  // namespace
}  // namespace tiderace::server::config
