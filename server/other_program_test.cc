#include "server/other_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tiderace/testing/temporary_folder.h"
#include "tiderace/tls/library.h"

namespace tiderace::server {
namespace {

TEST(OtherProgram, IsLookedForBesideThisOne) {
    const testing::TemporaryFolder folder;
    folder.write("tiderace-lab", "#!/bin/sh\n");
    const std::string path = std::string(folder.path()) + "/tiderace-lab";
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    const auto found = find_program(lab_program_name, std::string(folder.path()));
    ASSERT_TRUE(found.has_value()) << found.error().message();
    EXPECT_EQ(*found, path);
}

TEST(OtherProgram, ThatIsNotThereIsOneLineThatSaysHowToGetIt) {
    const testing::TemporaryFolder folder;
    const auto found = find_program(lab_program_name, std::string(folder.path()));
    ASSERT_FALSE(found.has_value());
    EXPECT_THAT(found.error().message(), ::testing::HasSubstr("./dev build"));
    EXPECT_THAT(found.error().message(), ::testing::HasSubstr("tiderace-lab"));
    EXPECT_EQ(found.error().message().find('\n'), std::string::npos);
}

TEST(OtherProgram, IsUsedByCommandsThatNeedTls) {
    const auto asks = [](std::vector<std::string_view> words) {
        const auto command = parse_command_line(words);
        EXPECT_TRUE(command.has_value()) << words.front();
        return command && asks_for_tls(*command);
    };
    EXPECT_FALSE(asks({"serve"}));
    EXPECT_FALSE(asks({"version"}));
    EXPECT_TRUE(asks({"version", "-v"}));
    EXPECT_TRUE(asks({"trust"}));
    if (!has_tls()) return;
    EXPECT_TRUE(asks({"serve", "--tls-self-signed"}));
    EXPECT_TRUE(asks({"serve", "--tls", "a,b"}));
}

TEST(OtherProgram, IsNotNeededWhereTlsIsBuiltIn) {
    EXPECT_TRUE(has_tls() || !tls::is_built_in());
}

}  // namespace
}  // namespace tiderace::server
