#include "tiderace/tcp/open_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace tiderace::tcp {
namespace {

TEST(OpenFile, OpensRegularFilesAlone) {
    const std::string path = ::testing::TempDir() + "tcp_open_file";
    std::ofstream(path) << "12345";
    EXPECT_EQ(OpenFile::open(path)->bytes, 5U);
    std::remove(path.c_str());
    EXPECT_EQ(OpenFile::open(path).error().operation(), "open");
    EXPECT_EQ(OpenFile::open(::testing::TempDir()).error().operation(), "send");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_FALSE(OpenFile::open(path).has_value()) << "and it did not wait for a writer";
    std::remove(path.c_str());
}

}  // namespace
}  // namespace tiderace::tcp
