// Paths that the walk opens and refuses; where the system has openat2, it must agree.
#include "tiderace/core/beneath_walk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace tiderace::core {
namespace {

class BeneathWalk : public ::testing::Test {
  protected:
    BeneathWalk() {
        char name[] = "/tmp/tiderace-walk-XXXXXX";
        top_ = ::mkdtemp(name);
        std::filesystem::create_directories(root() / "a/b/c");
        std::filesystem::create_directories(top_ / "outside");
        write(root() / "file", "file");
        write(root() / "a/b/c/deep", "deep");
        write(top_ / "outside/secret", "SECRET");
        directory_ = Descriptor(system_kernel(), ::open(root().c_str(), O_RDONLY | O_DIRECTORY));
        link("file", "to-file");
        link("a/b", "to-b");
        link("../../file", "a/b/up-to-file");
        link("../b/./c//deep", "a/b/round");
        link("to-to-b/c", "to-c");
        link("to-b", "to-to-b");
        link("..", "up");
        link("../outside/secret", "out");
        link("a/../../outside", "out-directory");
        link("../../../outside/secret", "a/b/out");
        link(root() / "file", "absolute");
        link("/etc/passwd", "absolute-out");
        link("loop", "loop");
        link("pong", "ping");
        link("ping", "pong");
        link("nothing-here", "dangling");
        link("file/", "file-as-directory");
    }
    ~BeneathWalk() override { std::filesystem::remove_all(top_); }

    std::filesystem::path root() const { return top_ / "root"; }
    void link(const std::filesystem::path& target, const char* at) const {
        std::filesystem::create_symlink(target, root() / at);
    }
    static void write(const std::filesystem::path& path, const char* text) {
        std::ofstream(path) << text;
    }
    // The content of the file, "directory", or the name of the error.
    std::string walk(const std::string& path, Links links = Links::inside, int flags = O_RDONLY) {
        return told(open_by_walking(directory_.get(), path.c_str(), flags, links));
    }
    std::string told(int fd) const {
        if (fd < 0) return std::to_string(fd);
        const Descriptor opened(system_kernel(), fd);
        struct stat status;
        EXPECT_EQ(::fstat(fd, &status), 0);
        if (S_ISDIR(status.st_mode)) return "directory";
        char text[16];
        const ssize_t bytes = ::read(fd, text, sizeof text);
        return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    }
    static std::string error(int code) { return std::to_string(-code); }

    std::filesystem::path top_;
    Descriptor directory_;
};

struct Case {
    const char* path;
    const char* told;  // or nullptr: `error`
    int error = 0;
};

const Case cases[] = {
    {"file", "file"},
    {"./file", "file"},
    {"a/b/c/deep", "deep"},
    {"a//b/.//c///deep", "deep"},
    {"a/b", "directory"},
    {"a/b/", "directory"},
    {".", "directory"},
    {"./", "directory"},
    {"a/..", "directory"},
    {"a/../file", "file"},
    {"a/b/../../file", "file"},
    {"a/b/../../a/b/c/../c/deep", "deep"},
    // Links that stay inside.
    {"to-file", "file"},
    {"to-b/c/deep", "deep"},
    {"to-b/", "directory"},
    {"a/b/up-to-file", "file"},
    {"to-b/up-to-file", "file"},
    {"a/b/round", "deep"},
    {"to-c/deep", "deep"},
    {"to-to-b/../b/c/deep", "deep"},
    // Paths that leave the directory.
    {"..", nullptr, EXDEV},
    {"../", nullptr, EXDEV},
    {"../root/file", nullptr, EXDEV},
    {"a/../../outside/secret", nullptr, EXDEV},
    {"a/b/c/../../../../outside/secret", nullptr, EXDEV},
    {"/etc/passwd", nullptr, EXDEV},
    {"//etc/passwd", nullptr, EXDEV},
    {"up", nullptr, EXDEV},
    {"up/root/file", nullptr, EXDEV},
    {"out", nullptr, EXDEV},
    {"out-directory", nullptr, EXDEV},
    {"out-directory/secret", nullptr, EXDEV},
    {"a/b/out", nullptr, EXDEV},
    {"to-b/out", nullptr, EXDEV},
    {"absolute", nullptr, EXDEV},
    {"absolute-out", nullptr, EXDEV},
    // Paths that do not exist, or are of another kind.
    {"", nullptr, ENOENT},
    {"absent", nullptr, ENOENT},
    {"absent/../file", nullptr, ENOENT},
    {"dangling", nullptr, ENOENT},
    {"loop", nullptr, ELOOP},
    {"ping/x", nullptr, ELOOP},
    {"file/", nullptr, ENOTDIR},
    {"file/x", nullptr, ENOTDIR},
    {"file/../file", nullptr, ENOTDIR},
    {"file-as-directory", nullptr, ENOTDIR},
};

TEST_F(BeneathWalk, OpensWhatIsBeneathAndNothingElse) {
    for (const Case& one : cases) {
        const std::string expected = one.told != nullptr ? one.told : error(one.error);
        EXPECT_EQ(walk(one.path), expected) << one.path;
    }
}

TEST_F(BeneathWalk, AgreesWithTheKernelsOwn) {
    for (const Case& one : cases) {
        const int fd =
            system_kernel().open_beneath(directory_.get(), one.path, O_RDONLY, Links::inside);
        EXPECT_EQ(told(fd), walk(one.path)) << one.path;
    }
}

TEST_F(BeneathWalk, WithoutLinksTheFirstOneEndsIt) {
    EXPECT_EQ(walk("a/b/c/deep", Links::never), "deep");
    for (const char* path :
         {"to-file", "to-b/c/deep", "a/b/round", "out", "absolute", "dangling"}) {
        EXPECT_EQ(walk(path, Links::never), error(ELOOP)) << path;
    }
    EXPECT_EQ(walk("to-file", Links::inside, O_RDONLY | O_NOFOLLOW), error(ELOOP));
}

TEST_F(BeneathWalk, IsBounded) {
    for (int i = 0; i <= walk_links_max; ++i) {
        link(i == 0 ? "file" : "chain" + std::to_string(i - 1),
             ("chain" + std::to_string(i)).c_str());
    }
    EXPECT_EQ(walk("chain" + std::to_string(walk_links_max - 1)), "file");
    EXPECT_EQ(walk("chain" + std::to_string(walk_links_max)), error(ELOOP));
    std::string to_and_fro;
    for (int i = 0; i < walk_steps_max - 1; ++i) to_and_fro += "./";
    EXPECT_EQ(walk(to_and_fro + "file"), "file") << "exactly at the limit";
    EXPECT_EQ(walk("./" + to_and_fro + "file"), error(ELOOP));
    const auto path_of = [](std::size_t bytes) {
        return "a" + std::string(bytes - 5, '/') + "file";
    };
    EXPECT_EQ(walk(path_of(PATH_MAX - 1)), error(ENOENT)) << "with its zero exactly at the limit";
    EXPECT_EQ(walk(path_of(PATH_MAX)), error(ENAMETOOLONG));
}

TEST_F(BeneathWalk, ADirectoryOnTheWayNeedNotBeReadable) {
    ASSERT_EQ(::chmod((root() / "a").c_str(), 0111), 0);
    EXPECT_EQ(walk("a/b/c/deep"), "deep");
    ASSERT_EQ(::chmod((root() / "a").c_str(), 0700), 0);
}

TEST_F(BeneathWalk, LeavesNoDescriptorBehind) {
    const int before = ::dup(0);
    ::close(before);
    for (const Case& one : cases) walk(one.path);
    const int after = ::dup(0);
    ::close(after);
    EXPECT_EQ(after, before);
}

// A directory that turns into a link that leads out, again and again, while it is walked through.
TEST_F(BeneathWalk, SwappingADirectoryForALinkGainsNothing) {
    std::filesystem::create_directories(root() / "real");
    write(root() / "real/secret", "harmless");
    link("../outside", "evil");
    std::filesystem::rename(root() / "real", root() / "turn");
    std::atomic<bool> done = false;
    std::thread attacker([&] {
        while (!done.load(std::memory_order_relaxed)) {
            ::rename((root() / "turn").c_str(), (root() / "real").c_str());
            ::rename((root() / "evil").c_str(), (root() / "turn").c_str());
            ::rename((root() / "turn").c_str(), (root() / "evil").c_str());
            ::rename((root() / "real").c_str(), (root() / "turn").c_str());
        }
    });
    for (int i = 0; i < 3'000; ++i) EXPECT_NE(walk("turn/secret"), "SECRET");
    done = true;
    attacker.join();
}

// openat2 refuses a path with a ".." (EAGAIN) while anything is renamed anywhere.
TEST_F(BeneathWalk, RenamesElsewhereDisturbNothing) {
    std::atomic<bool> done = false;
    std::thread renamer([&] {
        while (!done.load(std::memory_order_relaxed)) {
            ::rename((top_ / "outside").c_str(), (top_ / "elsewhere").c_str());
            ::rename((top_ / "elsewhere").c_str(), (top_ / "outside").c_str());
        }
    });
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        const int fd = system_kernel().open_beneath(directory_.get(), "a/b/up-to-file", O_RDONLY,
                                                    Links::inside);
        fd < 0 ? ++refused : system_kernel().close(fd);
    }
    done = true;
    renamer.join();
    EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace tiderace::core
