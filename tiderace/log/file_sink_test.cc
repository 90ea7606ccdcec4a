#include "tiderace/log/file_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tiderace::log {
namespace {

class FileSinkTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "tiderace_XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ / "access.log";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::unique_ptr<FileSink> open(std::uint64_t rotate_bytes = 0, unsigned files_kept = 2) {
        auto sink = FileSink::open({path_.string(), rotate_bytes, files_kept});
        EXPECT_TRUE(sink.has_value()) << sink.error().message();
        return std::move(*sink);
    }
    std::string text(const std::string& suffix = "") const {
        std::ifstream file(path_.string() + suffix, std::ios::binary);
        std::ostringstream all;
        all << file.rdbuf();
        return all.str();
    }
    bool exists(const std::string& suffix) const {
        return std::filesystem::exists(path_.string() + suffix);
    }
    // Takes all of it, without trouble.
    static void write(Sink& sink, ByteView lines) {
        const Sink::Written written = sink.write(lines);
        EXPECT_EQ(written.bytes, lines.size());
        EXPECT_FALSE(written.trouble) << written.trouble->message();
    }

    std::filesystem::path folder_;
    std::filesystem::path path_;
};

TEST_F(FileSinkTest, IsOpenedByTheFunctionThatIsGivenAtEveryOpening) {
    int opened = 0;
    auto sink =
        FileSink::open({.path = path_.string(), .open = [&](const std::string& path) {
                            ++opened;
                            return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
                        }});
    ASSERT_TRUE(sink.has_value());
    write(**sink, "one\n");
    ASSERT_TRUE((*sink)->reopen());
    write(**sink, "two\n");
    EXPECT_EQ(opened, 2);
    EXPECT_EQ(text(), "one\ntwo\n");
}

TEST_F(FileSinkTest, APipeThatIsFullHasRoomAgainLater) {
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
    const auto sink = open();
    const std::string lines = std::string(1 << 20, 'a') + "\n";
    const Sink::Written written = sink->write(lines);
    EXPECT_LT(written.bytes, lines.size());
    ASSERT_TRUE(written.trouble);
    EXPECT_EQ(written.trouble->code(), EAGAIN);
    EXPECT_GE(written.room_at, 0);
    ::close(reader);
}

TEST_F(FileSinkTest, AppendsToWhatIsThere) {
    write(*open(), "one\n");
    const auto sink = open();
    write(*sink, "two\n");
    write(*sink, "three\n");
    EXPECT_EQ(text(), "one\ntwo\nthree\n");
}

TEST_F(FileSinkTest, TheFileItMakesIsNotForOthers) {
    open();
    struct stat status{};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07, 0U);
}

TEST_F(FileSinkTest, OpeningWhereThereIsNoFolderNamesThePath) {
    const auto sink = FileSink::open({(folder_ / "absent" / "access.log").string()});
    ASSERT_FALSE(sink.has_value());
    EXPECT_EQ(sink.error().code(), ENOENT);
    EXPECT_THAT(sink.error().message(), ::testing::HasSubstr("absent/access.log: no such file"));
}

TEST_F(FileSinkTest, AfterARenameReopenMakesANewFile) {
    const auto sink = open();
    write(*sink, "old\n");
    std::filesystem::rename(path_, path_.string() + ".moved");
    write(*sink, "still old\n");
    ASSERT_TRUE(sink->reopen());
    write(*sink, "new\n");
    EXPECT_EQ(text(".moved"), "old\nstill old\n");
    EXPECT_EQ(text(), "new\n");
}

TEST_F(FileSinkTest, WhenReopeningFailsTheOldFileStays) {
    const auto sink = open();
    std::filesystem::rename(folder_, folder_.string() + ".moved");
    const Result<> reopened = sink->reopen();
    std::filesystem::rename(folder_.string() + ".moved", folder_);
    ASSERT_FALSE(reopened.has_value());
    EXPECT_EQ(reopened.error().code(), ENOENT);
    write(*sink, "kept\n");
    EXPECT_EQ(text(), "kept\n");
}

TEST_F(FileSinkTest, RotatesBySizeAndKeepsSoMany) {
    const auto sink = open(10, 2);
    for (const char* line : {"1234\n", "5678\n", "third\n", "fourth\n", "fifth\n"}) {
        write(*sink, line);
    }
    EXPECT_EQ(text(), "fifth\n");
    EXPECT_EQ(text(".1"), "fourth\n");
    EXPECT_EQ(text(".2"), "third\n");
    EXPECT_FALSE(exists(".3"));
}

TEST_F(FileSinkTest, SizeCountsWhatWasThereBefore) {
    write(*open(), "12345678\n");
    write(*open(10), "next\n");
    EXPECT_EQ(text(), "next\n");
    EXPECT_EQ(text(".1"), "12345678\n");
}

TEST_F(FileSinkTest, ALineLongerThanTheLimitHasAFileOfItsOwn) {
    const auto sink = open(10);
    write(*sink, "a line of more than ten\n");
    write(*sink, "short\n");
    EXPECT_EQ(text(".1"), "a line of more than ten\n");
    EXPECT_EQ(text(), "short\n");
}

TEST_F(FileSinkTest, KeepingNoneDeletesTheOldOne) {
    const auto sink = open(10, 0);
    write(*sink, "12345678\n");
    write(*sink, "next\n");
    EXPECT_EQ(text(), "next\n");
    EXPECT_FALSE(exists(".1"));
}

TEST_F(FileSinkTest, WhenRotationFailsTheFileGrowsAndTheFailureIsReported) {
    const auto sink = open(10, 1);
    write(*sink, "12345678\n");
    // A folder cannot be replaced by a file.
    std::filesystem::create_directory(path_.string() + ".1");
    Sink::Written written = sink->write("next\n");
    EXPECT_EQ(written.bytes, 5U);
    ASSERT_TRUE(written.trouble);
    EXPECT_THAT(written.trouble->message(), ::testing::HasSubstr("rotate " + path_.string()));
    EXPECT_EQ(text(), "12345678\nnext\n");
    std::filesystem::remove(path_.string() + ".1");
    write(*sink, "after\n");
    EXPECT_EQ(text(".1"), "12345678\nnext\n");
    EXPECT_EQ(text(), "after\n");
}

TEST_F(FileSinkTest, RotatingAgainAfterAFailureLosesNoOldFile) {
    const auto sink = open(10, 2);
    write(*sink, "12345678\n");
    write(*sink, "second 8\n");
    // The new file cannot be made: the name is taken by a link to nowhere in an absent folder.
    std::filesystem::rename(path_, path_.string() + ".elsewhere");
    std::filesystem::create_symlink(folder_ / "absent" / "file", path_);
    for (int attempt = 0; attempt < 5; ++attempt) {
        EXPECT_TRUE(sink->write("more\n").trouble);
    }
    EXPECT_EQ(text(".1"), "12345678\n");
    EXPECT_FALSE(exists(".2"));
    EXPECT_EQ(text(".elsewhere"), "second 8\nmore\nmore\nmore\nmore\nmore\n");
}

#if defined(__linux__)
TEST_F(FileSinkTest, AFullDiskIsTroubleAndNothingIsTaken) {
    auto sink = FileSink::open({"/dev/full"});
    ASSERT_TRUE(sink.has_value());
    const Sink::Written written = (*sink)->write("lost?\n");
    EXPECT_EQ(written.bytes, 0U);
    ASSERT_TRUE(written.trouble);
    EXPECT_EQ(written.trouble->message(), "write /dev/full: no space left on device");
}
#endif

// An unread pipe stops accepting in the middle of a line, as a filling disk does.
class FileSinkOnAPipeTest : public FileSinkTest {
  protected:
    void SetUp() override {
        FileSinkTest::SetUp();
        ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
        reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        ASSERT_GE(reader_, 0);
    }
    void TearDown() override {
        ::close(reader_);
        FileSinkTest::TearDown();
    }
    std::string read_some() {
        std::string piece(100'000, '\0');
        const ssize_t bytes = ::read(reader_, piece.data(), piece.size());
        piece.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
        return piece;
    }

    int reader_ = -1;
};

TEST_F(FileSinkOnAPipeTest, GoesOnInsideTheLineWhereItStopped) {
    const auto sink = open();
    const std::string lines = std::string(300'000, 'a') + "\nshort\n";
    std::string seen;
    for (std::size_t at = 0; at < lines.size();) {
        const Sink::Written written = sink->write(ByteView(lines).substr(at));
        if (at + written.bytes < lines.size()) {
            ASSERT_TRUE(written.trouble);
            EXPECT_EQ(written.trouble->code(), EAGAIN);
        }
        at += written.bytes;
        seen += read_some();
    }
    for (std::string piece = read_some(); !piece.empty(); piece = read_some()) seen += piece;
    EXPECT_EQ(seen, lines);
}

TEST_F(FileSinkOnAPipeTest, TheRestOfACutLineDoesNotOpenTheNewFile) {
    const auto sink = open();
    const std::string lines = std::string(300'000, 'a') + "\nnext\n";
    const std::size_t taken = sink->write(lines).bytes;
    ASSERT_GT(taken, 0U);
    ASSERT_LT(taken, 300'000U);
    std::filesystem::rename(path_, path_.string() + ".moved");
    ASSERT_TRUE(sink->reopen());
    write(*sink, ByteView(lines).substr(taken, 1'000));
    write(*sink, ByteView(lines).substr(taken + 1'000));
    write(*sink, "last\n");
    EXPECT_EQ(text(), "next\nlast\n");
}

TEST_F(FileSinkOnAPipeTest, ReopeningTheSamePipeGoesOnInsideTheLine) {
    const auto sink = open();
    const std::string lines = std::string(100'000, 'a') + "\nnext\n";
    const std::size_t taken = sink->write(lines).bytes;
    ASSERT_LT(taken, 100'000U);
    ASSERT_TRUE(sink->reopen());
    std::string seen = read_some();
    write(*sink, ByteView(lines).substr(taken));
    for (std::string piece = read_some(); !piece.empty(); piece = read_some()) seen += piece;
    EXPECT_EQ(seen, lines);
}

TEST_F(FileSinkOnAPipeTest, APipeIsNotRotated) {
    const auto sink = open(10);
    write(*sink, "12345678\n");
    write(*sink, "12345678\n");
    EXPECT_FALSE(exists(".1"));
}

}  // namespace
}  // namespace tiderace::log
