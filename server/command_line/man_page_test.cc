#include "server/command_line/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "server/command_line/flags.h"
#include "server/command_line/help_text.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;

TEST(ManPage, HasEveryCommandAndEveryFlagWithItsDescription) {
    const std::string page = man_page();
    for (const CommandSpec& command : commands()) {
        EXPECT_THAT(page, HasSubstr("\n.B " + std::string(command.name)));
        for (const FlagHelp& flag : command.flags) {
            if (command.name != "serve" && flag.name == "help") continue;
            EXPECT_THAT(page, HasSubstr(".B " + roff_text(flag_usage(flag, false)) + "\n" +
                                        roff_text(flag_description(flag)) + ".\n"));
        }
    }
}

TEST(ManPage, NamesTheVersionsThatAreServed) {
    EXPECT_THAT(man_page(), HasSubstr("over HTTP/1.1 and HTTP/2."));
}

TEST(ManPage, TextStaysTextInRoff) {
    EXPECT_EQ(roff_text("--listen"), "\\-\\-listen");
    EXPECT_EQ(roff_text(".br files"), "\\&.br files");
    EXPECT_EQ(roff_text("'quoted'"), "\\&\\(aqquoted\\(aq");
    EXPECT_EQ(roff_text("a\\b"), "a\\eb");
    EXPECT_EQ(roff_text("a\n.b"), "a\n\\&.b");
}

TEST(ManPage, IsAcceptedByManWithoutAWarning) {
    if (std::system("command -v man >/dev/null 2>&1") != 0) GTEST_SKIP() << "no man";
    std::string path = ::testing::TempDir() + "tiderace.1-XXXXXX";
    close(mkstemp(path.data()));
    std::ofstream(path) << man_page();
    const std::string command =
        "LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -P cat -l " + path + " 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    std::string shown;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) shown += static_cast<char>(c);
    const int status = pclose(pipe);
    std::filesystem::remove(path);
    ASSERT_EQ(status, 0) << shown;
    EXPECT_THAT(shown, HasSubstr("--listen ADDR"));
    EXPECT_THAT(shown, ::testing::Not(HasSubstr("warning:")));
}

}  // namespace
}  // namespace tiderace::server
