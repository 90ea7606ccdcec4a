// The content of the cache, and that it never answers with a wrong length, a mixture or another
// file's bytes.
#include "tiderace/http/files/file_cache.h"

#include "tiderace/testing/static_site.h"

namespace tiderace::http::files {
namespace {

class FileCacheTest : public testing::StaticSite {
  protected:
    const FileCache& cache() { return server().cache(); }
    std::size_t calls_of(std::string_view target) {
        kernel_.reset();
        get(target);
        return kernel_.calls();
    }
    // An answer is one state of the file as a whole, with the right length, or is broken off.
    void expect_one_of(testing::RecordedExchange& answer, std::vector<std::string> states) {
        answer.finish();
        if (answer.broken()) return;
        EXPECT_EQ(answer.status(), 200);
        EXPECT_THAT(states, ::testing::Contains(answer.body()));
        EXPECT_EQ(answer.content_length(), static_cast<std::int64_t>(answer.body().size()));
    }
};

TEST_F(FileCacheTest, AHitAsksTheKernelNothing) {
    folder_.write("a.txt", "small");
    folder_.write("docs/index.html", "docs");
    for (const char* path : {"/a.txt", "/docs/", "/docs", "/absent", "/.hidden"}) {
        get(path);
        EXPECT_EQ(calls_of(path), 0U) << path;
    }
}

TEST_F(FileCacheTest, AfterASecondItLooksAgainAndReadsOnlyWhatChanged) {
    folder_.write("a.txt", "first");
    get("/a.txt");
    pass(3s);  // settled
    get("/a.txt");
    pass(999ms);
    EXPECT_EQ(calls_of("/a.txt"), 0U);
    pass(1ms);
    EXPECT_EQ(calls_of("/a.txt"), 5U) << "open and status, and three siblings that are not there";
    folder_.replace("a.txt", "second");
    pass(1s);
    EXPECT_EQ(get("/a.txt").body(), "second");
    EXPECT_EQ(cache().counters().changed, 1U);
}

TEST_F(FileCacheTest, WhatWasAbsentIsSeenASecondLater) {
    EXPECT_EQ(get("/a.txt").status(), 404);
    folder_.write("a.txt", "now");
    pass(1s);
    EXPECT_EQ(get("/a.txt").body(), "now");
    folder_.remove("a.txt");
    pass(1s);
    EXPECT_EQ(get("/a.txt").status(), 404);
    folder_.make_folder("a.txt");
    pass(1s);
    EXPECT_EQ(get("/a.txt").status(), 301);
}

TEST_F(FileCacheTest, SiblingsComeAndGo) {
    folder_.write("a.txt", "plain");
    const Fields gzip = {{"Accept-Encoding", "gzip"}};
    EXPECT_EQ(get("/a.txt", gzip).body(), "plain");
    folder_.write("a.txt.gz", "packed");
    pass(1s);
    EXPECT_EQ(get("/a.txt", gzip).body(), "packed");
    folder_.remove("a.txt.gz");
    pass(1s);
    EXPECT_EQ(get("/a.txt", gzip).body(), "plain");
    EXPECT_FALSE(exchange_->has("Vary"));
}

// A change within one tick of the file system's clock has the same times and, here, the same size.
TEST_F(FileCacheTest, AFileThatJustChangedIsReadAgainThoughItLooksTheSame) {
    clock_.set_unix(::time(nullptr));
    pass(1s);
    folder_.write("a.txt", "first");
    folder_.set_time("a.txt", 784'111'777);
    EXPECT_EQ(get("/a.txt").body(), "first");
    kernel_.reset();
    pass(1s);
    get("/a.txt");
    EXPECT_GT(kernel_.calls(), 5U) << "it is read again, not only looked at";
}

TEST_F(FileCacheTest, EveryRaceWhileItIsLoadedEndsInOneState) {
    const std::string old_state(5000, 'o'), new_state(7000, 'n');
    struct Race {
        const char* name;
        std::function<void()> happens;
        std::vector<std::string> states;
    };
    const Race races[] = {
        {"replaced", [&] { folder_.replace("a.bin", new_state); }, {old_state, new_state}},
        // Sent from its descriptor, what is written in place shows, at the promised length.
        {"written in place",
         [&] { folder_.write("a.bin", new_state); },
         {old_state, new_state, new_state.substr(0, old_state.size())}},
        {"cut short",
         [&] { folder_.truncate("a.bin", 100); },
         {old_state, old_state.substr(0, 100)}},
        {"emptied", [&] { folder_.truncate("a.bin", 0); }, {old_state, ""}},
        {"grown",
         [&] { folder_.write("a.bin", old_state + new_state); },
         {old_state, old_state + new_state}},
        {"deleted", [&] { folder_.remove("a.bin"); }, {old_state}},
    };
    for (const std::uint64_t eager : {0, 65536}) {
        options_.cache.sendfile_bytes_min = eager;
        for (const Race& race : races) {
            for (std::size_t call = 1; call <= 12; ++call) {
                SCOPED_TRACE(std::string(race.name) + " before call " + std::to_string(call));
                folder_.replace("a.bin", old_state);
                server_.reset();
                kernel_.before(call, race.happens);
                server();
                auto& answer = ask("GET", "/a.bin");
                if (answer.status() == 404) {  // deleted before it was opened
                    EXPECT_STREQ(race.name, "deleted");
                    continue;
                }
                expect_one_of(answer, race.states);
                // The cache holds the last state.
                kernel_.reset();
                pass(1s);
                auto& later = get("/a.bin");
                if (later.status() == 200) {
                    expect_one_of(later, race.states);
                    const std::string body = later.body();
                    EXPECT_EQ(body, get("/a.bin").body());
                }
            }
        }
    }
}

TEST_F(FileCacheTest, ChangesBetweenLookUpAndSendingNeverMixFiles) {
    const std::string old_state(300'000, 'o'), new_state(400'000, 'n');
    struct Change {
        std::function<void()> happens;
        bool may_break;
    };
    const Change changes[] = {
        {[&] { folder_.replace("big.bin", new_state); }, false},
        {[&] { folder_.remove("big.bin"); }, false},
        {[&] { folder_.truncate("big.bin", 10); }, true},
    };
    for (const Change& change : changes) {
        folder_.replace("big.bin", old_state);
        server_.reset();
        auto& answer = ask("GET", "/big.bin");  // its descriptor is queued, no byte is read
        change.happens();
        EXPECT_EQ(answer.finish(), !change.may_break);
        if (change.may_break) continue;
        EXPECT_EQ(answer.body(), old_state);
    }
}

TEST_F(FileCacheTest, ALargeFileGoesIntoMemoryWhenItIsHot) {
    const std::string bytes(300'000, 'x');
    folder_.write("big.bin", bytes);
    get("/big.bin");
    EXPECT_EQ(cache().descriptors(), 1U);
    get("/big.bin");
    EXPECT_EQ(cache().descriptors(), 1U);
    EXPECT_EQ(get("/big.bin").body(), bytes);
    EXPECT_EQ(cache().descriptors(), 0U);
    EXPECT_GT(cache().bytes(), bytes.size());
    EXPECT_EQ(calls_of("/big.bin"), 0U);
}

TEST_F(FileCacheTest, ALargeFileAskedForNowAndThenStaysOnDisk) {
    folder_.write("big.bin", std::string(300'000, 'x'));
    for (int i = 0; i < 10; ++i) {
        get("/big.bin");
        pass(6s);
    }
    EXPECT_EQ(cache().descriptors(), 1U);
}

TEST_F(FileCacheTest, AHitAtTheEndOfItsWindowIsTheFirstOfTheNext) {
    options_.cache.revalidate = 24h;
    for (const Duration late : {Duration(1ms), Duration::zero()}) {
        server_.reset();
        folder_.replace("big.bin", std::string(300'000, 'x'));
        get("/big.bin");
        get("/big.bin");
        pass(options_.cache.hot_window - late);
        get("/big.bin");
        EXPECT_EQ(cache().descriptors(), late > Duration::zero() ? 0U : 1U) << late / 1ms;
    }
    get("/big.bin");
    EXPECT_EQ(cache().descriptors(), 1U) << "the second of that window";
    get("/big.bin");
    EXPECT_EQ(cache().descriptors(), 0U) << "in that window it is hot";
}

TEST_F(FileCacheTest, AFileBeyondTheLimitOrHalfOfTheRoomIsNeverInMemory) {
    for (const std::size_t most : {100'000, 200'000}) {
        options_.cache.memory_file_bytes_max = most == 100'000 ? most : 4_MiB;
        options_.cache.bytes_max = 400'000;
        for (const std::size_t bytes : {most, most + 1}) {
            server_.reset();
            folder_.replace("big.bin", std::string(bytes, 'x'));
            for (int i = 0; i < 10; ++i) get("/big.bin");
            EXPECT_EQ(cache().descriptors(), bytes > most ? 1U : 0U);
            EXPECT_EQ(cache().bytes() < 10'000U, bytes > most);
        }
    }
}

// One below it was only not in the page cache; one of its size has to be hot first.
TEST_F(FileCacheTest, AFileOfTheSizeThatIsSentFromItsDescriptorHasToBeHot) {
    folder_.write("big.bin", std::string(options_.cache.sendfile_bytes_min, 'x'));
    for (int i = 1; i <= options_.cache.hot_requests; ++i) {
        get("/big.bin");
        EXPECT_EQ(cache().descriptors(), i < options_.cache.hot_requests ? 1U : 0U) << i;
    }
}

TEST_F(FileCacheTest, RequestsBeforeAndAfterALookAtTheDiskMakeItHotTogether) {
    folder_.write("big.bin", std::string(300'000, 'x'));
    for (int i = 1; i <= options_.cache.hot_requests; ++i) {
        get("/big.bin");
        EXPECT_EQ(cache().descriptors(), i < options_.cache.hot_requests ? 1U : 0U) << i;
        pass(1s);
    }
    // Another file of that name begins anew.
    folder_.replace("big.bin", std::string(300'000, 'y'));
    for (int i = 1; i < options_.cache.hot_requests; ++i) {
        pass(1s);
        get("/big.bin");
        EXPECT_EQ(cache().descriptors(), 1U) << i;
    }
}

// A failed attempt is not made again with each request.
TEST_F(FileCacheTest, AHotFileThatCannotBeReadNowHasToBecomeHotAgain) {
    folder_.write("big.bin", std::string(300'000, 'x'));
    for (int i = 1; i < options_.cache.hot_requests; ++i) get("/big.bin");
    kernel_.fail_at(1, EAGAIN);  // the disk would have to be waited for
    EXPECT_EQ(get("/big.bin").body().size(), 300'000U);
    kernel_.reset();
    for (int i = 1; i <= options_.cache.hot_requests; ++i) {
        EXPECT_EQ(cache().descriptors(), 1U) << i;
        get("/big.bin");
    }
    EXPECT_EQ(cache().descriptors(), 0U);
}

// It was the file's last moment in its old state: the next request reads the disk.
TEST_F(FileCacheTest, AHotFileThatWasWrittenMeanwhileIsReadAtTheNextRequest) {
    folder_.write("big.bin", std::string(300'000, 'o'));
    for (int i = 1; i < options_.cache.hot_requests; ++i) get("/big.bin");
    const std::string old_tag = exchange_->header("ETag");
    bool happened = false;
    kernel_.before(1, [&] {
        folder_.write("big.bin", std::string(300'000, 'n'));
        happened = true;
    });
    get("/big.bin");
    ASSERT_TRUE(happened);
    kernel_.reset();
    EXPECT_NE(get("/big.bin").header("ETag"), old_tag);
    EXPECT_EQ(exchange_->body(), std::string(300'000, 'n'));
    EXPECT_EQ(cache().counters().changed, 1U);
}

TEST_F(FileCacheTest, CountsHitsMissesAndLooks) {
    folder_.write("a.txt", "a");
    get("/a.txt");
    get("/a.txt");
    get("/a.txt");
    get("/absent");
    pass(1s);
    get("/a.txt");
    EXPECT_EQ(cache().counters().misses, 2U);
    EXPECT_EQ(cache().counters().hits, 2U);
    EXPECT_EQ(cache().counters().revalidated, 1U);
    EXPECT_EQ(cache().counters().changed, 0U);
    EXPECT_EQ(cache().counters().evicted, 0U);
}

TEST_F(FileCacheTest, AHotFileThatChangedMeanwhileIsNotMixed) {
    const std::string old_state(300'000, 'o'), new_state(300'000, 'n');
    for (std::size_t call = 1; call <= 4; ++call) {
        server_.reset();
        folder_.replace("big.bin", old_state);
        get("/big.bin");
        get("/big.bin");
        kernel_.before(call, [&] { folder_.write("big.bin", new_state); });
        auto& answer = ask("GET", "/big.bin");
        answer.finish();
        if (!answer.broken()) {
            EXPECT_THAT(answer.body(), ::testing::AnyOf(old_state, new_state)) << call;
        }
        kernel_.reset();
        pass(1s);
        const std::string later = get("/big.bin").body();
        EXPECT_THAT(later, ::testing::AnyOf(old_state, new_state)) << call;
    }
}

TEST_F(FileCacheTest, ItsBoundsHold) {
    options_.cache.bytes_max = 200'000;
    options_.cache.descriptors_max = 3;
    options_.cache.missing_max = 10;
    for (int i = 0; i < 50; ++i) {
        const std::string number = std::to_string(i);
        folder_.write("small" + number, std::string(20'000, 's'));
        folder_.write("big" + number, std::string(100'000, 'b'));
    }
    for (int i = 0; i < 50; ++i) {
        const std::string number = std::to_string(i);
        EXPECT_EQ(get("/small" + number).body().size(), 20'000U);
        EXPECT_EQ(get("/big" + number).body().size(), 100'000U);
        EXPECT_EQ(get("/none" + number).status(), 404);
        EXPECT_LE(cache().bytes(), 200'000U);
        EXPECT_LE(cache().descriptors(), 3U);
        EXPECT_LE(kernel_.open_files(), 4);
    }
    EXPECT_GT(cache().counters().evicted, 0U);
}

TEST_F(FileCacheTest, ItIsFilledToItsBoundsAndNoFurther) {
    const auto fill = [&] {
        for (const char* name : {"/a", "/b"}) get(name);        // in memory
        for (const char* name : {"/big1", "/big2"}) get(name);  // from their descriptors
        for (const char* name : {"/none1", "/none2"}) get(name);
    };
    for (const char* name : {"a", "b"}) folder_.write(name, std::string(1'000, 's'));
    for (const char* name : {"big1", "big2"}) folder_.write(name, std::string(100'000, 'b'));
    fill();
    const std::size_t all = cache().bytes();
    EXPECT_EQ(cache().paths(), 6U);
    const FileCacheLimits enough = options_.cache;
    struct Case {
        std::size_t bytes, descriptors, missing;
        std::uint64_t evicted;
    };
    for (const Case& each :
         {Case{all, 2, 2, 0}, {all - 1, 2, 2, 1}, {all, 1, 2, 1}, {all, 2, 1, 1}}) {
        options_.cache = enough;
        options_.cache.bytes_max = each.bytes;
        options_.cache.descriptors_max = each.descriptors;
        options_.cache.missing_max = each.missing;
        server_.reset();
        fill();
        EXPECT_EQ(cache().counters().evicted, each.evicted);
        EXPECT_EQ(cache().paths(), 6 - each.evicted);
    }
}

TEST_F(FileCacheTest, TheLeastRecentlyUsedGoesFirst) {
    options_.cache.bytes_max = 100'000;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        folder_.write(name, std::string(30'000, *name));
    }
    get("/a");
    get("/b");
    get("/a");
    get("/c");
    get("/d");  // b goes
    EXPECT_EQ(calls_of("/a"), 0U);
    EXPECT_GT(calls_of("/b"), 0U);
}

TEST_F(FileCacheTest, AnAnswerOutlivesWhatTheCacheForgets) {
    options_.cache.bytes_max = 100'000;
    folder_.write("a.bin", std::string(40'000, 'a'));
    folder_.write("b.bin", std::string(40'000, 'b'));
    folder_.write("c.bin", std::string(40'000, 'c'));
    ask("GET", "/a.bin");
    const auto slow = exchange_;
    get("/b.bin");
    get("/c.bin");
    server_.reset();
    EXPECT_EQ(slow->body(), std::string(40'000, 'a'));
}

// Siblings that are sent from their descriptors are checked as their file is.
TEST_F(FileCacheTest, ASiblingWrittenOverInPlaceIsNoticedAtOnce) {
    folder_.write("a.txt", "plain");
    folder_.write("a.txt.gz", std::string(200'000, 'p'));
    const Fields gzip = {{"Accept-Encoding", "gzip"}};
    EXPECT_EQ(get("/a.txt", gzip).body().size(), 200'000U);
    folder_.write("a.txt.gz", std::string(150'000, 'q'));
    pass(1ms);
    EXPECT_EQ(get("/a.txt", gzip).body(), std::string(150'000, 'q'));
    EXPECT_EQ(exchange_->content_length(), 150'000);
}

TEST_F(FileCacheTest, AFailureIsNotKept) {
    folder_.write("a.txt", "here");
    kernel_.fail_at(1, EMFILE);
    EXPECT_EQ(get("/a.txt").status(), 503);
    EXPECT_EQ(cache().paths(), 0U);
    EXPECT_EQ(get("/a.txt").body(), "here");
    // A failure that says nothing about a known file is not kept either.
    pass(1s);
    kernel_.fail_at(1, EIO);
    EXPECT_EQ(get("/a.txt").status(), 500);
    EXPECT_EQ(get("/a.txt").body(), "here");
}

TEST_F(FileCacheTest, WhereDescriptorsRunOutThoseThatNobodyIsSentAreGivenUp) {
    for (const char* name : {"a", "b", "c", "new"}) folder_.write(name, std::string(100'000, 'x'));
    get("/a");
    get("/b");
    ask("GET", "/c");
    const auto slow = exchange_;
    EXPECT_EQ(cache().descriptors(), 3U);
    kernel_.fail_at(1, EMFILE);
    EXPECT_EQ(get("/new").status(), 200);
    EXPECT_EQ(cache().counters().evicted, 2U);
    EXPECT_EQ(cache().descriptors(), 2U) << "of /c, which is being sent, and /new";
    EXPECT_EQ(slow->body().size(), 100'000U);
}

TEST_F(FileCacheTest, WhereDescriptorsRunOutASiblingThatIsBeingSentKeepsItsFile) {
    for (const char* name : {"a", "a.gz", "new"}) folder_.write(name, std::string(100'000, 'x'));
    ask("GET", "/a", {{"Accept-Encoding", "gzip"}});
    const auto slow = exchange_;
    ASSERT_EQ(slow->header("Content-Encoding"), "gzip");
    EXPECT_EQ(cache().descriptors(), 2U);
    kernel_.fail_at(1, EMFILE);
    EXPECT_EQ(get("/new").status(), 503) << "there was none to give up";
    EXPECT_EQ(cache().counters().evicted, 0U);
    EXPECT_EQ(cache().descriptors(), 2U);
    slow->finish();
    kernel_.fail_at(1, EMFILE);
    EXPECT_EQ(get("/new").status(), 200);
    EXPECT_EQ(cache().counters().evicted, 1U);
    EXPECT_EQ(cache().descriptors(), 1U);
}

// It is what the answer will be made of.
TEST_F(FileCacheTest, WhereDescriptorsRunOutTheOneThatIsAskedForIsKept) {
    folder_.write("a", std::string(100'000, 'x'));
    get("/a");
    pass(1s);
    kernel_.fail_at(2, EMFILE);  // behind the look at the open one: that at the disk
    EXPECT_EQ(get("/a").status(), 200);
    EXPECT_EQ(cache().counters().evicted, 0U);
    EXPECT_EQ(cache().descriptors(), 1U);
    EXPECT_EQ(cache().paths(), 1U);
    kernel_.reset();
    ask("GET", "/a");
    EXPECT_EQ(kernel_.calls(), 0U) << "nor is the disk asked again at once";
}

// Both are measured by what they add: names and bytes.
TEST_F(FileCacheTest, ItsBytesAreThoseOfTheNamesAndOfTheFilesInMemory) {
    folder_.write("a", "");
    folder_.write("b", std::string(1'000, 'b'));
    folder_.write("c", std::string(100'000, 'c'));
    folder_.write("d/index.html", "");
    const auto added_by = [&](const std::string& path) {
        const std::size_t before = cache().bytes();
        get(path);
        return cache().bytes() - before;
    };
    const std::size_t none = added_by("/z");
    EXPECT_EQ(added_by("/" + std::string(50, 'z')), none + 49);
    EXPECT_EQ(added_by("/a"), none + sizeof(CachedFile));
    EXPECT_EQ(added_by("/b"), none + sizeof(CachedFile) + 1'000);
    EXPECT_EQ(added_by("/c"), none + sizeof(CachedFile)) << "it is not in memory";
    const std::string alias = "/d/", target = "/d/index.html";
    EXPECT_EQ(added_by(alias), none + alias.size() - 2 + target.size() + none + target.size() - 2 +
                                   sizeof(CachedFile));
}

// A shortage that ends. Any other fault says something about the file.
TEST_F(FileCacheTest, WhatIsKnownIsServedWhereTheMachineHasTooLittle) {
    folder_.write("a.txt", "known");
    get("/a.txt");
    for (const int error : {EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR}) {
        pass(1s);
        kernel_.fail_first(100, error);
        EXPECT_EQ(get("/a.txt").body(), "known") << error;
        kernel_.reset();
        EXPECT_EQ(calls_of("/a.txt"), 0U) << "the disk is left alone until the next look";
    }
    pass(1s);
    kernel_.fail_at(1, EIO);
    EXPECT_EQ(get("/a.txt").status(), 500);
    EXPECT_EQ(get("/a.txt").body(), "known");
}

TEST_F(FileCacheTest, WithoutDescriptorsWhatIsKnownIsStillServed) {
    folder_.write("a.txt", "known");
    get("/a.txt");
    pass(1s);
    kernel_.fail_at(1, EMFILE);
    EXPECT_EQ(get("/a.txt").body(), "known");
    kernel_.fail_at(1, EMFILE);
    EXPECT_EQ(get("/b.txt").status(), 503);
    EXPECT_EQ(exchange_->header("Retry-After"), "1");
}

}  // namespace
}  // namespace tiderace::http::files
