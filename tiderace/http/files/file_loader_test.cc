#include "tiderace/http/files/file_loader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tiderace/testing/fault_kernel.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::files {
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

TEST_F(FileLoaderTest, ReadsOnWhereTheKernelGivesLessThanItWasAskedFor) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += static_cast<char>('a' + i % 23);
    folder_.write("a.txt", text);
    const auto opened = loader_.open("/a.txt");
    kernel_.set_short_reads(true);
    std::string read(700, '\0');
    EXPECT_TRUE(loader_.read_exactly(opened.descriptor.get(), read, 100));
    EXPECT_EQ(read, text.substr(100, 700));
    EXPECT_FALSE(loader_.read_exactly(opened.descriptor.get(), read, 301)) << "a byte too few";
    const auto loaded = loader_.load(loader_.open("/a.txt"), true);
    ASSERT_TRUE(loaded.file);
    EXPECT_EQ(loaded.file->bytes(), text);
}

TEST_F(FileLoaderTest, ANameIsAsLongAsTheKernelTakesItAndNoLonger) {
    const std::string end = "dir/aa.txt";
    folder_.write(end, "a");
    std::string longest = "/";
    while (longest.size() + end.size() < FileLoader::path_bytes_max - 1) longest += "./";
    longest += end;
    ASSERT_EQ(longest.size() - 1, FileLoader::path_bytes_max - 2);
    // As much as the kernel takes; a byte more is never asked for.
    kernel_.reset();
    loader_.open(longest + "x");
    EXPECT_EQ(kernel_.calls(), 1U);
    loader_.open(longest, "x");
    EXPECT_EQ(kernel_.calls(), 2U);
    EXPECT_EQ(loader_.open(longest + "xx").found, Found::missing);
    EXPECT_EQ(loader_.open(longest, "xx").found, Found::missing);
    EXPECT_EQ(kernel_.calls(), 2U);
}

TEST_F(FileLoaderTest, TriesAnInterruptedCallSixteenTimes) {
    folder_.write("a.txt", "text");
    for (const int error : {EINTR, EAGAIN}) {
        kernel_.fail_first(15, error);
        EXPECT_EQ(loader_.open("/a.txt").found, Found::file);
        kernel_.fail_first(16, error);
        const auto opened = loader_.open("/a.txt");
        EXPECT_EQ(opened.found, Found::failed);
        EXPECT_EQ(opened.error, error);
        EXPECT_EQ(kernel_.calls(), 16U);
    }
    const auto opened = loader_.open("/a.txt");
    const int fd = opened.descriptor.get();
    std::string read(4, '\0');
    kernel_.fail_first(15, EINTR);
    EXPECT_TRUE(loader_.read_exactly(fd, read, 0));
    kernel_.fail_first(16, EINTR);
    EXPECT_FALSE(loader_.read_exactly(fd, read, 0));
    kernel_.reset();
    for (const std::size_t times : {15U, 16U}) {
        auto again = loader_.open("/a.txt");
        kernel_.fail_first(times, EINTR);
        const auto loaded = loader_.load(std::move(again), true);
        kernel_.reset();
        EXPECT_EQ(loaded.error, times == 16 ? EINTR : 0);
        EXPECT_EQ(static_cast<bool>(loaded.file), times == 15);
    }
}

// Whether it has the bytes: then the loop reads them, wherever they are.
TEST_F(FileLoaderTest, ReadsWhereTheSystemCannotTellWhatItHas) {
    folder_.write("a.txt", "text");
    auto opened = loader_.open("/a.txt");
    kernel_.fail_at(1, EOPNOTSUPP);
    const auto loaded = loader_.load(std::move(opened), true);
    ASSERT_TRUE(loaded.file);
    EXPECT_EQ(loaded.file->bytes(), "text");
    EXPECT_TRUE(loaded.stable);
}

TEST_F(FileLoaderTest, WhatCannotBeReadNowGoesFromItsDescriptorAndAFaultIsTold) {
    folder_.write("a.txt", "text");
    for (const int error : {ENOMEM, EAGAIN, EIO}) {
        for (std::size_t call = 1; call <= 2; ++call) {  // the read, and the look after it
            if (error == EAGAIN && call == 2) continue;  // which is tried again
            auto opened = loader_.open("/a.txt");
            kernel_.fail_at(call, error);
            const auto loaded = loader_.load(std::move(opened), true);
            kernel_.reset();
            EXPECT_EQ(loaded.error, error == EIO ? EIO : 0);
            ASSERT_EQ(static_cast<bool>(loaded.file), error != EIO);
            if (error == EIO) continue;
            EXPECT_FALSE(loaded.file->in_memory());
            EXPECT_EQ(loaded.file->size(), 4U);
            EXPECT_TRUE(loaded.stable) << "it is the file that was opened";
        }
    }
}

TEST_F(FileLoaderTest, AFaultBehindAChangeIsTold) {
    folder_.write("a.txt", "first state");
    auto opened = loader_.open("/a.txt");
    folder_.truncate("a.txt", 4);
    kernel_.fail_at(3,
                    EIO);  // after two reads, the second at its end: the look at its present size
    const auto loaded = loader_.load(std::move(opened), true);
    EXPECT_FALSE(loaded.file);
    EXPECT_EQ(loaded.error, EIO);
}

// As in a server that was started without a standard input.
TEST_F(FileLoaderTest, AFileMayHaveTheDescriptorZero) {
    folder_.write("a.txt", "text");
    const int input = ::dup(STDIN_FILENO);
    ::close(STDIN_FILENO);
    {
        auto opened = loader_.open("/a.txt");
        EXPECT_EQ(opened.found, Found::file);
        EXPECT_EQ(opened.descriptor.get(), STDIN_FILENO);
        const auto loaded = loader_.load(std::move(opened), true);
        ASSERT_TRUE(loaded.file);
        EXPECT_EQ(loaded.file->bytes(), "text");
    }
    EXPECT_LT(::fcntl(STDIN_FILENO, F_GETFD), 0) << "it is closed again";
    if (input < 0) return;
    EXPECT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);
    ::close(input);
}

TEST_F(FileLoaderTest, AnEmptyFileIsOneInMemory) {
    folder_.write("empty", "");
    const auto loaded = loader_.load(loader_.open("/empty"), true);
    ASSERT_TRUE(loaded.file);
    EXPECT_TRUE(loaded.file->in_memory());
    EXPECT_EQ(loaded.file->size(), 0U);
}

TEST_F(FileLoaderTest, AFaultOfTheDiskIsNoLackOfRoom) {
    folder_.write("a.txt", "first");
    const auto loaded = loader_.load(loader_.open("/a.txt"), false);
    ASSERT_TRUE(loaded.file);
    for (const int error : {EIO, ENOMEM}) {
        for (std::size_t call = 1; call <= 2; ++call) {  // the read, and the look after it
            kernel_.fail_at(call, error);
            const auto memory = loader_.into_memory(*loaded.file);
            EXPECT_FALSE(memory.file);
            EXPECT_EQ(memory.not_now, error == ENOMEM);
        }
    }
    kernel_.fail_at(1, EAGAIN);
    EXPECT_TRUE(loader_.into_memory(*loaded.file).not_now)
        << "the disk would have to be waited for";
    kernel_.reset();
    const auto memory = loader_.into_memory(*loaded.file);
    EXPECT_TRUE(memory.file);
    EXPECT_FALSE(memory.not_now);
}

class FileLoaderInARoom : public FileLoaderTest {
  protected:
    core::Ref<FileBudget> room_ =
        core::make_ref<FileBudget>(FileBudgetLimits{.bytes_max = 10, .open_max = 2});
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

TEST_F(FileLoaderInARoom, WithoutADescriptorWhatChangesWhileItIsReadIsToBeAskedForAgain) {
    folder_.write("long.txt", "longer than the room");
    folder_.write("a.txt", "8 bytes.");
    const auto first = bounded_.load(bounded_.open("/long.txt"), false).file;
    const auto second = bounded_.load(bounded_.open("/long.txt"), false).file;
    EXPECT_EQ(room_->open(), 2U);
    auto opened = bounded_.open("/a.txt");
    folder_.truncate("a.txt", 3);
    const auto loaded = bounded_.load(std::move(opened), true);
    EXPECT_FALSE(loaded.file);
    EXPECT_EQ(loaded.error, EAGAIN);
    EXPECT_EQ(room_->bytes(), 0U);
}

TEST_F(FileLoaderInARoom, WithoutADescriptorAFaultOfTheDiskIsTold) {
    folder_.write("long.txt", "longer than the room");
    folder_.write("a.txt", "8 bytes.");
    const auto first = bounded_.load(bounded_.open("/long.txt"), false).file;
    const auto second = bounded_.load(bounded_.open("/long.txt"), false).file;
    auto opened = bounded_.open("/a.txt");
    kernel_.fail_at(1, EIO);
    const auto broken = bounded_.load(std::move(opened), true);
    EXPECT_FALSE(broken.file);
    EXPECT_EQ(broken.error, EIO);
    kernel_.reset();
    const auto loaded = bounded_.load(bounded_.open("/a.txt"), true);
    ASSERT_TRUE(loaded.file);
    EXPECT_TRUE(loaded.file->in_memory());
    EXPECT_TRUE(loaded.stable);
}

TEST_F(FileLoaderInARoom, WithoutADescriptorAFileIsServedOnceAndNotKept) {
    folder_.write("long.txt", "longer than the room");
    folder_.write("a.txt", "8 bytes.");
    const auto first = bounded_.load(bounded_.open("/long.txt"), false).file;
    const auto second = bounded_.load(bounded_.open("/long.txt"), false).file;
    const auto once = bounded_.load(bounded_.open("/a.txt"), false);
    ASSERT_TRUE(once.file);
    EXPECT_EQ(once.file->bytes(), "8 bytes.");
    EXPECT_FALSE(once.stable);
}

// A large one would hold too much memory for one answer.
TEST_F(FileLoaderInARoom, WithoutADescriptorALargeFileIsServedUpToItsLimit) {
    const auto full =
        core::make_ref<FileBudget>(FileBudgetLimits{.bytes_max = 8_MiB, .open_max = 0});
    const FileLoader loader(kernel_, root_.get(), core::Links::inside, full.get());
    constexpr std::uint64_t most = FileLoader::without_descriptor_bytes_max;
    for (const std::uint64_t bytes : {most, most + 1}) {
        folder_.write("large", std::string(bytes, 'l'));
        const auto loaded = loader.load(loader.open("/large"), false);
        EXPECT_EQ(static_cast<bool>(loaded.file), bytes == most);
        EXPECT_EQ(loaded.error, bytes == most ? 0 : EMFILE);
    }
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
}  // namespace tiderace::http::files
