#include "tiderace/http/files/variant_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

TEST_F(VariantFilesTest, OneLargerThanAllowedIsNotRead) {
    auto kept = open();
    kept->write(key_, std::string(2000, 'x'));
    EXPECT_EQ(kept->read(key_, 1000), std::nullopt);
}

TEST_F(VariantFilesTest, AFolderThatOthersMayWriteIsRefused) {
    fs::create_directory(path_);
    ::chmod(path_.c_str(), 0777);
    const auto opened = VariantFiles::open(path_, 1_MiB);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find("chmod 700"), std::string::npos);
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
    key_.file.inode = 100;
    auto kept = open();
    EXPECT_TRUE(kept->write(key_, content));
    const std::uint64_t each = kept->bytes();
    fs::remove(files().at(0));
    kept = open(10 * each);
    for (std::uint64_t count = 1; count <= 11; ++count) {
        key_.file.inode = 100 + count;
        EXPECT_TRUE(kept->write(key_, content));
        EXPECT_EQ(kept->bytes(), (count <= 10 ? count : 9) * each);
    }
    EXPECT_EQ(files().size(), 9u);
    EXPECT_EQ(open(10 * each)->bytes(), 9 * each);
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
