#include "tiderace/tls/read_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::tls {
namespace {

TEST(ReadFile, IsOpenedByTheOpenerOfTheProcess) {
    const testing::TemporaryFolder folder;
    folder.write("a", "one");
    std::string asked;
    set_file_opener([&](const std::string& path) {
        asked = path;
        return ::open(folder.path_of("a").c_str(), O_RDONLY | O_CLOEXEC);
    });
    EXPECT_EQ(*read_file("elsewhere", 10), "one");
    EXPECT_EQ(asked, "elsewhere");
    set_file_opener({});
    EXPECT_FALSE(read_file("elsewhere", 10));
}

TEST(ReadFile, LeavesNothingOfItsTextInFreedMemory) {
    if (!testing::FreedMemory::works) GTEST_SKIP() << testing::FreedMemory::why_not;
    const testing::TemporaryFolder folder;
    const std::string secret = "a secret too long for a small string";
    folder.write("a", secret + std::string(100'000, 'x'));
    const std::string path = folder.path_of("a");
    const testing::FreedMemory freed(secret);
    EXPECT_TRUE(read_file(path, 1'000'000));
    EXPECT_FALSE(read_file(path, 50'000));
    EXPECT_EQ(freed.found(), 0);
}

// While it lives, the process may not enter the folder, even as root.
class LockedOut {
  public:
    explicit LockedOut(const std::string& folder) : folder_(folder), was_root_(::geteuid() == 0) {
        EXPECT_EQ(::chmod(folder_.c_str(), 0), 0);
        if (was_root_) EXPECT_EQ(::seteuid(65'534), 0);
    }
    ~LockedOut() {
        if (was_root_) EXPECT_EQ(::seteuid(0), 0);
        EXPECT_EQ(::chmod(folder_.c_str(), 0700), 0);
    }

  private:
    std::string folder_;
    bool was_root_;
};

// A server that has given up root still notices new certificates.
TEST(FileLook, IsThatOfTheOpenersFileWhereTheProcessMayNotLook) {
    const testing::TemporaryFolder folder;
    folder.write("a", "one");
    const std::string path = folder.path_of("a");
    const std::string look = file_look(path);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    {
        const LockedOut locked_out(folder.path());
        EXPECT_EQ(file_look(path), "none;");
        set_file_opener([&](const std::string&) { return ::dup(file); });
        EXPECT_EQ(file_look(path), look);
        set_file_opener([](const std::string&) { return -1; });
        EXPECT_EQ(file_look(path), "none;");
        set_file_opener({});
    }
    ::close(file);
}

TEST(FileLook, ChangesWithTheFile) {
    const testing::TemporaryFolder folder;
    const std::string path = folder.path_of("a");
    const std::string none = file_look(path);
    EXPECT_EQ(none, "none;") << "not an empty file's";
    folder.write("a", "one");
    const std::string one = file_look(path);
    EXPECT_NE(one, none);
    EXPECT_EQ(file_look(path), one);
    folder.replace("a", "two");
    EXPECT_NE(file_look(path), one);
}

}  // namespace
}  // namespace tiderace::tls
