#include "tiderace/http/files/variant_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tiderace/http/coding/content_encoder.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::files {
namespace {

namespace fs = std::filesystem;

class VariantFilesTest : public ::testing::Test {
  protected:
    std::unique_ptr<VariantFiles> open(std::uint64_t bytes_max = 1_MiB) {
        auto opened = VariantFiles::open(path_, bytes_max);
        EXPECT_TRUE(opened);
        return std::move(*opened);
    }
    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(path_)) found.push_back(entry.path());
        return found;
    }

    testing::TemporaryFolder folder_;
    std::string path_ = folder_.path() + "/kept";
    VariantKey key_{.file = {}, .coding = wire::ContentCoding::gzip};
};

TEST_F(VariantFilesTest, WhatIsWrittenIsReadAfterARestart) {
    EXPECT_TRUE(open()->write(key_, "compressed"));
    EXPECT_EQ(open()->read(key_, 100), "compressed");
    ASSERT_EQ(files().size(), 1u);
    struct stat status{};
    ASSERT_EQ(::stat(files()[0].c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(VariantFilesTest, AnotherStateOfTheFileHasNone) {
    auto kept = open();
    kept->write(key_, "compressed");
    VariantKey other = key_;
    other.file.changed_ns = 1;
    EXPECT_EQ(kept->read(other, 100), std::nullopt);
    other = key_;
    other.coding = wire::ContentCoding::br;
    EXPECT_EQ(kept->read(other, 100), std::nullopt);
}

TEST_F(VariantFilesTest, NoByteOfAFileCanBeChangedUnseen) {
    auto kept = open();
    kept->write(key_, "compressed");
    const fs::path file = files().at(0);
    std::string good;
    std::getline(std::ifstream(file, std::ios::binary), good, '\0');
    for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        std::ofstream(file, std::ios::binary | std::ios::trunc) << bad;
        EXPECT_EQ(kept->read(key_, 100), std::nullopt) << at;
        std::ofstream(file, std::ios::binary | std::ios::trunc) << good.substr(0, at);
        EXPECT_EQ(kept->read(key_, 100), std::nullopt) << "cut at " << at;
    }
    std::ofstream(file, std::ios::binary | std::ios::trunc) << good << "x";
    EXPECT_EQ(kept->read(key_, 100), std::nullopt);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << good;
    EXPECT_EQ(kept->read(key_, 100), "compressed");
}

TEST_F(VariantFilesTest, AFileThatOthersMayWriteOrThatIsALinkIsNotBelieved) {
    auto kept = open();
    kept->write(key_, "compressed");
    const fs::path file = files().at(0);
    ::chmod(file.c_str(), 0666);
    EXPECT_EQ(kept->read(key_, 100), std::nullopt);
    ::chmod(file.c_str(), 0600);
    EXPECT_EQ(kept->read(key_, 100), "compressed");
    fs::rename(file, folder_.path() + "/elsewhere");
    fs::create_symlink(folder_.path() + "/elsewhere", file);
    EXPECT_EQ(kept->read(key_, 100), std::nullopt);
}

// FNV-1a, as files that an earlier version left have it.
TEST_F(VariantFilesTest, ItsBytesFollowTheirLengthAndDigest) {
    open()->write(key_, "compressed");
    std::string text;
    std::getline(std::ifstream(files().at(0), std::ios::binary), text, '\0');
    EXPECT_TRUE(text.starts_with("tiderace variant 1\n0 0 0 0 0 ")) << text;
    EXPECT_TRUE(text.ends_with("\n10 14578925572845590548\ncompressed")) << text;
}

TEST_F(VariantFilesTest, OneByteIsEnough) {
    auto kept = open();
    EXPECT_TRUE(kept->write(key_, "x"));
    EXPECT_EQ(kept->read(key_, 1), "x");
}

// A call that succeeds leaves errno as it was.
TEST_F(VariantFilesTest, AnInterruptionOfACallBeforeIsNone) {
    auto kept = open();
    errno = EINTR;
    EXPECT_TRUE(kept->write(key_, "compressed"));
    errno = EINTR;
    EXPECT_EQ(kept->read(key_, 100), "compressed");
}

TEST_F(VariantFilesTest, AFileOfAnotherUserIsNotBelieved) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    auto kept = open();
    kept->write(key_, "compressed");
    ASSERT_EQ(::chown(files().at(0).c_str(), 65'534, 65'534), 0);
    EXPECT_EQ(kept->read(key_, 100), std::nullopt);
}

TEST_F(VariantFilesTest, OneLargerThanAllowedIsNotRead) {
    auto kept = open();
    kept->write(key_, std::string(2000, 'x'));
    EXPECT_EQ(kept->read(key_, 1000), std::nullopt);
    // With its head, for which there are 256 bytes more.
    const std::uint64_t whole = kept->bytes();
    EXPECT_EQ(kept->read(key_, whole - 256), std::string(2000, 'x'));
    EXPECT_EQ(kept->read(key_, whole - 257), std::nullopt);
}

TEST_F(VariantFilesTest, AFolderThatOthersMayWriteIsRefused) {
    fs::create_directory(path_);
    for (const mode_t mode : {0777, 0720, 0702}) {
        ::chmod(path_.c_str(), mode);
        const auto opened = VariantFiles::open(path_, 1_MiB);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code(), EPERM);
        EXPECT_NE(opened.error().message().find("chmod 700"), std::string::npos);
    }
    ::chmod(path_.c_str(), 0755);
    EXPECT_TRUE(VariantFiles::open(path_, 1_MiB));
}

TEST_F(VariantFilesTest, AFolderThatCannotBeMadeOrOpenedIsAnErrorThatNamesIt) {
    const auto deep = VariantFiles::open(path_ + "/deep/er", 1_MiB);
    ASSERT_FALSE(deep);
    EXPECT_EQ(deep.error().code(), ENOENT);
    EXPECT_NE(deep.error().message().find("make the folder above it first"), std::string::npos);
    std::ofstream(path_) << "a file";
    const auto file = VariantFiles::open(path_, 1_MiB);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), ENOTDIR);
    EXPECT_NE(file.error().message().find(path_), std::string::npos);
}

// Their names and times would make them the first to go.
TEST_F(VariantFilesTest, OnlyWhatIsOurOwnByItsNameIsDeleted) {
    fs::create_directory(path_);
    ::chmod(path_.c_str(), 0700);
    const std::string strangers[] = {"0123456789abcdef.txt",
                                     "0123456789abcde.gzip",
                                     "0123456789abcdeg.gzip",
                                     "0123456789abcdef-gzip",
                                     "0123456789ABCDEF.br",
                                     "0123456789abcdef0.zstd",
                                     "new-1-1",
                                     "0123456789abcdef."};
    const std::string ours[] = {"0123456789abcdef.gzip", "fedcba9876543210.br",
                                "0000000000000000.zstd"};
    const std::string mine = ".new-" + std::to_string(::getpid()) + "-77";
    const auto make = [&](const std::string& name, long age_s) {
        std::ofstream(path_ + "/" + name) << std::string(name == mine ? 100 : 500, 'x');
        fs::last_write_time(path_ + "/" + name,
                            fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
    };
    for (const std::string& name : strangers) make(name, 9'000);
    for (const std::string& name : ours) make(name, 8'000);
    make(".new-1-1", 0);
    make(mine, 0);
    const auto kept = open(10'000);
    for (const std::string& name : ours) EXPECT_TRUE(fs::exists(path_ + "/" + name)) << name;
    kept->write(key_, std::string(8'700, 'x'));
    EXPECT_EQ(kept->read(key_, 8'700), std::string(8'700, 'x'));
    for (const std::string& name : ours) EXPECT_FALSE(fs::exists(path_ + "/" + name)) << name;
    for (const std::string& name : strangers) EXPECT_TRUE(fs::exists(path_ + "/" + name)) << name;
    EXPECT_FALSE(fs::exists(path_ + "/.new-1-1")) << "of a process that is gone";
    EXPECT_TRUE(fs::exists(path_ + "/" + mine)) << "another thread writes it";
}

TEST_F(VariantFilesTest, OneThatCannotBeWrittenLeavesNothing) {
    auto kept = open();
    EXPECT_TRUE(kept->write(key_, "compressed"));
    const fs::path file = files().at(0);
    const std::uint64_t bytes = kept->bytes();
    fs::remove(file);
    fs::create_directory(file);
    EXPECT_FALSE(kept->write(key_, "compressed"));
    EXPECT_EQ(files(), std::vector<fs::path>{file});
    EXPECT_EQ(kept->bytes(), bytes);
    fs::remove_all(path_);
    EXPECT_FALSE(kept->write(key_, "compressed"));
}

// A full disk, as a limit for files makes one.
TEST_F(VariantFilesTest, OneThatTheDiskHasNoRoomForLeavesNothing) {
    auto kept = open();
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    for (const rlim_t room : {rlim_t{0}, rlim_t{1'000}}) {  // not even the head; not all bytes
        rlimit full = before;
        full.rlim_cur = room;
        ::setrlimit(RLIMIT_FSIZE, &full);
        const bool written = kept->write(key_, std::string(5'000, 'x'));
        ::setrlimit(RLIMIT_FSIZE, &before);
        EXPECT_FALSE(written) << room;
        EXPECT_TRUE(files().empty()) << room;
        EXPECT_EQ(kept->bytes(), 0U);
    }
    std::signal(SIGXFSZ, handler);
}

// Down to nine tenths and no further, the oldest first.
TEST_F(VariantFilesTest, CleaningUpKeepsWhatItMay) {
    const std::string content(900, 'x');
    key_.file.inode = 100;  // numbers of three digits: all files are of one size
    auto kept = open();
    EXPECT_TRUE(kept->write(key_, content));
    const std::uint64_t each = kept->bytes();
    fs::remove(files().at(0));
    kept = open(200 * each);
    for (std::uint64_t count = 1; count <= 201; ++count) {
        key_.file.inode = 100 + count;
        EXPECT_TRUE(kept->write(key_, content));
        EXPECT_EQ(kept->bytes(), (count <= 200 ? count : 180) * each);
        // The folder is read when there is too much in it, and not before.
        if (count == 1) std::ofstream(path_ + "/.new-0-0") << "";
        EXPECT_EQ(fs::exists(path_ + "/.new-0-0"), count <= 200) << count;
    }
    EXPECT_EQ(files().size(), 180u);
    EXPECT_EQ(open(200 * each)->bytes(), 180 * each);
}

TEST_F(VariantFilesTest, TheFolderStaysWithinItsBoundAndForeignFilesStay) {
    auto kept = open(10'000);
    std::ofstream(path_ + "/mine.txt") << "not a variant";
    const std::string of_a_stranger = path_ + "/0123456789abcdef.txt";
    std::ofstream(of_a_stranger) << "nor this";
    std::ofstream(path_ + "/.new-0-0") << "left over by a crash";
    for (std::uint64_t i = 0; i < 50; ++i) {
        key_.file.inode = i;
        EXPECT_TRUE(kept->write(key_, std::string(1000, 'x')));
    }
    EXPECT_LE(kept->bytes(), 10'000u);
    EXPECT_LE(files().size(), 12u);
    EXPECT_TRUE(fs::exists(of_a_stranger));
    EXPECT_TRUE(fs::exists(path_ + "/mine.txt"));
    EXPECT_FALSE(fs::exists(path_ + "/.new-0-0"));
}

}  // namespace
}  // namespace tiderace::http::files
