#include "server/root_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;

struct RootFolderTest : ::testing::Test {
    RootFolderTest() {
        std::filesystem::create_directory(folder_.path_of("v1"));
        std::ofstream(folder_.path_of("v1/app.html")) << "app";
        std::filesystem::create_directory_symlink("v1", folder_.path_of("current"));
    }
    testing::TemporaryFolder folder_;
};

TEST_F(RootFolderTest, IsAbsoluteAndKeepsALinkAtItsEnd) {
    EXPECT_THAT(*find_root(folder_.path_of("v1")), HasSubstr("/v1"));
    EXPECT_THAT(*find_root(folder_.path_of("current")), HasSubstr("/current"));
    EXPECT_EQ(find_root(folder_.path_of("none")).error().code(), ENOENT);
    EXPECT_EQ(find_root(folder_.path_of("v1/app.html")).error().code(), ENOTDIR);
}

TEST_F(RootFolderTest, ASinglePageMustBeAFileInIt) {
    const std::string root = folder_.path_of("v1");
    EXPECT_TRUE(check_spa_file(root, "app.html"));
    const auto absent = check_spa_file(root, "none.html");
    ASSERT_FALSE(absent);
    EXPECT_THAT(absent.error().message(), HasSubstr("none.html"));
    EXPECT_EQ(check_spa_file(folder_.path_of(""), "v1").error().code(), EISDIR);
}

TEST_F(RootFolderTest, KnowsWhetherItHasAnIndexFile) {
    const std::string root = folder_.path_of("v1");
    EXPECT_TRUE(has_index_file(root, {"index.html", "app.html"}));
    EXPECT_FALSE(has_index_file(root, {"index.html"}));
    EXPECT_FALSE(has_index_file(root, {}));
}

}  // namespace
}  // namespace tiderace::server
