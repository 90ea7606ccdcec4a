#include "server/config/write_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server::config {
namespace {

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const std::string& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(WriteFile, ReplacesTheWholeAndKeepsTheMode) {
    const testing::TemporaryFolder folder;
    folder.write("a.toml", "a much longer text");
    const std::string path = folder.path_of("a.toml");
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
    ASSERT_TRUE(replace_file(path, "short"));
    EXPECT_EQ(content_of(path), "short");
    struct stat facts{};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0640U);
    EXPECT_EQ(files_in(folder.path()), 1U) << "nothing beside it is left";
}

TEST(WriteFile, OfALinkTheTargetIsReplaced) {
    const testing::TemporaryFolder folder;
    folder.write("inner/a.toml", "old");
    folder.link("link.toml", "inner/a.toml");
    ASSERT_TRUE(replace_file(folder.path_of("link.toml"), "new"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder.path_of("link.toml")));
    EXPECT_EQ(content_of(folder.path_of("inner/a.toml")), "new");
}

TEST(WriteFile, WhatIsNotThereIsNotReplaced) {
    const testing::TemporaryFolder folder;
    const auto written = replace_file(folder.path_of("none.toml"), "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ENOENT);
    EXPECT_EQ(files_in(folder.path()), 0U);
}

TEST(WriteFile, AFileThatIsThereIsNotCreated) {
    const testing::TemporaryFolder folder;
    const std::string path = folder.path_of("a.toml");
    ASSERT_TRUE(create_file(path, "first"));
    const auto second = create_file(path, "second");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), EEXIST);
    EXPECT_EQ(content_of(path), "first");
}

}  // namespace
}  // namespace tiderace::server::config
