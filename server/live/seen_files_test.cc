#include "server/live/seen_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

TEST(SeenFiles, AChangeIsOneOnceItHasSettled) {
    testing::TemporaryFolder folder;
    folder.write("a", "one");
    SeenFiles seen;
    seen.note_file(folder.path_of("a"));
    seen.note_file(folder.path_of("missing"));
    EXPECT_FALSE(seen.changed());
    EXPECT_FALSE(seen.changed());
    folder.write("a", "more");
    EXPECT_FALSE(seen.changed()) << "it may be written on";
    folder.write("a", "much more");
    EXPECT_FALSE(seen.changed());
    EXPECT_TRUE(seen.changed());
    EXPECT_TRUE(seen.changed()) << "until it is noted again";
}

TEST(SeenFiles, RenamesRemovalsAndNewFilesOfAPatternAreChanges) {
    testing::TemporaryFolder folder;
    const auto changes = [&](auto change) {
        folder.write("a.toml", "one");
        std::filesystem::remove(folder.path_of("b.toml"));
        SeenFiles seen;
        seen.note_file(folder.path_of("a.toml"));
        seen.note_pattern(folder.path_of("*.toml"));
        change();
        seen.changed();
        return seen.changed();
    };
    EXPECT_FALSE(changes([] {}));
    EXPECT_TRUE(changes([&] {
        folder.write("new", "one");
        std::filesystem::rename(folder.path_of("new"), folder.path_of("a.toml"));
    }));
    EXPECT_TRUE(changes([&] { std::filesystem::remove(folder.path_of("a.toml")); }));
    EXPECT_TRUE(changes([&] { folder.write("b.toml", ""); }));
    EXPECT_FALSE(changes([&] { folder.write("c", ""); }));
}

}  // namespace
}  // namespace tiderace::server
