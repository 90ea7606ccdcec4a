#include "server/live/seen_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tiderace/base/units.h"
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

TEST(SeenFiles, ATimeThatIsSetBackHidesNoChange) {
    testing::TemporaryFolder folder;
    folder.write("a", "one");
    const auto before = std::filesystem::last_write_time(folder.path_of("a"));
    SeenFiles seen;
    seen.note_file(folder.path_of("a"));
    EXPECT_EQ(seen.files(), std::vector{folder.path_of("a")});
    std::this_thread::sleep_for(20ms);  // a tick of the file system's clock
    folder.write("a", "two");
    std::filesystem::last_write_time(folder.path_of("a"), before);
    seen.changed();
    EXPECT_TRUE(seen.changed());
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
