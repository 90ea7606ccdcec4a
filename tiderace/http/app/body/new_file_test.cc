#include "tiderace/http/app/body/new_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

TEST(NewFile, StaysOnlyWhenItIsFinished) {
    const testing::TemporaryFolder folder;
    const std::string path = std::string(folder.path()) + "/new";
    {
        NewFile file(path);
        file.open();
        file.write("half");
        EXPECT_TRUE(std::filesystem::exists(path));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    {
        const auto file = std::make_shared<NewFile>(path);
        NewFile::opening(file)();
        NewFile::writing(file, "whole")();
        NewFile::finishing(file)();
    }
    EXPECT_EQ(std::filesystem::file_size(path), 5u);
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(NewFile, NeverTouchesAFileThatExistsOrALink) {
    const testing::TemporaryFolder folder;
    const std::string path = std::string(folder.path()) + "/new";
    std::filesystem::create_symlink("nowhere", path);
    {
        NewFile file(path);
        EXPECT_THROW(file.open(), std::runtime_error);
    }
    EXPECT_TRUE(std::filesystem::is_symlink(path));
    NewFile lost(std::string(folder.path()) + "/no/new");
    EXPECT_THROW(lost.open(), std::runtime_error);
}

}  // namespace
}  // namespace tiderace::http
