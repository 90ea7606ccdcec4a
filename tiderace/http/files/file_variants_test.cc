// Compressed files as clients see them: cold, pending, warm, changed, evicted.
#include "tiderace/http/files/file_variants.h"

#include <sys/resource.h>

#include <atomic>
#include <ctime>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/http/coding/content_encoder.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/content_decoder.h"
#include "tiderace/testing/static_site.h"

namespace tiderace::http::files {
namespace {

using testing::decode_all;
using wire::ContentCoding;

std::string text_of(std::size_t bytes) {
    std::string text;
    for (int i = 0; text.size() < bytes; ++i) text += "line " + std::to_string(i) + " of many\n";
    text.resize(bytes);
    return text;
}

// Does not shrink.
std::string noise_of(std::size_t bytes) {
    std::string noise;
    std::uint64_t state = 1;
    while (noise.size() < bytes) {
        state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        noise += static_cast<char>(state >> 56);
    }
    return noise;
}

class FileVariantsTest : public testing::StaticSite {
  protected:
    FileVariantsTest() {
        options_.paths.compress.codings = coding::built_in_codings();
        options_.compress_pool = &pool_;
        options_.variants = &store_;
    }
    void SetUp() override {
        const auto built_in = coding::built_in_codings();
        if (!built_in.gzip || !built_in.br || !built_in.zstd) GTEST_SKIP() << "not built in";
    }
    ~FileVariantsTest() override { server_.reset(); }

    // Turns the loop until what is being made has come back.
    void settle() {
        server();
        for (int turns = 0; turns < 100'000 && pool_is_busy(); ++turns) loop_->turn(1ms);
        EXPECT_FALSE(pool_is_busy());
        loop_->turn(0s);
    }
    bool pool_is_busy() const {
        const auto now = pool_.counters();
        return now.completed != now.submitted;
    }
    void warm(std::string_view target, std::string coding) {
        get(target, {{"Accept-Encoding", coding}});
        settle();
    }

    core::WorkerPool pool_{1, 64};
    VariantStore store_{1_MiB};
};

TEST_F(FileVariantsTest, TheFirstAnswerIsPlainAndTheNextIsCompressed) {
    const std::string text = text_of(57'000);
    folder_.write("a.css", text);
    for (const auto coding : {ContentCoding::gzip, ContentCoding::zstd, ContentCoding::br}) {
        const std::string name(wire::coding_name(coding));
        const Fields accept = {{"Accept-Encoding", name}};
        auto& cold = get("/a.css", accept);
        EXPECT_EQ(cold.body(), text);
        EXPECT_EQ(cold.header("Vary"), "Accept-Encoding");
        EXPECT_FALSE(cold.has("Content-Encoding"));
        const std::string plain_tag = cold.header("ETag");
        settle();
        auto& hot = get("/a.css", accept);
        EXPECT_EQ(hot.header("Content-Encoding"), name);
        EXPECT_EQ(hot.header("Vary"), "Accept-Encoding");
        EXPECT_EQ(hot.header("Content-Type"), "text/css; charset=utf-8");
        EXPECT_EQ(hot.content_length(), static_cast<std::int64_t>(hot.body().size()));
        EXPECT_EQ(decode_all(coding, hot.body()), text);
        EXPECT_NE(hot.header("ETag"), plain_tag);
        EXPECT_THAT(hot.header("ETag"), ::testing::HasSubstr("-" + name + "-"));
        EXPECT_EQ(hot.count("ETag"), 1U);
        EXPECT_EQ(get("/a.css").body(), text);
        EXPECT_EQ(exchange_->count("ETag"), 1U);
    }
    EXPECT_EQ(store_.counters().made, 3u);
}

TEST_F(FileVariantsTest, ManyRequestsAreOneJob) {
    folder_.write("a.css", text_of(20'000));
    for (int i = 0; i < 100; ++i) get("/a.css", {{"Accept-Encoding", "gzip"}});
    settle();
    EXPECT_EQ(pool_.counters().submitted, 1u);
}

TEST_F(FileVariantsTest, WhileTheBestIsMadeTheSecondBestIsSent) {
    folder_.write("a.css", text_of(20'000));
    warm("/a.css", "gzip");
    EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "br, gzip"}}).header("Content-Encoding"), "gzip");
    settle();
    EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "br, gzip"}}).header("Content-Encoding"), "br");
}

TEST_F(FileVariantsTest, WhatShouldNotBeCompressedIsNot) {
    folder_.write("small.css", text_of(1000));
    folder_.write("photo.png", text_of(20'000));
    folder_.write("large.css", text_of(200'000));
    folder_.write("kept.css", text_of(20'000));
    folder_.write("with.css", text_of(20'000));
    folder_.write("with.css.gz", "put there");
    options_.paths.compress.bytes_max = 100'000;
    options_.paths.cache_control = {{"kept.css", "no-transform"}};
    for (const char* target : {"/small.css", "/photo.png", "/large.css", "/kept.css"}) {
        warm(target, "gzip");
        auto& answer = get(target, {{"Accept-Encoding", "gzip"}});
        EXPECT_FALSE(answer.has("Content-Encoding")) << target;
        EXPECT_FALSE(answer.has("Vary")) << target;
    }
    warm("/with.css", "br");
    EXPECT_EQ(get("/with.css", {{"Accept-Encoding", "gzip"}}).body(), "put there");
    EXPECT_FALSE(get("/with.css", {{"Accept-Encoding", "br"}}).has("Content-Encoding"));
    EXPECT_EQ(pool_.counters().submitted, 0u);
}

TEST_F(FileVariantsTest, WhatDoesNotShrinkIsTriedOnce) {
    const std::string noise = noise_of(20'000);
    folder_.write("noise.txt", noise);
    for (int i = 0; i < 3; ++i) {
        warm("/noise.txt", "gzip");
        pass(5s);
    }
    EXPECT_EQ(get("/noise.txt", {{"Accept-Encoding", "gzip"}}).body(), noise);
    EXPECT_EQ(store_.counters().declined, 1u);
    EXPECT_EQ(pool_.counters().submitted, 1u);
}

// A twentieth is what it has to gain, to the byte.
TEST_F(FileVariantsTest, WhatShrinksByATwentiethIsKeptAndByLessIsNot) {
    constexpr std::size_t bytes = 20'000, worthwhile = 19'000;
    const auto encoder = coding::make_encoder(ContentCoding::gzip, coding::Purpose::file);
    const auto mixed = [](std::size_t noisy) {
        return noise_of(noisy) + std::string(bytes - noisy, 'a');
    };
    std::vector<char> room(bytes);
    std::map<std::size_t, std::string> by_coded_size;
    for (std::size_t noisy = worthwhile - 100; noisy <= worthwhile; ++noisy) {
        const std::string text = mixed(noisy);
        ASSERT_TRUE(encoder->reset(bytes));
        const auto step = encoder->step(text, room, coding::ContentEncoder::Until::finished);
        if (step.done) by_coded_size[step.made] = text;
    }
    for (const std::size_t coded : {worthwhile, worthwhile + 1}) {
        ASSERT_TRUE(by_coded_size.contains(coded)) << coded;
        folder_.write("a.css", by_coded_size[coded]);
        server_.reset();
        warm("/a.css", "gzip");
        auto& answer = get("/a.css", {{"Accept-Encoding", "gzip"}});
        EXPECT_EQ(answer.has("Content-Encoding"), coded == worthwhile);
        EXPECT_EQ(answer.body().size(), coded == worthwhile ? coded : bytes);
    }
    EXPECT_EQ(store_.counters().made, 1u);
    EXPECT_EQ(store_.counters().declined, 1u);
}

// Whether the file that came meanwhile shrinks is not known.
TEST_F(FileVariantsTest, WhatDoesNotShrinkSaysNothingOfTheFileInItsPlace) {
    options_.cache.revalidate = 0s;
    folder_.write("a.css", noise_of(20'000));
    get("/a.css", {{"Accept-Encoding", "gzip"}});
    while (pool_is_busy()) std::this_thread::yield();
    // The loop has not heard of it yet.
    folder_.write("a.css", text_of(25'000));
    get("/a.css");
    settle();
    EXPECT_EQ(store_.counters().declined, 1U);
    warm("/a.css", "gzip");
    EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "gzip"}}).header("Content-Encoding"), "gzip");
}

TEST_F(FileVariantsTest, AFileThatChangesIsCompressedAnew) {
    folder_.write("a.css", text_of(20'000));
    warm("/a.css", "gzip");
    const std::string old_tag = get("/a.css", {{"Accept-Encoding", "gzip"}}).header("ETag");
    const std::string text = text_of(30'000);
    folder_.write("a.css", text);
    pass(2s);
    auto& changed = get("/a.css", {{"Accept-Encoding", "gzip"}});
    EXPECT_EQ(changed.body(), text);
    settle();
    auto& hot = get("/a.css", {{"Accept-Encoding", "gzip"}});
    EXPECT_EQ(decode_all(ContentCoding::gzip, hot.body()), text);
    EXPECT_NE(hot.header("ETag"), old_tag);
}

TEST_F(FileVariantsTest, AFileThatChangesBeforeItsTurnIsNotMixedUp) {
    folder_.write("a.css", text_of(20'000));
    // The only thread of the pool is kept until the file is another.
    std::atomic<bool> go = false;
    pool_.submit([&] {
        while (!go) std::this_thread::yield();
    });
    get("/a.css", {{"Accept-Encoding", "gzip"}});
    folder_.write("a.css", text_of(25'000));
    go = true;
    settle();
    EXPECT_EQ(store_.counters().made, 0u);
    EXPECT_FALSE(get("/a.css", {{"Accept-Encoding", "gzip"}}).has("Content-Encoding"));
}

// It may change again within the same tick of its clock, unseen.
TEST_F(FileVariantsTest, AFileThatChangedJustNowIsNotCompressedYet) {
    clock_.set_unix(::time(nullptr));
    pass(1s);
    folder_.write("a.css", text_of(20'000));
    warm("/a.css", "gzip");
    EXPECT_EQ(pool_.counters().submitted, 0u);
    pass(10s);
    warm("/a.css", "gzip");
    EXPECT_EQ(pool_.counters().submitted, 1u);
    EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "gzip"}}).header("Content-Encoding"), "gzip");
}

TEST_F(FileVariantsTest, TheyStayWhenTheDiskIsAskedAgain) {
    folder_.write("a.css", text_of(20'000));
    warm("/a.css", "gzip");
    pass(10s);
    EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "gzip"}}).header("Content-Encoding"), "gzip");
    EXPECT_EQ(pool_.counters().submitted, 1u);
}

TEST_F(FileVariantsTest, ConditionsMeanTheRepresentationThatTheClientHas) {
    folder_.write("a.css", text_of(20'000));
    const std::string plain = get("/a.css").header("ETag");
    warm("/a.css", "gzip");
    const std::string gzip = get("/a.css", {{"Accept-Encoding", "gzip"}}).header("ETag");
    const auto ask_with = [&](Fields fields) -> testing::RecordedExchange& {
        fields.emplace_back("Accept-Encoding", "gzip");
        return get("/a.css", fields);
    };
    EXPECT_EQ(ask_with({{"If-None-Match", gzip}}).status(), 304);
    EXPECT_EQ(exchange_->header("ETag"), gzip);
    EXPECT_EQ(exchange_->header("Vary"), "Accept-Encoding");
    EXPECT_EQ(ask_with({{"If-None-Match", plain}}).status(), 304);
    EXPECT_EQ(exchange_->header("ETag"), plain);
    EXPECT_EQ(get("/a.css", {{"If-None-Match", gzip}}).status(), 200);
    EXPECT_EQ(ask_with({{"If-Match", gzip}}).status(), 200);
    EXPECT_EQ(ask_with({{"If-Match", plain}}).status(), 412);
    server_.reset();  // a restart: cold again, and yet the client need not fetch it again
    store_.give_up({});
    EXPECT_EQ(ask_with({{"If-None-Match", gzip}}).status(), 304);
    EXPECT_EQ(exchange_->header("ETag"), gzip);
    server_.reset();
    EXPECT_EQ(ask_with({{"If-None-Match", "*"}}).status(), 304);
    EXPECT_EQ(exchange_->header("ETag"), plain)
        << "the variant that exists; the request named no other";
}

// The client's variant is not made yet, and another condition comes first: it decides.
TEST_F(FileVariantsTest, AnotherConditionDecidesBeforeTheTagOfWhatIsNotMadeYet) {
    folder_.write("a.css", text_of(20'000));
    folder_.set_time("a.css", 784'111'777);
    warm("/a.css", "gzip");
    const std::string gzip = get("/a.css", {{"Accept-Encoding", "gzip"}}).header("ETag");
    const std::pair<std::string, std::string> others[] = {
        {"If-Match", "\"other\""}, {"If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"}};
    for (const auto& other : others) {
        server_.reset();  // cold
        auto& answer = get("/a.css", {{"Accept-Encoding", "gzip"}, {"If-None-Match", gzip}, other});
        EXPECT_EQ(answer.status(), 412) << other.first;
    }
    server_.reset();
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return 0; }
    } time;
    log::Logger logger(ring, time);
    loop_->set_log(&logger);
    EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "gzip"}, {"If-None-Match", gzip}}).status(), 304);
    EXPECT_EQ(log::take_all(ring), "") << "it is answered once";
    loop_->set_log(nullptr);
}

TEST_F(FileVariantsTest, RangesAreOfWhatTheClientSays) {
    const std::string text = text_of(20'000);
    folder_.write("a.css", text);
    const std::string plain = get("/a.css").header("ETag");
    warm("/a.css", "gzip");
    auto& whole = get("/a.css", {{"Accept-Encoding", "gzip"}});
    const std::string gzip = whole.header("ETag");
    const std::string coded = whole.body();
    const auto range = [&](std::string if_range,
                           std::string accept = "gzip") -> testing::RecordedExchange& {
        Fields fields = {{"Accept-Encoding", accept}, {"Range", "bytes=10-19"}};
        if (!if_range.empty()) fields.emplace_back("If-Range", if_range);
        return get("/a.css", fields);
    };
    EXPECT_EQ(range("").body(), text.substr(10, 10));
    EXPECT_FALSE(exchange_->has("Content-Encoding"));
    EXPECT_EQ(range(plain).body(), text.substr(10, 10));
    EXPECT_EQ(range(gzip).body(), coded.substr(10, 10));
    EXPECT_EQ(exchange_->status(), 206);
    EXPECT_EQ(exchange_->header("Content-Encoding"), "gzip");
    EXPECT_EQ(range("\"other\"").status(), 200);
    EXPECT_EQ(range("", "gzip, identity;q=0").body(), coded.substr(10, 10));
}

// A HEAD has no range, and its answer is that to a GET without one.
TEST_F(FileVariantsTest, AHeadThatNamesARangeIsOfTheCompressedFile) {
    folder_.write("a.css", text_of(20'000));
    warm("/a.css", "gzip");
    auto& answer = ask("HEAD", "/a.css", {{"Accept-Encoding", "gzip"}, {"Range", "bytes=10-19"}});
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.header("Content-Encoding"), "gzip");
}

// It is read in pieces of 64 KiB; the last is a short one, or whole.
TEST_F(FileVariantsTest, AFileOfSeveralPiecesIsCompressedWhole) {
    for (const std::size_t bytes : {3 * 64_KiB, 150'000UL}) {
        const std::string text = text_of(bytes);
        folder_.replace("a.css", text);
        server_.reset();
        warm("/a.css", "gzip");
        auto& answer = get("/a.css", {{"Accept-Encoding", "gzip"}});
        EXPECT_EQ(answer.header("Content-Encoding"), "gzip") << bytes;
        EXPECT_TRUE(decode_all(ContentCoding::gzip, answer.body()) == text) << bytes;
    }
}

TEST_F(FileVariantsTest, WhatTheCacheDropsComesBackFromTheStore) {
    options_.cache.bytes_max = 60'000;
    for (const char* name : {"a.css", "b.css", "c.css"}) folder_.write(name, text_of(20'000));
    for (int round = 0; round < 3; ++round) {
        for (const char* target : {"/a.css", "/b.css", "/c.css"}) warm(target, "gzip");
        EXPECT_LE(server().cache().bytes(), 60'000u);
    }
    EXPECT_EQ(store_.counters().made, 3u);
    EXPECT_GT(store_.counters().shared, 0u);
}

TEST_F(FileVariantsTest, OneThatTheCacheForgotMeanwhileIsMadeForNobody) {
    options_.cache.bytes_max = 60'000;
    for (const char* name : {"a.css", "b.css", "c.css", "d.css"}) {
        folder_.write(name, text_of(20'000));
    }
    std::atomic<bool> go = false;
    pool_.submit([&] {
        while (!go) std::this_thread::yield();
    });
    get("/a.css", {{"Accept-Encoding", "gzip"}});
    for (const char* target : {"/b.css", "/c.css", "/d.css"}) get(target);
    go = true;
    settle();
    EXPECT_EQ(store_.counters().made, 1u);
    EXPECT_FALSE(get("/a.css", {{"Accept-Encoding", "gzip"}}).has("Content-Encoding"));
    settle();
    EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "gzip"}}).header("Content-Encoding"), "gzip");
}

TEST_F(FileVariantsTest, AreKeptOverARestartWhereThereIsAFolder) {
    testing::TemporaryFolder kept;
    folder_.write("a.css", text_of(20'000));
    for (const bool again : {false, true}) {
        VariantStore store(1_MiB, std::move(*VariantFiles::open(kept.path() + "/made", 1_MiB)));
        options_.variants = &store;
        warm("/a.css", "gzip");
        EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "gzip"}}).header("Content-Encoding"), "gzip");
        EXPECT_EQ(store.counters().made, again ? 0u : 1u);
        EXPECT_EQ(store.counters().read, again ? 1u : 0u);
        exchange_ = {};
        server_.reset();
    }
}

TEST_F(FileVariantsTest, TwoLoopsShareOneResult) {
    folder_.write("a.css", text_of(20'000));
    warm("/a.css", "gzip");
    server_.reset();
    warm("/a.css", "gzip");
    EXPECT_EQ(get("/a.css", {{"Accept-Encoding", "gzip"}}).header("Content-Encoding"), "gzip");
    EXPECT_EQ(store_.counters().made, 1u);
    EXPECT_EQ(store_.counters().shared, 1u);
}

TEST_F(FileVariantsTest, TheHandlerMayEndWhileAJobRuns) {
    folder_.write("a.css", text_of(4'000'000));
    for (int i = 0; i < 20; ++i) {
        get("/a.css", {{"Accept-Encoding", "br"}});
        exchange_ = {};
        server_.reset();
    }
    SUCCEED();
}

#if defined(__linux__)
// Where a thread has a niceness of its own.
TEST_F(FileVariantsTest, AreMadeBehindAllOtherWork) {
    folder_.write("a.css", text_of(57'000));
    warm("/a.css", "gzip");
    std::atomic<int> niceness = 0;
    pool_.submit([&] { niceness = ::getpriority(PRIO_PROCESS, 0); });
    settle();
    EXPECT_GE(niceness, 10);
}
#endif

}  // namespace
}  // namespace tiderace::http::files
