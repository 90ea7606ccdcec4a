#include "tiderace/core/whole_file.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::core {
namespace {

TEST(WholeFile, ReadsAllOrSaysWhyNot) {
    const testing::TemporaryFolder folder;
    folder.write("a", std::string(40'000, 'x'));
    EXPECT_EQ(*read_file(folder.path_of("a"), 40'000), std::string(40'000, 'x'));
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

TEST(WholeFile, IsWrittenToItsEndOrFailsWithAReason) {
    const testing::TemporaryFolder folder;
    const std::string text(300'000, 'y');
    {
        const Descriptor file(system_kernel(), ::open(folder.path_of("a").c_str(),
                                                      O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        EXPECT_TRUE(write_whole(file.get(), text));
    }
    EXPECT_EQ(*read_file(folder.path_of("a"), text.size()), text);
    const Descriptor reading(system_kernel(),
                             ::open(folder.path_of("a").c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_FALSE(write_whole(reading.get(), text));
    EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace tiderace::core
