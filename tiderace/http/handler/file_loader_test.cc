#include "tiderace/http/handler/file_loader.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tiderace/testing/fault_kernel.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::handler {
namespace {

class FileLoaderTest : public ::testing::Test {
  protected:
    testing::TemporaryFolder folder_;
    testing::FaultKernel kernel_;
    core::Descriptor root_{kernel_, ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)};
    FileLoader loader_{kernel_, root_.get()};
};

TEST_F(FileLoaderTest, SaysWhatIsThere) {
    folder_.write("dir/a.txt", "a");
    folder_.make_fifo("pipe");
    EXPECT_EQ(loader_.open("/").found, Found::directory);
    EXPECT_EQ(loader_.open("/dir").found, Found::directory);
    EXPECT_EQ(loader_.open("/dir/a.txt").found, Found::file);
    EXPECT_EQ(loader_.open("/dir/", "a.txt").found, Found::file);
    EXPECT_EQ(loader_.open("/absent").found, Found::missing);
    EXPECT_EQ(loader_.open("/dir/a.txt/x").found, Found::missing);
    EXPECT_EQ(loader_.open("/pipe").found, Found::refused);
}

// Clients must not see whether a link leads somewhere: an absent name answers the same.
TEST_F(FileLoaderTest, WhatLiesBehindAForbiddenLinkIsMissing) {
    folder_.write("root/a.txt", "a");
    folder_.link("root/out", "/");
    folder_.link("root/up", "../outside.txt");
    folder_.link("root/dangling-out", "/nowhere/at/all");
    folder_.link("root/loop", "loop");
    folder_.link("root/in", "a.txt");
    folder_.write("outside.txt", "outside");
    const core::Descriptor root(kernel_,
                                ::open(folder_.path_of("root").c_str(), O_RDONLY | O_DIRECTORY));
    for (const core::Links links : {core::Links::inside, core::Links::never}) {
        const FileLoader loader(kernel_, root.get(), links);
        for (const char* path :
             {"/out", "/out/", "/out/etc/passwd", "/up", "/dangling-out", "/loop", "/../x"}) {
            EXPECT_EQ(loader.open(path).found, Found::missing) << path;
        }
    }
    EXPECT_EQ(FileLoader(kernel_, root.get(), core::Links::never).open("/in").found,
              Found::missing);
    const FileLoader anywhere(kernel_, root.get(), core::Links::anywhere);
    EXPECT_EQ(anywhere.open("/up").found, Found::file);
    EXPECT_EQ(anywhere.open("/loop").found, Found::missing);
    EXPECT_EQ(anywhere.open("/dangling-out").found, Found::missing);
}

TEST_F(FileLoaderTest, FaultsOfTheMachineAreTold) {
    folder_.write("a.txt", "a");
    for (const int error : {EMFILE, ENFILE, ENOMEM, EIO, ENOSPC}) {
        for (std::size_t call = 1; call <= 2; ++call) {
            kernel_.fail_at(call, error);
            const auto opened = loader_.open("/a.txt");
            EXPECT_EQ(opened.found, Found::failed) << error;
            EXPECT_EQ(opened.error, error);
        }
    }
}

TEST_F(FileLoaderTest, WhatChangesWhileItIsReadIsNotStable) {
    folder_.write("a.txt", "first state");
    auto opened = loader_.open("/a.txt");
    kernel_.before(1, [&] { folder_.truncate("a.txt", 4); });
    auto loaded = loader_.load(std::move(opened), true);
    ASSERT_TRUE(loaded.file);
    EXPECT_FALSE(loaded.stable);
    EXPECT_FALSE(loaded.file->in_memory());
    EXPECT_EQ(loaded.file->size(), 4U);
}

TEST_F(FileLoaderTest, AHotFileIsLoadedOnlyInTheStateThatIsKnown) {
    folder_.write("a.txt", "first");
    const auto loaded = loader_.load(loader_.open("/a.txt"), false);
    ASSERT_TRUE(loaded.file);
    const auto memory = loader_.into_memory(*loaded.file).file;
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->bytes(), "first");
    EXPECT_EQ(memory->etag(), loaded.file->etag());
    folder_.truncate("a.txt", 2);
    const auto changed = loader_.into_memory(*loaded.file);
    EXPECT_FALSE(changed.file);
    EXPECT_FALSE(changed.not_now);
}

class FileLoaderInARoom : public FileLoaderTest {
  protected:
    core::Ref<FileRoom> room_ =
        core::make_ref<FileRoom>(FileRoomLimits{.bytes_max = 10, .open_max = 2});
    FileLoader bounded_{kernel_, root_.get(), core::Links::inside, room_.get()};
};

TEST_F(FileLoaderInARoom, WhatDoesNotFitInMemoryGoesFromItsDescriptor) {
    folder_.write("a.txt", "8 bytes.");
    auto first = bounded_.load(bounded_.open("/a.txt"), true).file;
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->in_memory());
    const auto second = bounded_.load(bounded_.open("/a.txt"), true).file;
    ASSERT_TRUE(second);
    EXPECT_FALSE(second->in_memory());
    EXPECT_TRUE(bounded_.into_memory(*second).not_now);
    first = {};
    EXPECT_TRUE(bounded_.into_memory(*second).file);
    EXPECT_EQ(room_->bytes(), 0U);
    EXPECT_EQ(room_->open(), 1U);
}

TEST_F(FileLoaderInARoom, OneDescriptorMoreIsNotHad) {
    folder_.write("a.txt", "longer than the room");
    auto first = bounded_.load(bounded_.open("/a.txt"), true).file;
    const auto second = bounded_.load(bounded_.open("/a.txt"), false).file;
    EXPECT_TRUE(first && second);
    const auto third = bounded_.load(bounded_.open("/a.txt"), false);
    EXPECT_FALSE(third.file);
    EXPECT_EQ(third.error, EMFILE);
    first = {};
    EXPECT_TRUE(bounded_.load(bounded_.open("/a.txt"), false).file);
}

}  // namespace
}  // namespace tiderace::http::handler
