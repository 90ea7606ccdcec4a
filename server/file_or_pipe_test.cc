#include "server/file_or_pipe.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

TEST(FileOrPipe, IsReadWhole) {
    const testing::TemporaryFolder folder;
    folder.write("a", std::string(100'000, 'x'));
    EXPECT_EQ(read_file_or_pipe(folder.path_of("a"), 100'000), std::string(100'000, 'x'));
    EXPECT_FALSE(read_file_or_pipe(folder.path_of("a"), 99'999));
    EXPECT_FALSE(read_file_or_pipe(std::string(folder.path()), 99));
    EXPECT_FALSE(read_file_or_pipe(folder.path_of("absent"), 99));
    folder.write("empty", "");
    EXPECT_EQ(read_file_or_pipe(folder.path_of("empty"), 99), "");
}

TEST(FileOrPipe, APipeWithoutAWriterEnds) {
    const testing::TemporaryFolder folder;
    folder.make_fifo("pipe");
    const auto text = read_file_or_pipe(folder.path_of("pipe"), 99, "read", 20ms);
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().message().find("it is a pipe into which nothing was written for 20ms"),
              std::string::npos);
    std::thread writer([&] { std::ofstream(folder.path_of("pipe")) << "late"; });
    EXPECT_EQ(read_file_or_pipe(folder.path_of("pipe"), 99), "late");
    writer.join();
}

}  // namespace
}  // namespace tiderace::server
