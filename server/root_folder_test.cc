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

TEST_F(RootFolderTest, ASinglePageMustBeAFileThatIsServed) {
    ServeOptions options;
    options.root = folder_.path_of("v1");
    const auto with = [&](std::string name) {
        options.spa_file = std::move(name);
        return check_spa_file(options);
    };
    EXPECT_TRUE(with("app.html"));
    const auto absent = with("none.html");
    ASSERT_FALSE(absent);
    EXPECT_THAT(absent.error().message(), HasSubstr("none.html"));
    folder_.make_folder("v1/folder");
    EXPECT_EQ(with("folder").error().code(), EISDIR);

    folder_.write("v1/.app.html", "");
    EXPECT_THAT(with(".app.html").error().message(), HasSubstr("--hidden"));
    options.hidden_files = true;
    EXPECT_TRUE(with(".app.html"));

    folder_.write("outside.html", "");
    folder_.link("v1/out.html", "../outside.html");
    folder_.link("v1/in.html", "app.html");
    EXPECT_TRUE(with("in.html"));
    EXPECT_THAT(with("out.html").error().message(), HasSubstr("--symlinks"));
    options.symlinks = SymlinkPolicy::anywhere;
    EXPECT_TRUE(with("out.html"));
    options.symlinks = SymlinkPolicy::never;
    EXPECT_FALSE(with("in.html"));
    EXPECT_TRUE(with("app.html"));
    // The folder itself may be a link: it is what the user has named.
    options.root = folder_.path_of("current");
    EXPECT_TRUE(with("app.html"));
}

TEST_F(RootFolderTest, KnowsWhetherItHasAnIndexFile) {
    const std::string root = folder_.path_of("v1");
    EXPECT_TRUE(has_index_file(root, {"index.html", "app.html"}));
    EXPECT_FALSE(has_index_file(root, {"index.html"}));
    EXPECT_FALSE(has_index_file(root, {}));
}

}  // namespace
}  // namespace tiderace::server
