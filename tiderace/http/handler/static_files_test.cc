// StaticFiles over a real folder: which path stands for what.
#include "tiderace/http/handler/static_files.h"

#include <filesystem>

#include "tiderace/testing/static_site.h"

namespace tiderace::http::handler {
namespace {

using ::testing::HasSubstr;
using StaticFilesTest = testing::StaticSite;

TEST_F(StaticFilesTest, AFileIsAnsweredWithItsBytesAndWhatDescribesThem) {
    folder_.write("a.css", "body{}");
    folder_.set_time("a.css", 784'111'777);
    auto& answer = get("/a.css");
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.body(), "body{}");
    EXPECT_EQ(answer.content_length(), 6);
    EXPECT_EQ(answer.header("Content-Type"), "text/css; charset=utf-8");
    EXPECT_EQ(answer.header("Last-Modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(answer.header("Accept-Ranges"), "bytes");
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_THAT(answer.header("ETag"), ::testing::MatchesRegex("\".+\""));
    EXPECT_FALSE(answer.has("Vary"));
}

TEST_F(StaticFilesTest, ARootThatWasReplacedIsServedOnceFilesAreComparedWithTheDisk) {
    folder_.write("old/a.txt", "old");
    folder_.write("old/gone.txt", "old");
    folder_.write("new/a.txt", "new one");
    folder_.link("current", "old");
    options_.root = folder_.path_of("current");
    EXPECT_EQ(get("/a.txt").body(), "old");
    EXPECT_EQ(get("/gone.txt").status(), 200);
    folder_.link("next", "new");
    ASSERT_EQ(std::rename(folder_.path_of("next").c_str(), options_.root.c_str()), 0);
    EXPECT_EQ(get("/a.txt").body(), "old");  // known, and compared a moment ago
    pass(options_.cache.revalidate);
    EXPECT_EQ(get("/a.txt").body(), "new one");
    EXPECT_EQ(get("/gone.txt").status(), 404);
}

TEST_F(StaticFilesTest, HeadSaysTheLengthAndSendsNothing) {
    folder_.write("a.txt", "twelve bytes");
    auto& answer = ask("HEAD", "/a.txt");
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.content_length(), 12);
    EXPECT_EQ(answer.body(), "");
}

TEST_F(StaticFilesTest, HeadOfAnAbsentFileIs404) {
    EXPECT_EQ(ask("HEAD", "/absent").status(), 404);
}

TEST_F(StaticFilesTest, AnEmptyFileHasALengthOfZero) {
    folder_.write("empty.txt", "");
    auto& answer = get("/empty.txt");
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.content_length(), 0);
    EXPECT_EQ(answer.body(), "");
}

TEST_F(StaticFilesTest, OptionsAndOtherMethodsGetTheAllowedOnes) {
    folder_.write("a.txt", "a");
    EXPECT_EQ(ask("OPTIONS", "/a.txt").status(), 204);
    EXPECT_EQ(exchange_->header("Allow"), "GET, HEAD, OPTIONS");
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "TRACE"}) {
        EXPECT_EQ(ask(method, "/a.txt").status(), 405) << method;
        EXPECT_EQ(exchange_->header("Allow"), "GET, HEAD, OPTIONS") << method;
    }
}

TEST_F(StaticFilesTest, PathsStandForWhatTheyShould) {
    folder_.write("index.html", "front");
    folder_.write("docs/index.html", "docs");
    folder_.write("bare/a.txt", "a");
    folder_.write(".git/config", "secret");
    folder_.write("docs/.env", "secret");
    folder_.write(".well-known/security.txt", "contact");
    folder_.make_fifo("pipe");
    folder_.link("inside.txt", "bare/a.txt");
    folder_.link("outside", "/etc/passwd");
    folder_.link("climbs", "../../../../etc/passwd");
    folder_.link("loop", "loop");
    folder_.link("dangling", "nowhere");
    folder_.write("quo\"te\n.txt", "odd");
    folder_.write("gr\xC3\xBC\xC3\x9F.txt", "greetings");
    struct Case {
        const char* path;
        int status;
        const char* body;
    };
    const Case cases[] = {
        {"/", 200, "front"},
        {"/index.html", 200, "front"},
        {"/docs/", 200, "docs"},
        {"/docs", 301, ""},
        {"/bare", 301, ""},
        {"/bare/", 404, ""},
        {"/bare/a.txt", 200, "a"},
        {"/bare/a.txt/", 404, ""},
        {"/bare/a.txt/b", 404, ""},
        {"/absent", 404, ""},
        {"/.git/config", 404, ""},
        {"/.git", 404, ""},
        {"/docs/.env", 404, ""},
        {"/.well-known/security.txt", 200, "contact"},
        {"/pipe", 403, ""},
        {"/inside.txt", 200, "a"},
        {"/outside", 404, ""},
        {"/climbs", 404, ""},
        {"/loop", 404, ""},
        {"/dangling", 404, ""},
        {"/quo\"te\n.txt", 200, "odd"},
        {"/gr\xC3\xBC\xC3\x9F.txt", 200, "greetings"},
    };
    for (int round = 0; round < 2; ++round) {  // from the disk, then from the cache
        for (const Case& c : cases) {
            auto& answer = get(c.path);
            EXPECT_EQ(answer.status(), c.status) << c.path;
            EXPECT_EQ(answer.body(), c.body) << c.path;
        }
    }
}

TEST_F(StaticFilesTest, EveryLongPathIsMissing) {
    for (const std::size_t bytes : {255, 256, 4094, 4095, 4096, 5000, 9000}) {
        EXPECT_EQ(get("/" + std::string(bytes, 'a')).status(), 404) << bytes;
    }
}

// A name that no file system takes, and a path that no system call takes, are absent.
TEST_F(StaticFilesTest, EveryLongPathIsMissingWhateverIsConfigured) {
    options_.paths.clean_urls = true;
    options_.paths.compress.codings = {.gzip = true, .zstd = true, .br = true};
    options_.listing = true;
    for (const core::Links links :
         {core::Links::inside, core::Links::never, core::Links::anywhere}) {
        options_.links = links;
        server_.reset();
        for (const std::size_t bytes : {250, 255, 256, 4080, 4090, 4095, 4096, 4097, 7900}) {
            std::string deep;
            while (deep.size() < bytes) deep += "/aaaaaaa";
            for (const std::string& path : {"/" + std::string(bytes, 'a'), deep, deep + '/'}) {
                EXPECT_EQ(get(path).status(), 404) << path.size();
            }
        }
    }
}

TEST_F(StaticFilesTest, OneFolderServesItsRegularFilesAndNothingElse) {
    options_.spa = "/index.html";
    options_.listing = true;
    options_.paths.clean_urls = true;
    options_.paths.hidden = true;
    folder_.write("index.html", "front");
    folder_.write("secret.txt", "secret");
    folder_.write("open/token", "proof");
    folder_.write("open/deep/token", "deeper");
    folder_.write("open/index.html", "an index is a file like any other");
    folder_.write("open/page.html", "page");
    folder_.write("open/.hidden", "hidden");
    folder_.write("open/large", std::string(300'000, 'x'));
    folder_.link("open/link", "token");
    folder_.link("open/out", "../secret.txt");
    folder_.link("open/away", "..");
    folder_.make_fifo("open/pipe");
    struct Case {
        const char* path;
        int status;
        std::string body;
    };
    const Case cases[] = {
        {"/open/token", 200, "proof"},
        {"/open/deep/token", 200, "deeper"},
        {"/open/link", 200, "proof"},
        {"/open/large", 200, std::string(300'000, 'x')},
        {"/open/index.html", 200, "an index is a file like any other"},
        {"/open/", 404, ""},
        {"/open/deep", 404, ""},
        {"/open/deep/", 404, ""},
        {"/open/absent", 404, ""},
        {"/open/page", 404, ""},
        {"/open/out", 404, ""},
        {"/open/away/secret.txt", 404, ""},
        {"/open/pipe", 404, ""},
        {"/open/.hidden", 404, ""},
        {"/open/token/", 404, ""},
    };
    OnlyBeneath open(server(), "/open/");
    const auto ask_open = [&](std::string_view method, std::string_view path) {
        exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, method, path);
        open.handle(*exchange_);
        exchange_->finish();
    };
    for (const Case& c : cases) {
        ask_open("GET", c.path);
        EXPECT_EQ(exchange_->status(), c.status) << c.path;
        EXPECT_EQ(exchange_->body(), c.body) << c.path;
        EXPECT_FALSE(exchange_->has("Location")) << c.path;
    }
    ask_open("POST", "/open/token");
    EXPECT_EQ(exchange_->status(), 405);
    ask_open("GET", "/open/token");
    kernel_.fail_at(1, EMFILE);
    ask_open("GET", "/open/token");
    EXPECT_EQ(exchange_->status(), 503);
    std::filesystem::remove_all(folder_.path_of("open"));
    ask_open("GET", "/open/token");
    EXPECT_EQ(exchange_->status(), 404);
}

TEST_F(StaticFilesTest, ADirectoryWithoutSlashIsRedirectedToItself) {
    folder_.make_folder("a b/?#%");
    folder_.make_folder("evil.example");
    EXPECT_EQ(get("/a b").header("Location"), "/a%20b/");
    EXPECT_EQ(exchange_->status(), 301);
    EXPECT_EQ(get("/evil.example?next=//x").header("Location"), "/evil.example/?next=//x");
    EXPECT_EQ(get("/a b/").status(), 404);
}

TEST_F(StaticFilesTest, HiddenFilesAreServedOnRequest) {
    options_.paths.hidden = true;
    folder_.write(".env", "visible");
    EXPECT_EQ(get("/.env").body(), "visible");
}

TEST_F(StaticFilesTest, TheFirstIndexThatIsThereCounts) {
    options_.paths.index = {"default.htm", "index.html"};
    folder_.write("index.html", "second");
    EXPECT_EQ(get("/").body(), "second");
    folder_.write("default.htm", "first");
    pass(1s);
    EXPECT_EQ(get("/").body(), "first");
    folder_.remove("default.htm");
    pass(1s);
    EXPECT_EQ(get("/").body(), "second");
}

TEST_F(StaticFilesTest, CleanUrlsAnswerWithThePage) {
    options_.paths.clean_urls = true;
    folder_.write("about.html", "about us");
    folder_.write("team/index.html", "team");
    EXPECT_EQ(get("/about").body(), "about us");
    EXPECT_EQ(exchange_->header("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(get("/about/").status(), 404);
    EXPECT_EQ(get("/team").status(), 301);
    EXPECT_EQ(get("/absent").status(), 404);
}

TEST_F(StaticFilesTest, ASinglePageApplicationAnswersForItsOwnAddresses) {
    options_.spa = "/index.html";
    folder_.write("index.html", "app");
    folder_.write("real.txt", "real");
    EXPECT_EQ(get("/orders/7").body(), "app");
    EXPECT_EQ(exchange_->status(), 200);
    EXPECT_EQ(get("/real.txt").body(), "real");
    EXPECT_EQ(get("/missing.js").status(), 404);
    EXPECT_EQ(get("/user/jo.doe", {{"Accept", "text/html,*/*;q=0.8"}}).body(), "app");
}

TEST_F(StaticFilesTest, CacheControlComesFromTheFirstRuleThatMatches) {
    options_.paths.cache_control = {{"/assets/**", "max-age=31536000, immutable"},
                                    {"*.html", "no-cache"}};
    folder_.write("assets/js/a.js", "1");
    folder_.write("index.html", "2");
    folder_.write("b.txt", "3");
    EXPECT_EQ(get("/assets/js/a.js").header("Cache-Control"), "max-age=31536000, immutable");
    EXPECT_EQ(get("/").header("Cache-Control"), "no-cache");
    EXPECT_FALSE(get("/b.txt").has("Cache-Control"));
}

TEST_F(StaticFilesTest, TheOwnersTypesComeFirst) {
    ASSERT_TRUE(options_.paths.mime.add("tide", "application/x-tide"));
    folder_.write("a.tide", "1");
    EXPECT_EQ(get("/a.tide").header("Content-Type"), "application/x-tide");
}

TEST_F(StaticFilesTest, ARootThatIsNotThereSaysSo) {
    options_.root = folder_.path_of("nowhere");
    const auto made = StaticFiles::create(*loop_, options_);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message(), HasSubstr("nowhere"));
    folder_.write("file", "x");
    options_.root = folder_.path_of("file");
    const auto file = StaticFiles::create(*loop_, options_);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), ENOTDIR);
}

// Every file call of a first request fails in turn: the answer is whole, or reports an error.
TEST_F(StaticFilesTest, EachKernelCallMayFail) {
    options_.listing = true;
    folder_.write("a.txt", "some text");
    folder_.write("a.txt.gz", "packed");
    folder_.write("big.bin", std::string(200'000, 'x'));
    folder_.write("dir/b.txt", "b");
    folder_.write("docs/index.html", "docs");
    folder_.write("docs/README.md", "# Hi");
    for (const char* path : {"/a.txt", "/big.bin", "/dir/", "/docs/", "/docs", "/absent"}) {
        server_.reset();
        kernel_.reset();
        const int right = get(path).status();
        const std::string whole = exchange_->body();
        const std::size_t calls = kernel_.calls();
        ASSERT_GT(calls, 0U);
        for (const int error : {EIO, EMFILE, ENOMEM, EACCES, EINTR, ENOENT}) {
            for (std::size_t n = 1; n <= calls; ++n) {
                server_.reset();
                exchange_ = {};
                const int open_before = kernel_.open_files();
                kernel_.fail_at(n, error);
                server();
                auto& answer = get(path, {{"Accept-Encoding", "gzip;q=0"}});
                EXPECT_THAT(answer.status(), ::testing::AnyOf(right, 403, 404, 500, 503))
                    << path << ' ' << n << ' ' << error;
                if (answer.status() == 200 && !answer.broken() && answer.content_length() >= 0) {
                    EXPECT_EQ(answer.body(), whole) << path << ' ' << n << ' ' << error;
                }
                // And the next request is answered as if nothing had been.
                kernel_.reset();
                pass(1s);
                EXPECT_EQ(get(path).status(), right) << path << ' ' << n << ' ' << error;
                exchange_ = {};
                server_.reset();
                EXPECT_EQ(kernel_.open_files(), open_before - 1) << "the root, and nothing else";
            }
        }
    }
}

// --sendfile-min 0: even an empty file is sent from its descriptor.
TEST_F(StaticFilesTest, NoFileIsTooSmallForSendfileIfAskedSo) {
    options_.cache.sendfile_bytes_min = 0;
    folder_.write("empty.txt", "");
    folder_.write("one.txt", "1");
    for (int i = 0; i < 5; ++i) {  // cold, then hot
        EXPECT_EQ(get("/empty.txt").status(), 200);
        EXPECT_EQ(exchange_->body(), "");
        EXPECT_EQ(get("/one.txt").status(), 200);
        EXPECT_EQ(exchange_->body(), "1");
    }
}

// Ten connections with more stalled streams than there are descriptors: a newcomer is served.
TEST_F(StaticFilesTest, ConnectionsShareDescriptorsAndLeaveSomeToNewcomers) {
    options_.cache.room = {.bytes_max = 30'000, .open_max = 40};
    options_.cache.descriptors_max = 20;
    options_.cache.sendfile_bytes_min = 1000;
    folder_.write("small.txt", "small");
    for (int i = 0; i < 130; ++i) folder_.write("f" + std::to_string(i), std::string(50'000, 'x'));
    const auto ask_as = [&](std::uint32_t connection, const std::string& path) {
        auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", path);
        exchange->set_connection({connection, 1});
        server().handle(*exchange);
        return exchange;
    };
    std::vector<core::Ref<testing::RecordedExchange>> stalled;
    std::size_t served = 0;
    for (int i = 0; i < 100; ++i) {
        stalled.push_back(ask_as(1 + static_cast<std::uint32_t>(i % 10), "/f" + std::to_string(i)));
        served += stalled.back()->status() == 200;
    }
    EXPECT_GE(served, 25U);
    EXPECT_LT(served, 40U);
    for (int i = 0; i < 30; ++i) {
        const auto newcomer = 100 + static_cast<std::uint32_t>(i);
        EXPECT_EQ(ask_as(newcomer, "/small.txt")->status(), 200);
        EXPECT_EQ(ask_as(newcomer, "/f" + std::to_string(100 + i))->body().size(), 50'000U);
    }
    EXPECT_LE(kernel_.open_files(), 41);
    stalled.clear();
    EXPECT_EQ(ask_as(1, "/f0")->body().size(), 50'000U);
}

// Neither descriptor nor memory is left: one small file each, even from a cold disk.
TEST_F(StaticFilesTest, WithoutAnyRoomEachConnectionIsServedOneSmallFileAtATime) {
    options_.cache.room = {.bytes_max = 10, .open_max = 0};
    folder_.write("a.txt", "larger than the room");
    folder_.write("b.txt", "larger than the room, too");
    folder_.write("big.bin", std::string(200'000, 'x'));
    const auto ask_as = [&](std::uint32_t connection, const char* path) {
        auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", path);
        exchange->set_connection({connection, 1});
        server().handle(*exchange);
        return exchange;
    };
    options_.small_copy_bytes_max = 0;
    const auto first = ask_as(1, "/a.txt");
    EXPECT_EQ(first->status(), 200);
    EXPECT_EQ(ask_as(1, "/b.txt")->status(), 503);
    const auto second = ask_as(2, "/b.txt");
    EXPECT_EQ(second->status(), 200);
    EXPECT_EQ(first->body(), "larger than the room");
    EXPECT_EQ(second->body(), "larger than the room, too");
    EXPECT_EQ(ask_as(1, "/b.txt")->status(), 200);
    EXPECT_EQ(ask_as(3, "/big.bin")->status(), 503);
    EXPECT_EQ(server().cache().paths(), 0U) << "none of these is kept";
}

TEST_F(StaticFilesTest, ShortReadsAndInterruptionsAreNotSeen) {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += std::to_string(i);
    folder_.write("a.txt", text);
    kernel_.set_short_reads(true);
    EXPECT_EQ(get("/a.txt").body(), text);
    EXPECT_EQ(exchange_->content_length(), static_cast<std::int64_t>(text.size()));
}

}  // namespace
}  // namespace tiderace::http::handler
