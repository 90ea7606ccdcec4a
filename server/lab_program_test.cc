#include "server/lab_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

TEST(LabProgram, IsLookedForBesideThisOne) {
    const testing::TemporaryFolder folder;
    folder.write("tiderace-lab", "#!/bin/sh\n");
    const std::string path = std::string(folder.path()) + "/tiderace-lab";
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    const auto found = find_lab_program(std::string(folder.path()));
    ASSERT_TRUE(found.has_value()) << found.error().message();
    EXPECT_EQ(*found, path);
}

TEST(LabProgram, ThatIsNotThereIsOneLineThatSaysHowToGetIt) {
    const testing::TemporaryFolder folder;
    const auto found = find_lab_program(std::string(folder.path()));
    ASSERT_FALSE(found.has_value());
    EXPECT_THAT(found.error().message(), ::testing::HasSubstr("./dev build"));
    EXPECT_THAT(found.error().message(), ::testing::HasSubstr("tiderace-lab"));
    EXPECT_EQ(found.error().message().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace tiderace::server
