#include "server/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tiderace/tls/library.h"

namespace tiderace::server {
namespace {

TEST(Version, IsThatOfTheProject) {
    EXPECT_THAT(std::string(version()), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
    EXPECT_EQ(version_line(), "tiderace " + std::string(version()) + "\n");
}

TEST(Version, DetailsNameCompilerEnginesAndFeatures) {
    const std::string details = version_details();
    EXPECT_TRUE(details.starts_with(version_line()));
    EXPECT_THAT(details, ::testing::HasSubstr("\ncompiler    "));
    EXPECT_THAT(details, ::testing::HasSubstr("\nengines     "));
    EXPECT_THAT(details, ::testing::HasSubstr("\ncompression "));
    EXPECT_THAT(details, ::testing::HasSubstr("\nfeatures    "));
    EXPECT_THAT(details, ::testing::HasSubstr("\ntls         " + tls::library_text() + "\n"));
    EXPECT_THAT(details, ::testing::Not(::testing::HasSubstr("auto")));
    for (const std::string_view engine : engine_choices) {
        if (engine != "auto") {
            EXPECT_THAT(details, ::testing::HasSubstr(std::string(engine)));
        }
    }
}

TEST(Version, IsPrintedWithItsCommitAndItsBuild) {
    EXPECT_TRUE(version_and_commit().starts_with(version()));
    EXPECT_NE(build_text().find(", "), std::string::npos);
}

TEST(Version, KnowsTheEnginesOfOtherSystems) {
    for (const std::string_view engine : engine_choices) EXPECT_EQ(systems_of_engine(engine), "");
    EXPECT_EQ(systems_of_engine("iocp"), "");
    const bool on_linux = std::ranges::find(engine_choices, "epoll") != engine_choices.end();
    EXPECT_EQ(systems_of_engine("kqueue"), on_linux ? "BSD and macOS" : "");
    EXPECT_EQ(systems_of_engine("epoll"), on_linux ? "" : "Linux");
}

}  // namespace
}  // namespace tiderace::server
