// The store, under times that the tests hand in.
#include "examples/files/uploads.h"

#include <gtest/gtest.h>
#include <tiderace/testing.h>

#include <algorithm>
#include <barrier>
#include <fstream>
#include <iterator>
#include <thread>

namespace fs = std::filesystem;
using tiderace::http::Problem;
using tiderace::http::wire::sha256;

class UploadsTest : public testing::Test {
  protected:
    UploadsTest() { limits.disk_bytes_free_min = 0; }

    // As after a start.
    Uploads& open() {
        uploads = std::make_unique<Uploads>(folder, limits, now);
        return *uploads;
    }
    std::string begin(std::string_view name, std::uint64_t length, std::string_view client = "a") {
        return uploads->create(name, length, Uploads::Length::exact, client, now).id;
    }
    UploadState send(std::string_view id, std::uint64_t offset, std::string_view bytes) {
        const auto writer = uploads->write(id, offset, {}, now);
        writer->add(bytes, now);
        return writer->finish();
    }
    std::string content(const std::string& name) {
        std::ifstream file(folder / name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    template <typename F>
    int status_of(F call) {
        try {
            call();
        } catch (const Problem& problem) {
            return problem.status;
        }
        return 200;
    }
    std::size_t unfinished_files() {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder / ".unfinished"), {}));
    }

    tiderace::testing::TemporaryFolder temporary;
    const fs::path folder = temporary.path();
    UploadLimits limits;
    Uploads::Seconds now = 1'000'000'000;
    std::unique_ptr<Uploads> uploads;
};

TEST_F(UploadsTest, AFileAppearsWhenAllOfItIsThere) {
    open();
    const std::string id = begin("a.txt", 6);
    EXPECT_EQ(send(id, 0, "abc").offset, 3u);
    EXPECT_TRUE(uploads->files().empty());
    const UploadState state = send(id, 3, "def");
    EXPECT_EQ(state.offset, 6u);
    EXPECT_EQ(content(state.name), "abcdef");
    EXPECT_EQ(unfinished_files(), 0u);
    EXPECT_EQ(uploads->find(id).offset, 6u) << "for a client that missed the answer";
    EXPECT_EQ(status_of([&] { send(id, 6, ""); }), 409);
}

TEST_F(UploadsTest, AnEmptyFileIsCompleteAtOnce) {
    open();
    begin("empty", 0);
    ASSERT_EQ(uploads->files().size(), 1u);
    EXPECT_EQ(uploads->files()[0].bytes, 0u);
}

TEST_F(UploadsTest, AFileNeverReplacesAnother) {
    open();
    for (const auto* text : {"1", "2", "3"}) send(begin("../a.txt", 1), 0, text);
    EXPECT_EQ(content("a.txt"), "1");
    EXPECT_EQ(content("a (2).txt"), "2");
    EXPECT_EQ(content("a (3).txt"), "3");
}

TEST_F(UploadsTest, ItGoesOnWhereItStandsAndNowhereElse) {
    open();
    const std::string id = begin("a", 4);
    send(id, 0, "ab");
    EXPECT_EQ(status_of([&] { send(id, 0, "ab"); }), 409);
    EXPECT_EQ(status_of([&] { send(id, 3, "d"); }), 409);
    EXPECT_EQ(status_of([&] { send(id, 2, "cde"); }), 413) << "more than was announced";
    EXPECT_EQ(uploads->find(id).offset, 2u);
    EXPECT_EQ(status_of([&] { send("0", 0, ""); }), 404);
    send(id, 2, "cd");
    EXPECT_EQ(content("a"), "abcd");
}

TEST_F(UploadsTest, TheNewestWriterCounts) {
    open();
    const std::string id = begin("a", 4);
    const auto old = uploads->write(id, 0, {}, now);
    old->add("ab", now);
    const auto fresh = uploads->write(id, 2, {}, now);
    EXPECT_EQ(status_of([&] { old->add("cd", now); }), 423);
    EXPECT_EQ(status_of([&] { old->finish(); }), 423);
    fresh->add("cd", now);
    fresh->finish();
    EXPECT_EQ(content("a"), "abcd");
}

TEST_F(UploadsTest, WithADigestAllOfAPieceCountsOrNothing) {
    open();
    const std::string id = begin("a", 6);
    send(id, 0, "ab");
    const auto wrong = uploads->write(id, 2, sha256("cd"), now);
    wrong->add("cX", now);
    EXPECT_EQ(status_of([&] { wrong->finish(); }), 460);
    const auto broken = uploads->write(id, 2, sha256("cdef"), now);
    broken->add("cd", now);
    EXPECT_EQ(uploads->find(id).offset, 2u);
    const auto right = uploads->write(id, 2, sha256("cdef"), now);
    right->add("cd", now);
    right->add("ef", now);
    EXPECT_EQ(right->finish().offset, 6u);
    EXPECT_EQ(content("a"), "abcdef");
}

TEST_F(UploadsTest, ARestartGoesOnWithWhatIsProven) {
    open();
    const std::string plain = begin("plain", 4);
    uploads->write(plain, 0, {}, now)->add("ab", now);
    const std::string checked = begin("checked", 4);
    send(checked, 0, "a");
    uploads->write(checked, 1, sha256("bcd"), now)->add("bc", now);
    now = std::time(nullptr);  // files have real times
    open();
    EXPECT_EQ(uploads->find(plain).offset, 2u);
    EXPECT_EQ(uploads->find(plain).name, "plain");
    EXPECT_EQ(uploads->find(checked).offset, 1u) << "the digest of the rest never came";
    send(checked, 1, "xyz");
    EXPECT_EQ(content("checked"), "axyz");
}

TEST_F(UploadsTest, ARestartEndsWhatCannotGoOn) {
    open();
    uploads->create("form", 4, Uploads::Length::at_most, "a", now);
    begin("old", 4);
    std::ofstream(folder / ".unfinished" / (std::string(32, 'a') + ".json")) << "{broken";
    std::ofstream(folder / ".unfinished" / "stranger") << "not ours";
    now = std::time(nullptr) + limits.expiry + 10;
    open();
    EXPECT_EQ(unfinished_files(), 1u) << "the stranger";
}

TEST_F(UploadsTest, ARestartRemovesWhatACrashLeft) {
    open();
    const fs::path unfinished = folder / ".unfinished";
    const std::string id(32, 'a');
    const auto left = [&](const std::string& name) { return fs::exists(unfinished / name); };
    for (const std::string& name : {id, id + ".json.new", std::string("notes")}) {
        std::ofstream(unfinished / name) << "x";
    }
    now = std::time(nullptr);
    open();
    EXPECT_TRUE(left(id) && left(id + ".json.new")) << "another program may be at work on them";
    now = std::time(nullptr) + limits.expiry + 10;
    open();
    EXPECT_FALSE(left(id) || left(id + ".json.new"));
    EXPECT_TRUE(left("notes")) << "it is not ours";
}

TEST_F(UploadsTest, WhatNobodyGoesOnWithExpires) {
    open();
    const std::string id = begin("a", 4);
    EXPECT_EQ(uploads->find(id).expires, now + limits.expiry);
    now += limits.expiry;
    send(id, 0, "a");  // goes on
    now += limits.expiry;
    uploads->sweep(now);
    EXPECT_EQ(uploads->find(id).offset, 1u);
    const auto late = uploads->write(id, 1, {}, now - 10);
    uploads->sweep(now + limits.expiry + 1);
    EXPECT_EQ(status_of([&] { uploads->find(id); }), 404);
    EXPECT_EQ(status_of([&] { late->add("b", now); }), 423);
    EXPECT_EQ(unfinished_files(), 0u);
}

TEST_F(UploadsTest, APlainFormsFileMayBeShorterAndIsSoonForgotten) {
    open();
    const auto made = uploads->create("a", 100, Uploads::Length::at_most, "a", now);
    const auto writer = uploads->write(made.id, 0, {}, now);
    writer->add("short", now);
    EXPECT_EQ(writer->finish().length, 5u);
    EXPECT_EQ(content("a"), "short");
    const auto left = uploads->create("b", 100, Uploads::Length::at_most, "a", now);
    uploads->sweep(now + limits.form_expiry + 1);
    EXPECT_EQ(status_of([&] { uploads->find(left.id); }), 404);
}

TEST_F(UploadsTest, EachAndAllHaveABound) {
    limits.file_bytes_max = 100;
    limits.all_bytes_max = 250;
    limits.unfinished_each_max = 2;
    limits.unfinished_max = 3;
    open();
    EXPECT_EQ(status_of([&] { begin("a", 101); }), 413);
    const std::string first = begin("a", 100);
    begin("b", 1);
    EXPECT_EQ(status_of([&] { begin("c", 1); }), 429) << "of one client";
    const std::string second = begin("b", 100, "other");
    EXPECT_EQ(status_of([&] { begin("c", 50, "third"); }), 507) << "announced bytes count";
    EXPECT_EQ(status_of([&] { begin("c", 1, "third"); }), 507) << "too many under way";
    send(first, 0, std::string(100, 'x'));
    EXPECT_EQ(status_of([&] { begin("c", 50, "third"); }), 507) << "and so do files";
    uploads->remove(second);
    begin("c", 50, "third");
    EXPECT_EQ(uploads->room(now), 99u);
    uploads->remove_file("a");
    EXPECT_EQ(uploads->room(now), 199u);
}

// Five announcements of one client took all room for a day.
TEST_F(UploadsTest, AnnouncementsOfOneClientLeaveRoomForOthers) {
    limits.file_bytes_max = 100;
    limits.all_bytes_max = 300;
    open();
    begin("a", 100);
    EXPECT_EQ(status_of([&] { begin("b", 51); }), 429);
    begin("b", 50);
    EXPECT_EQ(status_of([&] { begin("c", 1); }), 429);
    begin("d", 100, "other");
    EXPECT_EQ(status_of([&] { begin("e", 51, "third"); }), 507);
    begin("e", 50, "third");
}

TEST_F(UploadsTest, ASingleFileMayNeedAllRoom) {
    limits.all_bytes_max = 100;
    open();
    begin("a", 100);
}

TEST_F(UploadsTest, WithoutAnAddressThereAreNoShares) {
    limits.all_bytes_max = 100;
    limits.unfinished_each_max = 2;
    open();
    for (const int each : {1, 2, 3, 4}) begin(std::to_string(each), 25, "");
}

TEST_F(UploadsTest, WhatIsIdleKeepsItsBytesAndReservesNothing) {
    limits.all_bytes_max = 100;
    open();
    const std::string slow = begin("a", 60);
    send(slow, 0, "0123456789");
    now += limits.idle;
    EXPECT_EQ(uploads->room(now), 40u);
    ++now;
    EXPECT_EQ(uploads->room(now), 90u) << "the bytes that came have their room";
    // Requests without bytes do not hold it.
    send(slow, 10, "");
    EXPECT_EQ(uploads->room(now), 90u);
    const std::string other = begin("b", 80, "other");
    EXPECT_EQ(status_of([&] { send(slow, 10, "1"); }), 507);
    EXPECT_EQ(uploads->find(slow).offset, 10u);
    uploads->remove(other);
    send(slow, 10, std::string(50, 'x'));
    EXPECT_EQ(content("a").size(), 60u);
}

// Otherwise a client would get all room by uploads that it lets rest in turn.
TEST_F(UploadsTest, WhatGoesOnHasToFitIntoTheShareOfItsClient) {
    limits.all_bytes_max = 100;
    open();
    const std::string first = begin("a", 40);
    send(first, 0, "1");
    now += limits.idle + 1;
    const std::string second = begin("b", 40);
    EXPECT_EQ(status_of([&] { send(first, 1, "2"); }), 429);
    uploads->remove(second);
    send(first, 1, "2");
    uploads->remove(first);
    // A single one may have more.
    const std::string large = begin("c", 90);
    send(large, 0, "1");
    now += limits.idle + 1;
    send(large, 1, "2");
}

// A request that stood still for long, and goes on.
TEST_F(UploadsTest, AWriterThatWasIdleReservesAgain) {
    limits.all_bytes_max = 100;
    open();
    const std::string slow = begin("a", 60);
    const auto writer = uploads->write(slow, 0, {}, now);
    writer->add("0123456789", now);
    now += limits.idle + 1;
    const std::string other = begin("b", 80, "other");
    EXPECT_EQ(status_of([&] { writer->add("1", now); }), 507);
    uploads->remove(other);
    writer->add("1", now);
    EXPECT_EQ(uploads->room(now), 40u);
}

TEST_F(UploadsTest, AnIdleUploadGivesItsPlaceToANewcomer) {
    limits.unfinished_max = 3;
    std::vector<std::string> lines;
    uploads = std::make_unique<Uploads>(folder, limits, now,
                                        [&](const std::string& line) { lines.push_back(line); });
    const auto is_there = [&](const std::string& id) {
        return status_of([&] { uploads->find(id); }) == 200;
    };
    const std::string kept = begin("a", 4, "one");
    send(kept, 0, "ab");
    const std::string hog = begin("b", 4, "hog");
    send(hog, 0, "ab");
    const std::string empty = begin("c", 4, "hog");
    EXPECT_EQ(status_of([&] { begin("d", 4, "other"); }), 507) << "none is idle";
    now += limits.idle + 1;
    const std::string first = begin("d", 4, "other");
    EXPECT_FALSE(is_there(empty)) << "no byte came";
    send(first, 0, "a");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0], "gave up an upload of hog for another: 0 of 4 bytes came, none for 61 s");
    const std::string second = begin("e", 4, "other");
    send(second, 0, "a");
    EXPECT_NE(is_there(kept), is_there(hog)) << "the longest idle one";
    EXPECT_TRUE(is_there(first));
    EXPECT_EQ(status_of([&] { begin("f", std::uint64_t{1} << 62, "other"); }), 413);
    EXPECT_TRUE(is_there(kept) || is_there(hog)) << "none goes for one that is refused";
    EXPECT_EQ(lines.size(), 2u);
}

TEST_F(UploadsTest, WhoHasMostGivesUpFirst) {
    limits.unfinished_max = 4;
    open();
    const std::string kept = begin("a", 4, "one");
    send(kept, 0, "ab");
    now += 10;
    std::vector<std::string> hogs;
    for (int i = 0; i < 3; ++i) {
        hogs.push_back(begin("b", 4, "hog"));
        send(hogs.back(), 0, "ab");
    }
    now += limits.idle + 1;
    send(begin("c", 4, "other"), 0, "a");
    EXPECT_EQ(uploads->find(kept).offset, 2u) << "the longest idle one, and its client's only one";
}

TEST_F(UploadsTest, ARestartKnowsWhoseUploadsTheyAre) {
    limits.unfinished_each_max = 1;
    open();
    begin("a", 4);
    now = std::time(nullptr);
    open();
    EXPECT_EQ(status_of([&] { begin("b", 4); }), 429);
    begin("b", 4, "other");
}

TEST_F(UploadsTest, TheDiskKeepsSomeRoom) {
    open();
    const std::string id = begin("a", 4);
    limits.disk_bytes_free_min = std::uint64_t{1} << 62;
    now = std::time(nullptr);
    open();
    EXPECT_EQ(uploads->room(now), 0u);
    EXPECT_EQ(status_of([&] { begin("b", 1); }), 507);
    EXPECT_EQ(status_of([&] { send(id, 0, "abcd"); }), 507) << "it may have filled meanwhile";
}

TEST_F(UploadsTest, FinishedOnesAreRememberedUpToABound) {
    limits.finished_max = 2;
    open();
    std::vector<std::string> ids;
    for (int i = 0; i < 5; ++i) {
        ids.push_back(begin("a", 1));
        now += 1;
        send(ids.back(), 0, "x");
    }
    EXPECT_EQ(status_of([&] { uploads->find(ids[0]); }), 404);
    EXPECT_EQ(uploads->find(ids[4]).offset, 1u);
}

TEST_F(UploadsTest, OfTwoThatRemoveAFileAtOnceOneFindsNone) {
    open();
    for (int round = 0; round < 200; ++round) {
        std::ofstream(folder / "a") << "x";
        std::barrier both(2);
        int status = 0;
        const auto remove = [&](int& result) {
            both.arrive_and_wait();
            try {
                result = status_of([&] { uploads->remove_file("a"); });
            } catch (const std::exception&) {
                result = 500;
            }
        };
        std::thread other([&] { remove(status); });
        int mine = 0;
        remove(mine);
        other.join();
        ASSERT_EQ(std::min(mine, status), 200);
        ASSERT_EQ(std::max(mine, status), 404);
    }
    EXPECT_EQ(status_of([&] { uploads->remove_file(std::string(300, 'a')); }), 404) << "too long";
}

TEST_F(UploadsTest, AFolderThatCannotBeListedIsNamed) {
    open();
    fs::remove_all(folder);
    try {
        uploads->files();
        FAIL() << "it is not there";
    } catch (const fs::filesystem_error& error) {
        EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
        EXPECT_NE(std::string(error.what()).find("cannot list"), std::string::npos) << error.what();
        EXPECT_EQ(error.path1(), folder);
    }
}

TEST_F(UploadsTest, OnlyFilesOfTheFolderAreRemoved) {
    open();
    send(begin("a", 1), 0, "x");
    std::ofstream(folder / ".secret") << "x";
    fs::create_symlink("/etc/passwd", folder / "link");
    fs::create_directory(folder / "sub");
    for (const auto* name : {"", ".secret", ".unfinished", "../a", "sub", "link", "b", ".", ".."}) {
        EXPECT_EQ(status_of([&] { uploads->remove_file(name); }), 404) << name;
    }
    ASSERT_EQ(uploads->files().size(), 1u);
    uploads->remove_file("a");
    EXPECT_TRUE(uploads->files().empty());
}
