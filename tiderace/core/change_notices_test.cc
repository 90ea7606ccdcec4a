#include "tiderace/core/change_notices.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tiderace/core/kernel.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::core {
namespace {

using NoticeKind = ChangeNotice::Kind;

class ChangeNoticesTest : public ::testing::Test {
  protected:
    int watch(const std::string& name, std::string_view only_entry = {}) {
        const Descriptor open(system_kernel(), ::open(folder_.path_of(name).c_str(), O_RDONLY));
        const auto id = notices_->watch(open.get(), only_entry);
        EXPECT_TRUE(id);
        return id ? *id : -1;
    }
    // Whether `take()` has a notice like this; with nothing but directories, names may be unknown.
    static bool has(const std::vector<ChangeNotice>& notices, int id, NoticeKind kind,
                    std::string_view name, bool names) {
        return std::ranges::any_of(notices, [&](const ChangeNotice& each) {
            return each.id == id && each.kind == kind && (!names || each.name == name);
        });
    }
    // Whether a loop that waits for notices is woken.
    bool wakes() const {
        pollfd asked{.fd = notices_->descriptor(), .events = POLLIN, .revents = 0};
        return ::poll(&asked, 1, 0) == 1;
    }
    bool names() const { return notices_->reports_names(); }

    testing::TemporaryFolder folder_;
    std::unique_ptr<ChangeNotices> notices_ = std::move(*open_change_notices());
};

TEST_F(ChangeNoticesTest, EntriesThatComeGoAndAreRenamedAreReported) {
    folder_.write("a.txt", "a");
    const int id = watch(".");
    EXPECT_THAT(notices_->take(), ::testing::IsEmpty());
    folder_.write("b.txt", "b");
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "b.txt", names()));
    folder_.remove("b.txt");
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "b.txt", names()));
    folder_.replace("a.txt", "another");
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "a.txt", names()));
    EXPECT_THAT(notices_->take(), ::testing::IsEmpty());
}

TEST_F(ChangeNoticesTest, ContentThatIsWrittenOverInPlaceIsReported) {
    folder_.write("a.txt", "a");
    const int id = names() ? watch(".") : watch("a.txt");
    folder_.write("a.txt", "b");
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::content, "a.txt", names()));
    folder_.truncate("a.txt", 0);
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::content, "a.txt", names()));
}

TEST_F(ChangeNoticesTest, WhatIsWatchedMayMoveAndEnd) {
    folder_.make_folder("dir");
    const int id = watch("dir");
    EXPECT_EQ(watch("dir"), id) << "watched already";
    ASSERT_EQ(std::rename(folder_.path_of("dir").c_str(), folder_.path_of("moved").c_str()), 0);
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::moved, "", names()));
    folder_.write("moved/a.txt", "still reported");
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "a.txt", names()));
    std::filesystem::remove_all(folder_.path_of("moved"));
    const auto& last = notices_->take();
    EXPECT_TRUE(has(last, id, NoticeKind::moved, "", names()));
    if (!names()) return;
    EXPECT_EQ(last.back().kind, NoticeKind::ended);
    EXPECT_EQ(last.back().id, id);
}

TEST_F(ChangeNoticesTest, WhatIsForgottenIsNotReported) {
    const int id = watch(".");
    notices_->forget(id);
    folder_.write("a.txt", "a");
    EXPECT_FALSE(has(notices_->take(), id, NoticeKind::entry, "a.txt", names()));
    notices_->forget(id);  // twice does no harm
}

#if defined(__linux__)
// The kernel's memory for it is given back: fdinfo has a line for each watch.
TEST_F(ChangeNoticesTest, WhatIsForgottenIsNotWatched) {
    const auto watches = [&] {
        std::ifstream info("/proc/self/fdinfo/" + std::to_string(notices_->descriptor()));
        int count = 0;
        for (std::string line; std::getline(info, line);) count += line.starts_with("inotify");
        return count;
    };
    const int before = watches();
    const int id = watch(".");
    EXPECT_EQ(watches(), before + 1);
    notices_->forget(id);
    EXPECT_EQ(watches(), before);
}
#endif

TEST_F(ChangeNoticesTest, OfABusyDirectoryOneEntryIsReportedAndNoContentWakesAnyone) {
    folder_.make_folder("site");
    folder_.write("log", "");
    const int id = watch(".", "site");
    folder_.write("log", "written");
    folder_.truncate("log", 0);
    folder_.set_time("log", 1'000'000'000);
    folder_.set_time("site", 1'000'000'000);
    EXPECT_FALSE(wakes());
    folder_.write("other", "");
    folder_.remove("other");
    if (names()) {
        EXPECT_THAT(notices_->take(), ::testing::IsEmpty());
    }
    const auto move = [&](const char* from, const char* to) {
        ASSERT_EQ(std::rename(folder_.path_of(from).c_str(), folder_.path_of(to).c_str()), 0);
        EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "site", names())) << from;
    };
    move("site", "old");
    move("old", "site");
    folder_.remove("site");
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "site", names()));
    folder_.link("site", "old");
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "site", names()));
}

// A directory that is watched whole reports all of it, whichever watch was the first.
TEST_F(ChangeNoticesTest, OneEntryAndTheWholeOfADirectoryAreWatchedTogether) {
    if (!names()) GTEST_SKIP() << "each entry is reported";
    for (const bool whole_first : {false, true}) {
        folder_.write("log", "");
        const int id = watch(".", whole_first ? "" : "site");
        EXPECT_EQ(watch(".", whole_first ? "site" : ""), id);
        EXPECT_EQ(watch(".", "site"), id);
        notices_->take();
        folder_.write("log", "written");
        EXPECT_TRUE(has(notices_->take(), id, NoticeKind::content, "log", true)) << whole_first;
        folder_.remove("log");
        EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "log", true)) << whole_first;
        notices_->forget(id);
    }
    // Nothing of the whole is left when only an entry is watched anew.
    const int id = watch(".", "site");
    notices_->take();
    folder_.write("log", "");
    EXPECT_THAT(notices_->take(), ::testing::IsEmpty());
    folder_.make_folder("site");
    EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, "site", true));
}

TEST_F(ChangeNoticesTest, SeveralEntriesOfOneDirectoryAreReportedHoweverManyThereAre) {
    for (const int count : {2, 16, 17, 100}) {
        int id = -1;
        for (int i = 0; i < count; ++i) id = watch(".", "e" + std::to_string(i));
        notices_->take();
        for (int i = 0; i < count; ++i) {
            const std::string name = "e" + std::to_string(i);
            folder_.write(name, "");
            EXPECT_TRUE(has(notices_->take(), id, NoticeKind::entry, name, names())) << count;
            folder_.remove(name);
        }
        notices_->forget(id);
    }
}

TEST_F(ChangeNoticesTest, AFileOfThisMachineIsNotRemote) {
    const Descriptor open(system_kernel(), ::open(folder_.path().c_str(), O_RDONLY));
    EXPECT_FALSE(is_remote(open.get()));
    EXPECT_FALSE(is_remote(-1));
}

#if defined(__linux__)
// The kernel is given the descriptor's name in /proc, so what has none there is not found.
TEST_F(ChangeNoticesTest, ADescriptorThatProcDoesNotHaveIsRefusedWithAdvice) {
    const auto id = notices_->watch(-1, {});
    ASSERT_FALSE(id);
    EXPECT_THAT(id.error().message(), ::testing::HasSubstr("mount /proc"));
}
#endif

// Too many to report one by one: then everything may have changed.
TEST_F(ChangeNoticesTest, TooManyBecomeOneThatCoversAll) {
    watch(".");
    const auto write_many = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) folder_.write("f" + std::to_string(i), "");
    };
    write_many(ChangeNotices::notices_max);
    const auto& notices = notices_->take();
    EXPECT_LE(notices.size(), ChangeNotices::notices_max);
    if (names()) {
        EXPECT_EQ(notices.size(), 1U);
        EXPECT_EQ(notices.front().kind, NoticeKind::lost);
    }
    EXPECT_THAT(notices_->take(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace tiderace::core
