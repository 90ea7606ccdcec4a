// The cost of watching, its bounds, and the fallback where changes cannot be reported.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "tiderace/http/files/file_watch_fixture.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"

namespace tiderace::http::files {
namespace {

TEST_F(FileWatchTest, AHitStillAsksTheKernelNothingAndAChangeExpiresWhatItMust) {
    folder_.write("a.txt", "a");
    folder_.write("b.txt", "b");
    folder_.write("dir/c.txt", "c");
    next("/a.txt");
    next("/b.txt");
    next("/dir/c.txt");
    next("/absent");
    script.takes = 0;
    kernel_.reset();
    for (const char* path : {"/a.txt", "/b.txt", "/dir/c.txt", "/absent"}) next(path);
    EXPECT_EQ(kernel_.calls(), 0U);
    EXPECT_EQ(script.takes, 0);
    folder_.write("a.txt", "A");
    EXPECT_EQ(next("/a.txt"), "A");
    kernel_.reset();
    for (const char* path : {"/b.txt", "/dir/c.txt", "/absent"}) next(path);
    EXPECT_EQ(kernel_.calls(), 0U) << "what did not change is not asked about";
}

TEST_F(FileWatchTest, AFolderIsWatchedOnceAndNoLongerThanItIsThere) {
    for (int i = 0; i < 50; ++i) folder_.write("dir/f" + std::to_string(i), "x");
    next("/dir/f0");
    const int watches = script.watches;
    for (int i = 1; i < 50; ++i) next("/dir/f" + std::to_string(i));
    EXPECT_EQ(script.watches, watches);
    const std::size_t before = server().watch()->watches();
    remove_all("dir");
    EXPECT_EQ(next("/dir/f0"), "404");
    EXPECT_EQ(server().watch()->watches(), before - 1);
}

TEST_F(FileWatchTest, AFolderThatIsRenamedTakesTheWatchesOfAllBeneathWithIt) {
    folder_.write("a.txt", "a");
    folder_.write("dir/sub/b.txt", "b");
    next("/a.txt");
    const std::size_t before = server().watch()->watches();
    EXPECT_EQ(next("/dir/sub/b.txt"), "b");
    EXPECT_EQ(server().watch()->watches(), before + 2);
    rename("dir", "away");
    EXPECT_EQ(next("/dir/sub/b.txt"), "404");
    EXPECT_EQ(server().watch()->watches(), before);
}

TEST_F(FileWatchTest, OnlySoManyFoldersAreWatched) {
    options_.watch.watches_max = 5;
    for (int i = 0; i < 20; ++i) {
        const std::string name = "d" + std::to_string(i);
        folder_.write(name + "/a.txt", "x");
        folder_.link("l" + std::to_string(i), name + "/a.txt");
        EXPECT_EQ(next("/" + name + "/a.txt"), "x");
        EXPECT_EQ(next("/l" + std::to_string(i)), "x");
    }
    EXPECT_LE(server().watch()->watches(), 10U);
    folder_.replace("d0/a.txt", "seen");
    EXPECT_EQ(next("/d0/a.txt"), "seen");
    // Unwatched paths are compared with the disk, as before.
    folder_.replace("d19/a.txt", "late");
    EXPECT_EQ(next("/d19/a.txt"), "x");
    pass(24h);
    EXPECT_EQ(next("/d19/a.txt"), "late");
}

TEST_F(FileWatchTest, WithoutNoticesOrWatchesTheDiskIsComparedAsEver) {
    options_.cache.revalidate = 1s;
    for (const bool open_fails : {true, false}) {
        script = {};
        script.open_fails = open_fails;
        script.watches_max = 0;
        options_.watch.notices = std::make_shared<core::SharedNotices>(&open_scripted);
        server_.reset();
        folder_.write("a.txt", "old");
        EXPECT_EQ(next("/a.txt"), "old");
        EXPECT_EQ(server().watch()->working(), !open_fails);
        folder_.replace("a.txt", "new");
        EXPECT_EQ(next("/a.txt"), "old");
        pass(1s);
        EXPECT_EQ(next("/a.txt"), "new");
    }
}

// Each reason once, however many folders it concerns, and by one loop of several.
TEST_F(FileWatchTest, WhatIsNotWatchedIsInTheLogOnce) {
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    log::SystemTime time;
    log::Logger logger(ring, time);
    loop_->set_log(&logger);
    options_.cache.revalidate = 1s;
    const struct {
        const char* because;  // "": nothing is in the log
        bool open_fails = false;
        int watches_max = 1 << 20;
        std::size_t folders_max = 1'000;
        bool logs = true;
    } cases[] = {
        {.because = ""},
        {.because = "watch files: too many open files", .open_fails = true},
        {.because = "watch a folder: no space left", .watches_max = 0},
        {.because = "there are more folders than we may watch", .folders_max = 3},
        {.because = "", .open_fails = true, .logs = false},
    };
    for (const auto& each : cases) {
        script = {.open_fails = each.open_fails, .watches_max = each.watches_max};
        options_.watch.notices = std::make_shared<core::SharedNotices>(&open_scripted);
        options_.watch.watches_max = each.folders_max;
        options_.watch.logs = each.logs;
        server_.reset();
        for (int i = 0; i < 9; ++i) {
            const std::string name = "d" + std::to_string(i) + "/a.txt";
            folder_.write(name, "x");
            EXPECT_EQ(next("/" + name), "x");
            EXPECT_EQ(next("/" + name), "x");
        }
        const std::string lines = log::take_all(ring);
        const std::string_view because = each.because;
        EXPECT_EQ(std::ranges::count(lines, '\n'), because.empty() ? 0 : 1) << lines;
        if (because.empty()) continue;
        EXPECT_NE(lines.find("some changed files show only when they are compared with the disk"),
                  std::string::npos)
            << lines;
        EXPECT_NE(lines.find("every=1s because=\"" + std::string(because)), std::string::npos)
            << lines;
    }
    server_.reset();
    loop_->set_log(nullptr);
}

// A program that writes all the time does not keep an idle loop busy; requests see it all the same.
TEST_F(FileWatchTest, NoticesThatComeAllTheTimeAreTakenWithRequests) {
    options_.watch.takes_per_second_max = 10;
    folder_.write("a.txt", "a");
    folder_.write("log", "");
    next("/a.txt");
    script.takes = 0;
    for (int i = 0; i < 100; ++i) {
        folder_.write("log", std::to_string(i));
        loop_->turn(0s);
    }
    EXPECT_EQ(script.takes, 10);
    folder_.replace("a.txt", "b");
    EXPECT_EQ(next("/a.txt"), "b");
    folder_.replace("a.txt", "c");
    EXPECT_EQ(next("/a.txt"), "c");
    // It stays so for a second, and from then on they are taken as they come.
    pass(999ms);
    next("/a.txt");
    folder_.write("log", "y");
    script.takes = 0;
    loop_->turn(0s);
    EXPECT_EQ(script.takes, 0);
    pass(1ms);
    next("/a.txt");
    folder_.write("log", "x");
    script.takes = 0;
    loop_->turn(0s);
    EXPECT_EQ(script.takes, 1);
    next("/a.txt");
    EXPECT_EQ(script.takes, 1) << "and not with requests as well";
}

// A site beneath a folder in which others write, such as /tmp: its neighbours cost nothing, and a
// new one no more than that it is read; but what replaces the root is seen.
TEST_F(FileWatchTest, ABusyParentOfTheRootWakesNobody) {
    folder_.write("site/a.txt", "a");
    folder_.write("log", "");
    options_.root = folder_.path_of("site");
    EXPECT_EQ(next("/a.txt"), "a");
    loop_->turn(0s);
    script.takes = script.notices = 0;
    for (int i = 0; i < 10; ++i) {
        folder_.write("log", std::to_string(i));
        folder_.truncate("log", 0);
        folder_.set_time("log", 1'000'000'000 + i);
        loop_->turn(0s);
    }
    EXPECT_EQ(script.takes, 0);
    for (int i = 0; i < 10; ++i) {
        folder_.write("new", "");
        folder_.remove("new");
        loop_->turn(0s);
    }
    EXPECT_EQ(script.notices, 0U);
    kernel_.reset();
    EXPECT_EQ(next("/a.txt"), "a");
    EXPECT_EQ(kernel_.calls(), 0U) << "nothing has expired";
    folder_.write("other/a.txt", "b");
    rename("site", "away");
    rename("other", "site");
    EXPECT_EQ(next("/a.txt"), "b");
}

// Renamed, it would take what lies deeper along without a notice of its own.
TEST_F(FileWatchTest, AFolderIsWatchedOnlyBehindThoseAboveIt) {
    for (const char* name : {"x/y/a", "x/y/b"}) folder_.write(name, "old");
    folder_.write("other/y/b", "new");
    next("/");
    script.watch_fails = 1;
    EXPECT_EQ(next("/x/y/a"), "old");
    EXPECT_EQ(script.watch_fails, 0);
    EXPECT_EQ(next("/x/y/b"), "old");
    rename("x", "away");
    rename("other", "x");
    EXPECT_EQ(next("/x/y/b"), "new");
}

TEST_F(FileWatchTest, AFolderIsWatchedOnlyBehindOneAboveItThatCouldBeOpened) {
    for (const char* name : {"x/y/a", "x/y/b"}) folder_.write(name, "old");
    folder_.write("other/y/b", "new");
    next("/");
    kernel_.fail_at(1, EMFILE);  // the look at /x/
    EXPECT_EQ(next("/x/y/a"), "old");
    kernel_.reset();
    EXPECT_EQ(next("/x/y/b"), "old");
    rename("x", "away");
    rename("other", "x");
    EXPECT_EQ(next("/x/y/b"), "new");
}

// A second look is for what is watched only now, and costs as much as the first.
TEST_F(FileWatchTest, TheDiskIsReadOnceWhereNothingMoreCanBeWatched) {
    for (const char* name : {"a.txt", "b.txt"}) folder_.write(name, "text");
    const auto calls = [&](core::Links links) {
        options_.links = links;
        options_.watch.notices = std::make_shared<core::SharedNotices>(&open_scripted);
        server_.reset();
        next("/a.txt");
        kernel_.reset();
        EXPECT_EQ(next("/b.txt"), "text");
        return kernel_.calls();
    };
    const std::size_t once = calls(core::Links::inside);
    EXPECT_EQ(calls(core::Links::never), once);
    script.names = false;
    options_.watch.watches_max = 1;
    EXPECT_EQ(calls(core::Links::inside), once) << "there are no more watches";
    script.open_fails = true;
    EXPECT_EQ(calls(core::Links::inside), once) << "there are no notices";
}

TEST_F(FileWatchTest, TheDiskIsReadOnceForAFileInAFolderThatIsWatched) {
    for (const char* name : {"a.txt", "b.txt"}) folder_.write(name, "text");
    next("/a.txt");
    kernel_.reset();
    EXPECT_EQ(next("/b.txt"), "text");
    EXPECT_EQ(kernel_.calls(), 7U) << "open, status, read, status, and three siblings";
}

TEST_F(FileWatchTest, ALinkInAFolderThatIsReplacedIsFollowedAnew) {
    for (const char* name : {"1", "2"}) {
        folder_.write(std::string("..") + name + "/a", name);
        folder_.link(std::string("..d") + name, std::string("..") + name);
        folder_.make_folder(std::string("sub") + name);
        folder_.link(std::string("sub") + name + "/a", std::string("../..d") + name + "/a");
    }
    rename("sub1", "sub");
    EXPECT_EQ(next("/sub/a"), "1");
    rename("sub", "sub1");
    rename("sub2", "sub");
    EXPECT_EQ(next("/sub/a"), "2");
    folder_.link("..next", "..1");
    rename("..next", "..d2");
    EXPECT_EQ(next("/sub/a"), "1");
}

// Nothing can take the place of a root that has no name of its own.
TEST_F(FileWatchTest, TheRootsNameIsWatchedInItsParentWhereItHasOne) {
    folder_.write("site/sub/a.txt", "a");
    for (const auto& [name, watched] : {std::pair{"site", 1U},
                                        {"site/", 1U},
                                        {"site//", 1U},
                                        {"site/.", 0U},
                                        {"site/sub/..", 0U}}) {
        options_.root = folder_.path_of(name);
        server_.reset();
        const std::size_t of_the_root = server().watch()->watches();
        EXPECT_EQ(of_the_root > 0, watched > 0) << name;
        EXPECT_EQ(next("/sub/a.txt"), "a") << name;
    }
}

TEST_F(FileWatchTest, OneLoopLogsOnceWhyWhatIsNotWatched) {
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return 0; }
    } time;
    log::Logger logger(ring, time);
    loop_->set_log(&logger);
    options_.watch.watches_max = 2;
    for (const char* name : {"a", "b", "c", "d"}) folder_.write(std::string(name) + "/f", "x");
    for (const bool logs : {true, false}) {
        options_.watch.logs = logs;
        server_.reset();
        for (const char* path : {"/a/f", "/b/f", "/c/f", "/d/f"}) EXPECT_EQ(next(path), "x");
        const std::string lines = log::take_all(ring);
        EXPECT_EQ(std::ranges::count(lines, '\n'), logs ? 1 : 0) << lines;
        EXPECT_EQ(lines.find("more folders than we may watch") != std::string::npos, logs);
        server_.reset();
        script.watches_max = script.watches;  // another trouble
        for (const char* path : {"/a/f", "/b/f"}) EXPECT_EQ(next(path), "x");
        const std::string more = log::take_all(ring);
        EXPECT_EQ(std::ranges::count(more, '\n'), logs ? 1 : 0) << more;
        EXPECT_EQ(more.find("raise the limit") != std::string::npos, logs);
        script.watches_max = 1 << 20;
    }
    loop_->set_log(nullptr);
}

TEST_F(FileWatchTest, WatchesOnlyAsManyFoldersAsItMay) {
    folder_.write("site/a/f", "x");
    folder_.write("site/b/f", "x");
    options_.root = folder_.path_of("site");
    const std::size_t of_the_root = server().watch()->watches();
    for (const std::size_t most : {1U, 2U, 3U}) {
        options_.watch.watches_max = most;
        server_.reset();
        for (const char* path : {"/a/f", "/b/f"}) EXPECT_EQ(next(path), "x");
        EXPECT_EQ(server().watch()->watches(), std::min(of_the_root, most) + most);
    }
}

// Where folders report no names, the files have watches of their own.
TEST_F(FileWatchTest, WatchesOnlyAsManyFilesAsItMay) {
    script.names = false;
    for (const char* name : {"a", "b", "c", "d"}) folder_.write(std::string("site/") + name, "x");
    options_.root = folder_.path_of("site");
    const std::size_t of_the_root = server().watch()->watches();
    for (const std::size_t most : {1U, 2U, 3U}) {
        options_.watch.watches_max = most;
        server_.reset();
        for (const char* path : {"/a", "/b", "/c", "/d"}) EXPECT_EQ(next(path), "x");
        EXPECT_EQ(server().watch()->watches(), of_the_root + 1 + most) << "one is the folder's";
    }
}

// The root's own name is one of them, and the link's is another.
TEST_F(FileWatchTest, TheNamesThatLinksLeadThroughAreWatchedUpToTheirMaximum) {
    for (const bool lost_before : {false, true}) {
        for (const std::size_t most : {2U, 3U}) {
            SCOPED_TRACE(std::to_string(most) + (lost_before ? ", all lost before" : ""));
            options_.watch.watches_max = most;
            server_.reset();
            remove_all("site");
            for (const char* name : {"1", "2"})
                folder_.write("site/.." + std::string(name) + "/a", name);
            folder_.link("site/..data", "..1");
            folder_.link("site/l", "..data/a");
            options_.root = folder_.path_of("site");
            if (lost_before) {
                next("/");
                script.loses = true;
                folder_.write("site/b", "");
                next("/");
            }
            EXPECT_EQ(next("/l"), "1");
            folder_.link("site/..next", "..2");
            rename("site/..next", "site/..data");
            EXPECT_EQ(next("/l"), most == 3 ? "2" : "1");
        }
    }
}

// Its path leads through one folder after the other to the same directory.
TEST_F(FileWatchTest, ARootIsWatchedWhereItsPathLeadsThroughAndNoMoreWhereItLedBefore) {
    folder_.write("real/a", "a");
    folder_.link("site", "current/site");
    options_.root = folder_.path_of("site");
    std::size_t watches = 0;
    for (int i = 0; i < 5; ++i) {
        const std::string release = "release" + std::to_string(i);
        folder_.make_folder(release);
        folder_.link(release + "/site", "../real");
        folder_.link("next", release);
        rename("next", "current");
        EXPECT_EQ(next("/a"), "a");
        if (i == 0) watches = server().watch()->watches();
        EXPECT_EQ(server().watch()->watches(), watches) << i;
    }
}

// A link's target may also be in a busy folder, but there the content counts.
TEST_F(FileWatchTest, AFileBesideTheRootThatALinkLeadsToIsReportedWithItsContent) {
    folder_.make_folder("site");
    folder_.write("shared.txt", "a");
    folder_.link("site/a.txt", "../shared.txt");
    options_.root = folder_.path_of("site");
    options_.links = core::Links::anywhere;
    EXPECT_EQ(next("/a.txt"), "a");
    folder_.write("shared.txt", "b");
    EXPECT_EQ(next("/a.txt"), "b");
    folder_.replace("shared.txt", "c");
    EXPECT_EQ(next("/a.txt"), "c");
}

// The link's own name is the first of at most 64 parts; those that are no names are not watched.
TEST_F(FileWatchTest, TheNamesThatALinkLeadsThroughAreFollowedUpToTheirMaximum) {
    folder_.write("a.txt", "a");
    const auto watches_for = [&](const std::string& name, const std::string& target) {
        folder_.link(name, target);
        server_.reset();
        const int before = script.watches;
        EXPECT_EQ(next("/" + name), "a");
        return script.watches - before;
    };
    const auto dots = [](int count) {
        std::string target;
        for (int i = 0; i < count; ++i) target += i % 2 == 0 ? "./" : "/";
        return target + "a.txt";
    };
    const int direct = watches_for("direct", "a.txt");
    EXPECT_EQ(watches_for("longest", dots(62)), direct);
    EXPECT_EQ(watches_for("longer", dots(63)), direct - 1);
}

TEST_F(FileWatchTest, ALinkThatChangesOftenUsesUpNoMoreThanOne) {
    options_.watch.watches_max = 20;
    for (const char* name : {"one", "two"}) folder_.write(std::string(name) + "/a.txt", name);
    folder_.link("current", "one");
    for (int i = 0; i < 60; ++i) {
        const std::string name = i % 2 == 0 ? "one" : "two";
        EXPECT_EQ(next("/current/a.txt"), name) << i;
        folder_.link("next", i % 2 == 0 ? "two" : "one");
        rename("next", "current");
    }
    for (int i = 0; i < 30; ++i) {
        script.loses = true;
        folder_.write("one/a.txt", std::to_string(i));
        EXPECT_EQ(next("/current/a.txt"), std::to_string(i));
    }
    folder_.write("one/a.txt", "seen");
    EXPECT_EQ(next("/current/a.txt"), "seen");
}

// All but its folder's watch failed. It gets them with the next release.
TEST_F(FileWatchTest, ALinkThatCouldNotBeFollowedIsFollowedOnceItIsReplaced) {
    for (const char* name : {"1", "2"}) folder_.write("releases/" + std::string(name) + "/a", name);
    folder_.link("current", "releases/1");
    next("/");
    script.watches_max = script.watches + 1;
    EXPECT_EQ(next("/current/a"), "1");
    script.watches_max = 1 << 20;
    folder_.link("next", "releases/2");
    rename("next", "current");
    EXPECT_EQ(next("/current/a"), "2");
    rename("releases", "gone");
    EXPECT_EQ(next("/current/a"), "404");
}

// Requests never name it: only the parts of the link that leads through it show a change.
TEST_F(FileWatchTest, AHiddenLinkThatChangesOftenIsFollowedEachTime) {
    options_.watch.watches_max = 20;
    for (const char* name : {"one", "two"}) folder_.write(".." + std::string(name) + "/a", name);
    folder_.link("..data", "..one");
    folder_.link("a", "..data/a");
    next("/a");
    const std::size_t watches = server().watch()->watches();
    for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(next("/a"), i % 2 == 0 ? "one" : "two") << i;
        folder_.link("..next", i % 2 == 0 ? "..two" : "..one");
        rename("..next", "..data");
    }
    EXPECT_EQ(next("/a"), "one");
    EXPECT_EQ(script.watched.size(), watches);
    EXPECT_EQ(server().watch()->watches(), watches)
        << "names that it leads through no more are forgotten";
    folder_.write("..one/a", "in place");
    EXPECT_EQ(next("/a"), "in place");
}

TEST_F(FileWatchTest, NoMoreNoticesASecondThanAreAllowedAreTakenAsTheyCome) {
    options_.watch.takes_per_second_max = 10;
    folder_.write("log", "");
    next("/log");
    for (int second = 0; second < 3; ++second) {
        pass(1s);
        for (int i = 0; i < 7; ++i) {
            script.takes = 0;
            folder_.write("log", std::to_string(i));
            for (int turns = 0; turns < 1'000 && script.takes == 0; ++turns) loop_->turn(1ms);
            ASSERT_GT(script.takes, 0) << "in second " << second;
        }
    }
}

}  // namespace
}  // namespace tiderace::http::files
