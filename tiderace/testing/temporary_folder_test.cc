#include "tiderace/testing/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace tiderace::testing {
namespace {

TEST(TemporaryFolder, IsGoneAtTheEnd) {
    std::string path;
    {
        TemporaryFolder folder;
        path = folder.path();
        folder.write("a/b/c.txt", "deep");
        folder.link("out", "/");
        EXPECT_EQ(std::filesystem::file_size(folder.path_of("a/b/c.txt")), 4U);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(std::filesystem::exists("/etc")) << "a link was not followed";
}

TEST(TemporaryFolder, ReplacingMakesAnotherFile) {
    TemporaryFolder folder;
    folder.write("a", "one");
    std::filesystem::create_hard_link(folder.path_of("a"), folder.path_of("same"));
    folder.write("a", "three");
    EXPECT_EQ(std::filesystem::file_size(folder.path_of("same")), 5U);
    folder.replace("a", "four.");
    EXPECT_FALSE(std::filesystem::equivalent(folder.path_of("a"), folder.path_of("same")));
}

}  // namespace
}  // namespace tiderace::testing
