#include "lab/run/site_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace tiderace::lab::run {
namespace {

TEST(SiteFolder, HoldsFilesOfExactSizesThatAnybodyMayRead) {
    std::string path;
    {
        const auto site = SiteFolder::make();
        ASSERT_TRUE(site);
        path = site->path();
        for (const SiteFileFacts& file : site_files) {
            const std::string name = path + "/" + std::string(file.name);
            struct stat facts{};
            ASSERT_EQ(::stat(name.c_str(), &facts), 0) << name;
            EXPECT_EQ(static_cast<std::uint64_t>(facts.st_size), file.bytes);
            EXPECT_EQ(facts.st_mode & 0444U, 0444U);
        }
        EXPECT_NE(site->hash(SiteFile::tiny), site->hash(SiteFile::large));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SiteFolder, IsTheSameEveryTime) {
    EXPECT_EQ(SiteFolder::make()->hash(SiteFile::large), SiteFolder::make()->hash(SiteFile::large));
}

}  // namespace
}  // namespace tiderace::lab::run
