#include "server/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace tiderace::server {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

TEST(Terminal, ANumberHasItsNoun) {
    EXPECT_EQ(counted(0, "error"), "0 errors");
    EXPECT_EQ(counted(1, "error"), "1 error");
    EXPECT_EQ(counted(2, "error"), "2 errors");
}

TEST(Terminal, NothingThatMovesItsCursorIsShown) {
    EXPECT_EQ(printable("a\x1b[2Jb\r\n\t\x7f"), "a?[2Jb????");
    EXPECT_EQ(printable("caf\xc3\xa9 ~"), "caf\xc3\xa9 ~");
    EXPECT_EQ(printable(std::string_view("\0", 1)), "?");
    EXPECT_EQ(printable(""), "");
    // One character, U+009B, is what ESC [ is.
    EXPECT_EQ(printable("a\xc2\x9b"
                        "2Jb\xc2\x80\xc2\xa0\xc2"),
              "a?2Jb?\xc2\xa0\xc2");
    EXPECT_EQ(printable("Stra\xc3\x9f"
                        "e"),
              "Stra\xc3\x9f"
              "e");
}

TEST(Terminal, AWordIsWhatAShellReads) {
    EXPECT_EQ(shell_word("/a/b-c_d.pem"), "/a/b-c_d.pem");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("/a b"), "'/a b'");
    EXPECT_EQ(shell_word("it's;rm"), "'it'\\''s;rm'");
}

TEST(Terminal, ATextGoesOutAsItIs) {
    CaptureStdout();
    const int status = print("tiderace", "one\n\x1b[1mtwo\n");
    EXPECT_EQ(GetCapturedStdout(), "one\n\x1b[1mtwo\n");
    EXPECT_EQ(status, 0);
}

TEST(Terminal, AComplaintIsOneLineAfterTheProgramsName) {
    CaptureStderr();
    complain("tiderace lab", "unknown command \x1b]0;title\x07\nserve");
    EXPECT_EQ(GetCapturedStderr(), "tiderace lab: unknown command ?]0;title??serve\n");
}

TEST(Terminal, AFullDiskIsReportedAsAFailure) {
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) GTEST_SKIP() << "this system has no /dev/full";
    std::fflush(stdout);
    const int before = ::dup(STDOUT_FILENO);
    ASSERT_GE(before, 0);
    ::dup2(full, STDOUT_FILENO);
    CaptureStderr();
    const int status = print("tiderace", "\n");
    ::dup2(before, STDOUT_FILENO);
    std::clearerr(stdout);
    for (const int spare : {full, before}) ::close(spare);
    EXPECT_EQ(GetCapturedStderr(),
              "tiderace: cannot write to standard output: no space left on device\n");
    EXPECT_EQ(status, 1);
}

// In a child: the streams of a test are its own.
TEST(TerminalDeathTest, ClosedStandardStreamsAreOpenedAndOpenOnesLeftAlone) {
    EXPECT_EXIT(
        {
            ::close(STDIN_FILENO);
            ::close(STDOUT_FILENO);
            struct stat before{};
            struct stat after{};
            ::fstat(STDERR_FILENO, &before);
            occupy_standard_streams();
            ::fstat(STDERR_FILENO, &after);
            const bool written = ::write(STDOUT_FILENO, "x", 1) == 1;
            char byte = 0;
            const bool at_end = ::read(STDIN_FILENO, &byte, 1) == 0;
            const bool same = before.st_ino == after.st_ino && before.st_dev == after.st_dev;
            const int next = ::dup(STDIN_FILENO);
            ::_exit(written && at_end && same && next > STDERR_FILENO ? 7 : 1);
        },
        ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace tiderace::server
