#include "server/root_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using Use = RootFiles::Use;

class RootFilesTest : public ::testing::Test {
  protected:
    RootFilesTest() { folder_.write("key.pem", "secret"); }

    std::unique_ptr<RootFiles> start() {
        auto started = RootFiles::start({{folder_.path_of("key.pem"), Use::read},
                                         {folder_.path_of("access.log"), Use::append},
                                         {folder_.path_of("socket"), Use::remove}});
        EXPECT_TRUE(started.has_value());
        return std::move(*started);
    }
    // The helper is started, root is given up, and then it holds; in a process of its own.
    void expect_without_root(const std::function<bool(RootFiles&)>& holds) {
        if (::geteuid() != 0) GTEST_SKIP() << "only root has something to give up";
        EXPECT_EXIT(
            {
                const auto files = start();
                if (::setgid(54'321) != 0 || ::setuid(54'321) != 0) std::_Exit(2);
                std::_Exit(holds(*files) ? 0 : 1);
            },
            ::testing::ExitedWithCode(0), "");
    }
    static std::string text(int fd) {
        std::array<char, 64> bytes{};
        const ssize_t got = ::read(fd, bytes.data(), bytes.size());
        return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    }
    struct stat bind_socket() const {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        folder_.path_of("socket").copy(at.sun_path, sizeof at.sun_path - 1);
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
        ::close(fd);
        struct stat made{};
        EXPECT_EQ(::lstat(at.sun_path, &made), 0);
        return made;
    }
    bool exists(const std::string& name) const {
        struct stat status{};
        return ::lstat(folder_.path_of(name).c_str(), &status) == 0;
    }

    testing::TemporaryFolder folder_;
};

TEST_F(RootFilesTest, AreNotNeededWhereThisProcessMayUseThemItself) {
    folder_.write("access.log", "");
    const auto files = start();
    EXPECT_FALSE(files->needed());
    const int fd = files->open(folder_.path_of("key.pem"), Use::read);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(text(fd), "secret");
    ::close(fd);
}

TEST_F(RootFilesTest, AreOpenedThoughRootWasGivenUpAndAgainWhenTheyWereReplaced) {
    expect_without_root([this](RootFiles& files) {
        const std::string path = folder_.path_of("key.pem");
        const int direct = ::open(path.c_str(), O_RDONLY);
        const int fd = files.open(path, Use::read);
        return files.needed() && direct < 0 && text(fd) == "secret" &&
               (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 &&
               text(files.open(path, Use::read)) == "secret";
    });
}

TEST_F(RootFilesTest, TheLogIsMadeAgainInAFolderOfRoots) {
    expect_without_root([this](RootFiles& files) {
        const int fd = files.open(folder_.path_of("access.log"), Use::append);
        return fd >= 0 && ::write(fd, "line\n", 5) == 5;
    });
    if (::geteuid() != 0) return;
    std::ifstream log(folder_.path_of("access.log"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(log), {}), "line\n");
}

TEST_F(RootFilesTest, WhatWasNotNamedIsNotOpened) {
    folder_.write("other.pem", "other");
    expect_without_root([this](RootFiles& files) {
        const bool other = files.open(folder_.path_of("other.pem"), Use::read) < 0;
        const bool why = errno == EACCES;
        const bool written = files.open(folder_.path_of("key.pem"), Use::append) < 0;
        const bool read = files.open(folder_.path_of("access.log"), Use::read) < 0;
        return other && why && written && read;
    });
}

TEST_F(RootFilesTest, AMissingFileIsMissing) {
    folder_.remove("key.pem");
    expect_without_root([this](RootFiles& files) {
        return files.open(folder_.path_of("key.pem"), Use::read) < 0 && errno == ENOENT;
    });
}

TEST_F(RootFilesTest, ALinkInThePlaceOfTheLogIsNotFollowed) {
    folder_.link("access.log", "key.pem");
    expect_without_root([this](RootFiles& files) {
        return files.open(folder_.path_of("access.log"), Use::append) < 0 && errno == ELOOP;
    });
}

TEST_F(RootFilesTest, AFolderThatOthersMayChangeIsLeftToTheServersOwnRights) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
    ASSERT_EQ(::chmod(folder_.path_of("key.pem").c_str(), 0600), 0);
    expect_without_root([this](RootFiles& files) {
        return files.open(folder_.path_of("key.pem"), Use::read) < 0 && errno == EACCES;
    });
}

// Its owner could point it to another folder later, and root would open a file of this name there.
TEST_F(RootFilesTest, ALinkOnTheWayIsNotFollowedWhereOthersMayChangeIt) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root has something to give up";
    folder_.make_folder("others");
    ASSERT_EQ(::symlink(folder_.path().c_str(), folder_.path_of("others/link").c_str()), 0);
    folder_.link("way", "others/link");
    // Two links: the second is the one that others may change.
    for (const std::string way : {"others/link/key.pem", "way/key.pem"}) {
        const std::string path = folder_.path_of(way);
        const auto opens = [&] {
            auto files = RootFiles::start({{path, Use::read}});
            if (!files || ::setgid(54'321) != 0 || ::setuid(54'321) != 0) std::_Exit(2);
            std::_Exit((*files)->open(path, Use::read) >= 0 ? 0 : 1);
        };
        ASSERT_EQ(::chown(folder_.path_of("others").c_str(), 0, 0), 0);
        EXPECT_EXIT(opens(), ::testing::ExitedWithCode(0), "") << way;
        ASSERT_EQ(::chown(folder_.path_of("others").c_str(), 54'321, 54'321), 0);
        EXPECT_EXIT(opens(), ::testing::ExitedWithCode(1), "") << way;
    }
}

// As by the start of a server, in which this process still is root.
TEST_F(RootFilesTest, RootFollowsNoLogsLinkInAFolderOfOthers) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may write what the link leads to";
    folder_.make_folder("others");
    ASSERT_EQ(::symlink("../key.pem", folder_.path_of("others/link.log").c_str()), 0);
    const std::string link = folder_.path_of("others/link.log");
    const std::string file = folder_.path_of("others/file.log");
    const auto opens = [&](const std::string& path) {
        const auto files = RootFiles::start({{link, Use::append}, {file, Use::append}});
        const int fd = (*files)->open(path, Use::append);
        const int code = errno;
        if (fd < 0) return code;
        ::close(fd);
        return 0;
    };
    EXPECT_EQ(opens(link), 0) << "root's own link leads where root says";
    ASSERT_EQ(::chown(folder_.path_of("others").c_str(), 54'321, 54'321), 0);
    EXPECT_EQ(opens(link), ELOOP);
    EXPECT_EQ(opens(file), 0);
}

// The folder's owner may set a link in the place of any folder below it.
TEST_F(RootFilesTest, RootFollowsNoLinkOfOthersOnTheWayToALog) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may write where the link leads";
    folder_.make_folder("others");
    folder_.make_folder("others/logs");
    folder_.make_folder("target");
    ASSERT_EQ(::symlink("../target", folder_.path_of("others/link").c_str()), 0);
    folder_.link("way", "others/logs");  // root's own, in a folder of root's
    const auto opens = [&](const std::string& name) {
        const std::string path = folder_.path_of(name);
        const auto files = RootFiles::start({{path, Use::append}});
        const int fd = (*files)->open(path, Use::append);
        const int code = fd < 0 ? errno : 0;
        if (fd >= 0) ::close(fd);
        return code;
    };
    EXPECT_EQ(opens("others/link/a.log"), 0) << "while all of it is root's";
    for (const char* name : {"others", "others/logs"}) {
        ASSERT_EQ(::chown(folder_.path_of(name).c_str(), 54'321, 54'321), 0);
    }
    EXPECT_EQ(opens("others/link/b.log"), ELOOP);
    EXPECT_FALSE(exists("target/b.log"));
    EXPECT_EQ(opens("others/logs/a.log"), 0);
    EXPECT_EQ(opens("others/logs/../logs/b.log"), 0);
    EXPECT_EQ(opens("way/c.log"), 0);
    EXPECT_EQ(opens("others/none/a.log"), ENOENT);
    EXPECT_TRUE(exists("others/logs/a.log") && exists("others/logs/b.log"));
    EXPECT_TRUE(exists("others/logs/c.log"));
}

TEST_F(RootFilesTest, ASocketIsRemovedAndNothingElse) {
    const struct stat made = bind_socket();
    expect_without_root([&](RootFiles& files) {
        files.remove(folder_.path_of("socket"), made.st_dev, made.st_ino + 1);
        files.remove(folder_.path_of("key.pem"), made.st_dev, made.st_ino);
        return true;
    });
    EXPECT_TRUE(exists("socket"));
    EXPECT_TRUE(exists("key.pem"));
    expect_without_root([&](RootFiles& files) {
        files.remove(folder_.path_of("socket"), made.st_dev, made.st_ino);
        return true;
    });
    EXPECT_TRUE(exists("socket") == (::geteuid() != 0));
}

TEST_F(RootFilesTest, ADeadHelperIsAnErrorAndNoHang) {
    expect_without_root([this](RootFiles& files) {
        ::kill(files.helper(), SIGKILL);
        return true;  // another user may not
    });
    const auto files = start();
    ::kill(files->helper(), SIGKILL);
    while (::kill(files->helper(), 0) == 0 &&
           files->open(folder_.path_of("none"), Use::read) >= 0) {
    }
    EXPECT_LT(files->open(folder_.path_of("none"), Use::read), 0);
}

TEST_F(RootFilesTest, TheHelperEndsWithTheServerAndHoldsNoneOfItsDescriptors) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const auto files = start();
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "the end of the pipe, though the helper runs";
    ::close(ends[0]);
    EXPECT_EQ(::kill(files->helper(), 0), 0);
}

}  // namespace
}  // namespace tiderace::server
