#include "server/config/format_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server::config {
namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FormatFile, WritesWhatIsOutOfOrderAndNothingElse) {
    const testing::TemporaryFolder folder;
    folder.write("a.toml", "a=1\nb=[1.5,nan,1979-05-27 07:32:00,{c='x'}]");
    const std::string path = folder.path_of("a.toml");
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(format_file(path, true), 1);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(),
              path + ":1: a=1\n" + path + ":2: b=[1.5,nan,1979-05-27 07:32:00,{c='x'}]\n");
    EXPECT_EQ(text_of(path), "a=1\nb=[1.5,nan,1979-05-27 07:32:00,{c='x'}]");
    EXPECT_EQ(format_file(path, false), 0);
    const std::string tidy = "a = 1\nb = [1.5, nan, 1979-05-27 07:32:00, { c = 'x' }]\n";
    EXPECT_EQ(text_of(path), tidy);
    struct stat before{};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    EXPECT_EQ(format_file(path, false), 0);
    EXPECT_EQ(format_file(path, true), 0);
    struct stat after{};
    ASSERT_EQ(::stat(path.c_str(), &after), 0);
    EXPECT_EQ(after.st_ino, before.st_ino);
    EXPECT_EQ(text_of(path), tidy);
}

TEST(FormatFile, WhatIsNoTomlStays) {
    const testing::TemporaryFolder folder;
    folder.write("a.toml", "a=1\na=2\n");
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(format_file(folder.path_of("a.toml"), false), 1);
    EXPECT_EQ(format_file(folder.path_of("none.toml"), false), 2);
    EXPECT_EQ(format_file(folder.path(), false), 2);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("no such file"), std::string::npos);
    EXPECT_EQ(text_of(folder.path_of("a.toml")), "a=1\na=2\n");
}

}  // namespace
}  // namespace tiderace::server::config
