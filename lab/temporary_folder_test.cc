#include "lab/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tiderace/testing/environment_variable.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::lab {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, IsGoneWithItsFilesHoweverOftenItMoved) {
    std::optional<TemporaryFolder> last;
    std::string path;
    {
        auto made = TemporaryFolder::make("tiderace-lab-test");
        ASSERT_TRUE(made) << made.error().message();
        path = made->path();
        EXPECT_NE(path.find("/tiderace-lab-test-"), std::string::npos);
        ASSERT_TRUE(made->write("a", "words"));
        EXPECT_FALSE(made->write("none/a", "words"));
        last.emplace(std::move(*made));
    }
    std::string word;
    std::ifstream(path + "/a") >> word;
    EXPECT_EQ(word, "words");
    last.reset();
    EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
    const tiderace::testing::TemporaryFolder place;
    const tiderace::testing::EnvironmentVariable temporary("TMPDIR", place.path());
    const auto lives = TemporaryFolder::make("lab");
    ASSERT_TRUE(lives) << lives.error().message();
    for (const char* name : {"lab-a1b2c3", "lab-site-a1b2c3", "lab-", "other-a1b2c3", "kept"}) {
        place.make_folder(name);
        place.write(std::string(name) + "/file", "words");
    }
    place.link("lab-link00", "kept");
    place.write("lab-file00", "words");
    const auto next = TemporaryFolder::make("lab");
    ASSERT_TRUE(next) << next.error().message();
    EXPECT_FALSE(fs::exists(place.path_of("lab-a1b2c3")));
    EXPECT_TRUE(fs::exists(lives->path()));
    for (const char* name : {"lab-site-a1b2c3/file", "lab-/file", "other-a1b2c3/file", "kept/file",
                             "lab-link00/file", "lab-file00"}) {
        EXPECT_TRUE(fs::exists(place.path_of(name))) << name;
    }
}

TEST(TemporaryFolder, IsNotMadeElsewhereWhereItsPlaceIsMissing) {
    const tiderace::testing::TemporaryFolder folder;
    const tiderace::testing::EnvironmentVariable temporary("TMPDIR", folder.path_of("none"));
    const auto made = TemporaryFolder::make("tiderace-lab-test");
    ASSERT_FALSE(made) << made->path();
    EXPECT_NE(made.error().message().find("TMPDIR"), std::string::npos) << made.error().message();
}

}  // namespace
}  // namespace tiderace::lab
