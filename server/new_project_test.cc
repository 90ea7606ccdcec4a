#include "server/new_project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
}

// tests/test_new_project.py builds it, serves and tests.
TEST(NewProject, HasAllFilesUnderItsName) {
    const testing::TemporaryFolder folder;
    const auto made = make_project(folder.path_of("boats"));
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_THAT(*made, HasSubstr("build/boats"));
    std::size_t files = 0;
    for (const auto& file : fs::recursive_directory_iterator(folder.path_of("boats"))) {
        if (!file.is_regular_file()) continue;
        ++files;
        EXPECT_EQ(content_of(file.path()).find("@name@"), std::string::npos) << file.path();
        EXPECT_EQ(content_of(file.path()).find("\t"), std::string::npos) << file.path();
    }
    EXPECT_EQ(files, project_files);
    EXPECT_THAT(content_of(folder.path_of("boats/CMakeLists.txt")), HasSubstr("project(boats "));
    EXPECT_TRUE(fs::exists(folder.path_of("boats/boats.service")));
}

TEST(NewProject, AFolderMayBeThereIfItIsEmpty) {
    const testing::TemporaryFolder folder;
    folder.make_folder("boats");
    EXPECT_TRUE(make_project(folder.path_of("boats/")));
    EXPECT_THAT(make_project(folder.path_of("boats")).error().message(), HasSubstr("not empty"));
    folder.write("ships/.hidden", "kept");
    EXPECT_THAT(make_project(folder.path_of("ships")).error().message(), HasSubstr("not empty"));
    EXPECT_EQ(content_of(folder.path_of("ships/.hidden")), "kept");
    folder.write("file", "kept");
    EXPECT_THAT(make_project(folder.path_of("file")).error().message(),
                HasSubstr("not a directory"));
    EXPECT_EQ(content_of(folder.path_of("file")), "kept");
    folder.write("closed", "");
    EXPECT_THAT(make_project(folder.path_of("closed/boats")).error().message(),
                HasSubstr("not a directory"));
}

TEST(NewProject, ItsNameIsOneOfATarget) {
    for (const char* good : {"a", "boats", "sea-boats_2"}) EXPECT_EQ(project_name_fault(good), "");
    for (const char* bad : {"", "Boats", "2boats", "-boats", "boats.eu", "a b", "b\xc3\xb6te",
                            "a/b", "test", "tiderace", "boats_test", "$(rm)", "a\nb"}) {
        EXPECT_NE(project_name_fault(bad), "") << bad;
    }
    EXPECT_EQ(project_name_fault(std::string(40, 'a')), "");
    EXPECT_NE(project_name_fault(std::string(41, 'a')), "");
    const testing::TemporaryFolder folder;
    EXPECT_THAT(make_project(folder.path_of("Boats")).error().message(), HasSubstr("small letter"));
    EXPECT_FALSE(fs::exists(folder.path_of("Boats")));
}

}  // namespace
}  // namespace tiderace::server
