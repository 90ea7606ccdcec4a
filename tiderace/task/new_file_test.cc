#include "tiderace/task/new_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::task {
namespace {

TEST(NewFile, StaysOnlyWhenItIsFinished) {
    const tiderace::testing::TemporaryFolder folder;
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
    const tiderace::testing::TemporaryFolder folder;
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

TEST(NewFile, TakesANameAndThePlaceOfAFileThatHasIt) {
    const tiderace::testing::TemporaryFolder folder;
    const std::string path = std::string(folder.path()) + "/kept";
    for (const NewFile::Kept kept : {NewFile::Kept::by_kernel, NewFile::Kept::on_disk}) {
        const auto file = std::make_shared<NewFile>(NewFile::beside(path));
        NewFile::opening(file)();
        NewFile::writing(file, kept == NewFile::Kept::on_disk ? "second" : "first")();
        NewFile::finishing_as(file, path, kept)();
    }
    EXPECT_EQ(std::filesystem::file_size(path), 6u);
    // A folder cannot be replaced; then nothing is left.
    std::filesystem::create_directory(path + ".d");
    NewFile file(NewFile::beside(path + ".d"));
    file.open();
    EXPECT_THROW(file.finish_as(path + ".d", NewFile::Kept::by_kernel), std::runtime_error);
    const auto begin = std::filesystem::directory_iterator(folder.path());
    EXPECT_EQ(std::distance(begin, {}), 2) << "the file and the folder";
}

// The loop destroys the functions; it must not wait for a disk then.
TEST(NewFile, AFunctionThatWasCalledHoldsTheFileNoMore) {
    const tiderace::testing::TemporaryFolder folder;
    auto file = std::make_shared<NewFile>(std::string(folder.path()) + "/new");
    auto opening = NewFile::opening(file);
    opening();
    EXPECT_EQ(file.use_count(), 1);
    core::WorkerPool pool;
    NewFile::dispose(std::move(file), &pool);
    while (pool.counters().completed == 0) std::this_thread::yield();
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tiderace::task
