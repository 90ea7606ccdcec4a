#include "server/config/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server::config {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string printed(const std::vector<std::string_view>& words, int status = 0) {
    const auto command = parse_command_line(words);
    EXPECT_TRUE(command) << command.error().sentence;
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(use_tool(std::get<FileTool>(*command)), status);
    return ::testing::internal::GetCapturedStdout();
}

TEST(Tools, EachCommandDoesItsOwn) {
    const testing::TemporaryFolder folder;
    folder.write("a.toml", "a=1\n");
    const std::string path = folder.path_of("a.toml");
    EXPECT_THAT(printed({"schema"}), StartsWith("{\n  \"$schema\""));
    EXPECT_THAT(printed({"fmt", "--check", path}, 1), HasSubstr("a.toml:1: a=1\n"));
    EXPECT_EQ(printed({"fmt", path}), "");
    EXPECT_EQ(printed({"fmt", "--check", path}), "");
}

}  // namespace
}  // namespace tiderace::server::config
