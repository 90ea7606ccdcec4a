#include "tiderace/tls/read_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::tls {
namespace {

TEST(ReadFile, ReadsAllOrSaysWhyNot) {
    const testing::TemporaryFolder folder;
    folder.write("a", std::string(40'000, 'x'));
    EXPECT_EQ(read_file(folder.path_of("a"), 40'000)->size(), 40'000U);
    const auto long_one = read_file(folder.path_of("a"), 39'999);
    ASSERT_FALSE(long_one);
    EXPECT_EQ(long_one.error().message(),
              "read " + folder.path_of("a") + ": the file is longer than 39999 bytes");
    const auto none = read_file(folder.path_of("b"), 1);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message(),
              "read " + folder.path_of("b") + ": no such file or directory");
    folder.make_fifo("pipe");
    EXPECT_FALSE(read_file(folder.path_of("pipe"), 1));
    EXPECT_FALSE(read_file(folder.path(), 1));
}

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

TEST(FileLook, ChangesWithTheFile) {
    const testing::TemporaryFolder folder;
    const std::string path = folder.path_of("a");
    const std::string none = file_look(path);
    EXPECT_EQ(none, "none;") << "not that of an empty file";
    folder.write("a", "one");
    const std::string one = file_look(path);
    EXPECT_NE(one, none);
    EXPECT_EQ(file_look(path), one);
    folder.replace("a", "two");
    EXPECT_NE(file_look(path), one);
}

}  // namespace
}  // namespace tiderace::tls
