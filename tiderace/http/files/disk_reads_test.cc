// A disk that makes one wait: the pool does, the loop never.
#include "tiderace/http/files/disk_reads.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "tiderace/http/handler/static_files.h"
#include "tiderace/http/stages.h"
#include "tiderace/testing/cold_disk.h"
#include "tiderace/testing/manual_clock.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::files {
namespace {

using testing::RecordedExchange;

std::string pattern(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 + i / 4096);
    return text;
}

class ColdFiles : public ::testing::Test {
  protected:
    ColdFiles() {
        clock_.set_unix(2'500'000'000);  // later than any file here was written
        core::LoopOptions options;
        options.backend.kernel = &disk_;
        options.clock = &clock_;
        loop_ = std::move(*core::EventLoop::create(options));
    }

    handler::StaticFiles& files(std::size_t threads = 2, std::size_t waiting = 16) {
        if (!files_) {
            pool_.emplace(threads, waiting);
            files_ = std::move(*handler::StaticFiles::create(
                *loop_, {.root = folder_.path(),
                         .listing = true,
                         .listings = {.sorted_max = 100},
                         .cache = {.sendfile_bytes_min = 32_KiB, .memory_file_bytes_max = 64_KiB},
                         .pool = &*pool_}));
        }
        return *files_;
    }
    void write_cold(const std::string& name, const std::string& bytes) {
        folder_.write(name, bytes);
        disk_.make_cold(folder_.path() + "/" + name);
    }
    core::Ref<RecordedExchange> ask(std::string_view target, RecordedExchange::Fields fields = {}) {
        auto exchange = core::make_ref<RecordedExchange>(*loop_, "GET", target, std::move(fields));
        files().handle(*exchange);
        return exchange;
    }
    // Lets the loop and the pool have their turns.
    void complete(RecordedExchange& exchange) {
        while (exchange.finish() && !exchange.complete()) loop_->turn(10ms);
    }
    const std::string& get(std::string_view target) {
        last_ = ask(target);
        complete(*last_);
        return last_->body();
    }

    testing::TemporaryFolder folder_;
    testing::ColdDisk disk_;
    testing::ManualClock clock_;
    std::unique_ptr<core::EventLoop> loop_;
    std::optional<core::WorkerPool> pool_;
    std::unique_ptr<handler::StaticFiles> files_;
    core::Ref<RecordedExchange> last_;
};

TEST_F(ColdFiles, AreWaitedForByThePoolWhileTheLoopAnswersOthers) {
    const std::string small = pattern(1000), middle = pattern(200'000);
    write_cold("small", small);
    write_cold("middle", middle);
    folder_.write("hot", "hot");
    disk_.set_holding(true);
    const auto one = ask("/small"), two = ask("/middle");
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(get("/hot"), "hot");
        one->finish();
        two->finish();
        loop_->turn(0s);
        EXPECT_FALSE(one->complete());
        EXPECT_FALSE(two->complete());
    }
    EXPECT_EQ(one->content_length(), 1000);
    disk_.set_holding(false);
    complete(*one);
    complete(*two);
    EXPECT_EQ(one->body(), small);
    EXPECT_EQ(two->body(), middle);
    EXPECT_EQ(disk_.other_waits(), 2);
    EXPECT_EQ(disk_.loop_waits(), 0);
}

TEST_F(ColdFiles, GoIntoMemoryOnceTheyAreNot) {
    write_cold("small", pattern(1000));
    get("/small");
    EXPECT_EQ(files().cache().descriptors(), 1U);
    get("/small");
    EXPECT_EQ(files().cache().descriptors(), 0U);
    EXPECT_EQ(get("/small"), pattern(1000));
    EXPECT_EQ(disk_.loop_waits(), 0);
}

TEST_F(ColdFiles, OfTheLeastAndTheLargestSizeAreRead) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{32_KiB} - 1}) {
        const int others_before = disk_.other_waits();
        files_.reset();
        write_cold("file", pattern(bytes));
        EXPECT_EQ(get("/file"), pattern(bytes));
        EXPECT_EQ(disk_.other_waits(), others_before + 1) << bytes;
        EXPECT_EQ(disk_.loop_waits(), 0) << bytes;
        get("/file");
        EXPECT_EQ(files().cache().descriptors(), 0U) << bytes;
    }
}

TEST_F(ColdFiles, BeyondAWindowAreLookedAtWindowByWindow) {
    const std::string large = pattern(9 * 1024 * 1024 + 5);
    write_cold("large", large);
    last_ = ask("/large");
    complete(*last_);
    EXPECT_TRUE(last_->body() == large);
    EXPECT_EQ(last_->queue_bytes_most(), DiskReads::window_bytes);
    EXPECT_EQ(disk_.other_waits(), 1);
    EXPECT_EQ(last_->content_length(), static_cast<std::int64_t>(large.size()));
    EXPECT_EQ(disk_.loop_waits(), 0);
}

TEST_F(ColdFiles, SendSeveralRangesInOrder) {
    const std::string middle = pattern(300'000);
    write_cold("middle", middle);
    last_ = ask("/middle", {{"Range", "bytes=250000-250009,5-9"}});
    complete(*last_);
    EXPECT_EQ(last_->status(), 206);
    EXPECT_EQ(last_->content_length(), static_cast<std::int64_t>(last_->body().size()));
    const std::size_t first = last_->body().find(middle.substr(250'000, 10));
    EXPECT_NE(first, std::string::npos);
    EXPECT_NE(last_->body().find(middle.substr(5, 5), first), std::string::npos);
    last_ = ask("/middle", {{"Range", "bytes=7-7"}});
    complete(*last_);
    EXPECT_EQ(last_->body(), middle.substr(7, 1));
}

TEST_F(ColdFiles, AreReadAsFarAsTheyAreSentAndNotBeyond) {
    write_cold("middle", pattern(300'000));
    last_ = ask("/middle", {{"Range", "bytes=150000-289999"}});
    complete(*last_);
    EXPECT_TRUE(last_->body() == pattern(300'000).substr(150'000, 140'000));
    EXPECT_EQ(disk_.other_bytes(), 140'000U);
}

TEST_F(ColdFiles, OneThatIsCutWhileItIsReadIsBrokenOff) {
    write_cold("middle", pattern(200'000));
    disk_.set_holding(true);
    last_ = ask("/middle");
    last_->finish();
    folder_.truncate("middle", 10);
    disk_.set_holding(false);
    while (last_->finish() && !last_->complete()) loop_->turn(10ms);
    EXPECT_TRUE(last_->broken());
}

TEST_F(ColdFiles, APeerThatGoesMeanwhileLeavesNothingBehind) {
    write_cold("middle", pattern(200'000));
    disk_.set_holding(true);
    for (int i = 0; i < 3; ++i) {
        auto gone = ask("/middle");
        gone->finish();
        gone->hang_up();
    }
    disk_.set_holding(false);
    while (pool_->counters().completed < 3) loop_->turn(10ms);
    loop_->turn(0s);
    EXPECT_EQ(get("/middle").size(), 200'000U);
    last_ = {};
    files_.reset();
    EXPECT_EQ(disk_.open_files(), 0U);
}

TEST_F(ColdFiles, TheHandlerMayEndWhileThePoolReads) {
    write_cold("middle", pattern(200'000));
    disk_.set_holding(true);
    {
        auto unfinished = ask("/middle");
        unfinished->finish();
    }
    std::thread releases([this] { disk_.set_holding(false); });
    files_.reset();
    releases.join();
    loop_->turn(0s);
    pool_.reset();
    EXPECT_EQ(disk_.open_files(), 0U);
}

TEST_F(ColdFiles, WithThePoolFullTheLoopWaitsItself) {
    files(1, 1);
    for (const char* name : {"a", "b", "c", "d"}) write_cold(name, pattern(100'000));
    disk_.set_holding(true);
    core::Ref<RecordedExchange> answers[] = {ask("/a"), ask("/b"), ask("/c"), ask("/d")};
    int complete_early = 0;
    for (auto& answer : answers) {
        answer->finish();
        complete_early += answer->complete();
    }
    EXPECT_GE(complete_early, 2);
    disk_.set_holding(false);
    for (auto& answer : answers) {
        complete(*answer);
        EXPECT_TRUE(answer->body() == pattern(100'000));
    }
}

TEST_F(ColdFiles, WhereTheSystemCannotTellTheLoopReads) {
    write_cold("small", pattern(1000));
    write_cold("middle", pattern(200'000));
    disk_.set_telling(false);
    EXPECT_EQ(get("/small"), pattern(1000));
    EXPECT_TRUE(get("/middle") == pattern(200'000));
    EXPECT_EQ(disk_.other_waits(), 0);
    EXPECT_EQ(pool_->counters().submitted, 0U);
}

// A file of a hundred pages may have its last one on the disk only.
TEST_F(ColdFiles, AreColdWhereverTheyAre) {
    const std::string text = pattern(100'000);
    for (const off_t cold_from : {off_t{0}, off_t{40'000}, off_t{99'999}}) {
        files_.reset();
        write_cold("middle", text);
        disk_.set_cold_from(cold_from);
        const int others_before = disk_.other_waits();
        EXPECT_EQ(get("/middle"), text);
        EXPECT_EQ(disk_.other_waits(), others_before + 1) << cold_from;
        EXPECT_EQ(disk_.loop_waits(), 0) << cold_from;
    }
}

TEST_F(ColdFiles, AHotFileIsLookedAtOnceASecond) {
    for (const std::size_t bytes : {std::size_t{200'000}, std::size_t{DiskReads::window_bytes}}) {
        SCOPED_TRACE(bytes);
        files_.reset();
        folder_.write("middle", pattern(bytes));
        get("/middle");
        disk_.make_cold(folder_.path() + "/middle");
        get("/middle");
        EXPECT_EQ(pool_->counters().submitted, 0U) << "it was hot within the second";
        clock_.advance(DiskReads::resident_for);
        disk_.make_cold(folder_.path() + "/middle");
        loop_->turn(0s);
        get("/middle");
        EXPECT_EQ(pool_->counters().submitted, 1U);
    }
}

TEST_F(ColdFiles, AFileThatIsHotGoesToTheConnectionAsItIs) {
    struct Form final : ResponseFilter {
        void filter(Exchange&, Response& response) override { is_source = response.has_source(); }
        bool is_source = false;
    } form;
    folder_.write("hot", pattern(200'000));
    write_cold("cold", pattern(200'000));
    folder_.write("small", pattern(1'000));
    for (const char* target : {"/hot", "/cold", "/small"}) {
        last_ = core::make_ref<RecordedExchange>(*loop_, "GET", target);
        last_->filter_with(form);
        files().handle(*last_);
        EXPECT_EQ(form.is_source, target == std::string("/cold")) << target;
        complete(*last_);
    }
}

// It is sampled window by window, each just before it is sent.
TEST_F(ColdFiles, AHotFileThatIsLargerThanAWindowIsLookedAtEachTime) {
    folder_.write("large", pattern(DiskReads::window_bytes + 1));
    get("/large");
    EXPECT_EQ(disk_.other_waits(), 0);
    disk_.make_cold(folder_.path() + "/large");
    get("/large");
    EXPECT_EQ(disk_.other_waits(), 1);
    EXPECT_EQ(disk_.loop_waits(), 0);
}

// The system may drop what the pool has read before it is sent: it is not read for ever.
TEST_F(ColdFiles, WhatThePoolHasReadIsSentThoughTheSystemHasDroppedIt) {
    disk_.set_forgetting(true);
    write_cold("middle", pattern(200'000));
    EXPECT_TRUE(get("/middle") == pattern(200'000));
    EXPECT_EQ(disk_.other_bytes(), 200'000U) << "once";
    write_cold("byte", "b");
    EXPECT_EQ(get("/byte"), "b");
    EXPECT_EQ(disk_.other_bytes(), 200'001U) << "once";
}

// As in a server that was started without a standard input.
TEST_F(ColdFiles, MayHaveTheDescriptorZero) {
    write_cold("middle", pattern(200'000));
    files();
    const int input = ::dup(STDIN_FILENO);
    ::close(STDIN_FILENO);
    last_ = ask("/middle");
    EXPECT_GE(::fcntl(STDIN_FILENO, F_GETFD), 0) << "the file is open there";
    complete(*last_);
    EXPECT_TRUE(last_->body() == pattern(200'000));
    EXPECT_EQ(disk_.loop_waits(), 0);
    last_ = {};
    files_.reset();
    if (input < 0) return;
    EXPECT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);
    ::close(input);
}

// Directories, whose reading and sorting the pool does too.

TEST_F(ColdFiles, AListingIsMadeByThePool) {
    for (int i = 0; i < 3000; ++i) folder_.write("many/" + std::to_string(i), "x");
    for (int i = 0; i < 50; ++i) folder_.write("few/" + std::to_string(i), "x");
    for (const auto& [target, entries] : {std::pair("/many/", 3000), std::pair("/few/", 50)}) {
        last_ = ask(target, {{"Accept", "application/json"}});
        EXPECT_FALSE(last_->responded());
        while (!last_->responded()) loop_->turn(10ms);
        complete(*last_);
        std::size_t rows = 0;
        const std::string& body = last_->body();
        for (std::size_t at = 0; (at = body.find("\"name\"", at)) != std::string::npos; ++at)
            ++rows;
        EXPECT_EQ(rows, static_cast<std::size_t>(entries));
        EXPECT_TRUE(body.ends_with("],\"complete\":true}\n"));
        EXPECT_LE(last_->queue_bytes_most(), 64'000U);
    }
    EXPECT_GT(pool_->counters().submitted, 4U);
}

TEST_F(ColdFiles, AListingThatNobodyWaitsForAnyMoreEnds) {
    for (int i = 0; i < 3000; ++i) folder_.write("many/" + std::to_string(i), "x");
    for (int turns = 0; turns < 6; ++turns) {
        auto gone = ask("/many/");
        for (int i = 0; i < turns; ++i) {
            loop_->turn(5ms);
            if (gone->responded()) gone->finish();
        }
        gone->hang_up();
    }
    get("/few");
    files_.reset();
    pool_.reset();
    last_ = {};
    EXPECT_EQ(disk_.open_files(), 0U);
}

TEST_F(ColdFiles, AFolderThatCannotBeListedSaysSo) {
    folder_.make_folder("gone");
    ask("/gone/");  // known to the cache from here on
    while (pool_->counters().completed < 1) loop_->turn(1ms);
    folder_.remove("gone");
    last_ = ask("/gone/");
    while (!last_->responded()) loop_->turn(10ms);
    EXPECT_EQ(last_->status(), 404);
}

}  // namespace
}  // namespace tiderace::http::files
