// The next request sees every change, whatever was changed and how.
#include "tiderace/http/files/file_watch.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/coding/content_encoder.h"
#include "tiderace/http/files/file_watch_fixture.h"

namespace tiderace::http::files {
namespace {

// With the names of what changed, as inotify reports, and without, as kqueue does.
class EveryChange : public FileWatchTest, public ::testing::WithParamInterface<bool> {
  protected:
    EveryChange() { script.names = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(FileWatch, EveryChange, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Named" : "Nameless"; });

TEST_P(EveryChange, AFileIsReplacedWrittenOverCutDeletedAndMadeAgain) {
    for (const std::size_t bytes : {100, 200'000}) {  // from memory, from its descriptor
        folder_.write("dir/a.txt", std::string(bytes, 'a'));
        EXPECT_EQ(next("/dir/a.txt"), std::string(bytes, 'a'));
        folder_.replace("dir/a.txt", std::string(bytes, 'b'));
        EXPECT_EQ(next("/dir/a.txt"), std::string(bytes, 'b'));
        folder_.write("dir/a.txt", std::string(bytes, 'c'));
        EXPECT_EQ(next("/dir/a.txt"), std::string(bytes, 'c'));
        folder_.truncate("dir/a.txt", 3);
        EXPECT_EQ(next("/dir/a.txt"), "ccc");
        folder_.remove("dir/a.txt");
        EXPECT_EQ(next("/dir/a.txt"), "404");
        folder_.write("dir/a.txt", "back");
        EXPECT_EQ(next("/dir/a.txt"), "back");
    }
}

TEST_P(EveryChange, ChangesThatFollowOneAnotherAreAllSeen) {
    folder_.write("a.txt", "0");
    EXPECT_EQ(next("/a.txt"), "0");
    for (int i = 1; i < 200; ++i) {
        const std::string content = std::to_string(i);
        i % 2 == 0 ? folder_.replace("a.txt", content) : folder_.write("a.txt", content);
        EXPECT_EQ(next("/a.txt"), content);
    }
}

TEST_P(EveryChange, SiblingsIndexesPagesAndFallbacksComeAndGo) {
    options_.paths.clean_urls = true;
    options_.spa = "/app/index.html";
    folder_.write("a.txt", "plain");
    folder_.write("docs/b.txt", "b");
    folder_.write("app/index.html", "app");
    const Fields gzip = {{"Accept-Encoding", "gzip"}};
    EXPECT_EQ(next("/a.txt", gzip), "plain");
    folder_.write("a.txt.gz", "packed");
    EXPECT_EQ(next("/a.txt", gzip), "packed");
    folder_.write("a.txt.gz", "packed anew");
    EXPECT_EQ(next("/a.txt", gzip), "packed anew");
    folder_.remove("a.txt.gz");
    EXPECT_EQ(next("/a.txt", gzip), "plain");

    EXPECT_EQ(next("/docs/"), "app");
    folder_.write("docs/index.html", "docs");
    EXPECT_EQ(next("/docs/"), "docs");
    folder_.replace("docs/index.html", "docs anew");
    EXPECT_EQ(next("/docs/"), "docs anew");
    rename("docs/index.html", "docs/away.html");
    EXPECT_EQ(next("/docs/"), "app");
    rename("docs/away.html", "docs/index.html");
    EXPECT_EQ(next("/docs/"), "docs anew");
    folder_.remove("docs/index.html");
    EXPECT_EQ(next("/docs/"), "app");

    EXPECT_EQ(next("/about"), "app");
    folder_.write("about.html", "about us");
    EXPECT_EQ(next("/about"), "about us");
    folder_.remove("about.html");
    EXPECT_EQ(next("/about"), "app");
    EXPECT_EQ(next("/docs"), "301");
    folder_.write("docs.html", "the page of docs");
    EXPECT_EQ(next("/docs"), "the page of docs");
    folder_.remove("docs.html");
    EXPECT_EQ(next("/docs"), "301");
    folder_.replace("app/index.html", "another app");
    EXPECT_EQ(next("/orders/7"), "another app");
}

TEST_P(EveryChange, FoldersAreRenamedReplacedAndMade) {
    folder_.write("a/b/c.txt", "old");
    folder_.write("other/b/c.txt", "new");
    EXPECT_EQ(next("/a/b/c.txt"), "old");
    EXPECT_EQ(next("/made/later/x.txt"), "404");
    rename("a", "away");
    EXPECT_EQ(next("/a/b/c.txt"), "404");
    rename("other", "a");
    EXPECT_EQ(next("/a/b/c.txt"), "new");
    folder_.replace("a/b/c.txt", "newer");
    EXPECT_EQ(next("/a/b/c.txt"), "newer");
    folder_.replace("away/b/c.txt", "nobody asks for this");
    EXPECT_EQ(next("/a/b/c.txt"), "newer");
    folder_.write("made/later/x.txt", "here");
    EXPECT_EQ(next("/made/later/x.txt"), "here");
    EXPECT_EQ(next("/away/b/c.txt"), "nobody asks for this");
    remove_all("a");
    EXPECT_EQ(next("/a/b/c.txt"), "404");
    EXPECT_EQ(next("/a"), "404");
    folder_.write("a/b/c.txt", "again");
    EXPECT_EQ(next("/a/b/c.txt"), "again");
    EXPECT_EQ(next("/a"), "301");
}

// The folder itself is reported, and nothing of the files in it.
TEST_P(EveryChange, AFolderThatIsRenamedIsFoundUnderItsNewName) {
    folder_.write("dir/a.txt", "a");
    EXPECT_EQ(next("/dir/a.txt"), "a");
    EXPECT_EQ(next("/away/a.txt"), "404");
    rename("dir", "away");
    EXPECT_EQ(next("/away/a.txt"), "a");
    EXPECT_EQ(next("/dir/a.txt"), "404");
}

// The folder has no requests of its own: it is watched for another link that leads through it.
TEST_P(EveryChange, ALinkThatLedNowhereIsFoundWhenAnotherLinksFolderIsRenamed) {
    folder_.write("releases/1/a.txt", "a");
    folder_.link("one.txt", "releases/1/a.txt");
    folder_.link("two.txt", "releases/2/a.txt");
    EXPECT_EQ(next("/one.txt"), "a");
    EXPECT_EQ(next("/two.txt"), "404");
    rename("releases/1", "releases/2");
    EXPECT_EQ(next("/two.txt"), "a");
    EXPECT_EQ(next("/one.txt"), "404");
}

TEST_P(EveryChange, LinksLeadToAnotherRelease) {
    folder_.write("releases/1/a.txt", "one");
    folder_.write("releases/2/a.txt", "two");
    folder_.link("current", "releases/1");
    folder_.link("stable", "current");
    folder_.link("a.txt", "stable/a.txt");
    EXPECT_EQ(next("/current/a.txt"), "one");
    EXPECT_EQ(next("/stable/a.txt"), "one");
    EXPECT_EQ(next("/a.txt"), "one");
    folder_.link("next", "releases/2");
    rename("next", "current");
    EXPECT_EQ(next("/a.txt"), "two");
    EXPECT_EQ(next("/stable/a.txt"), "two");
    EXPECT_EQ(next("/current/a.txt"), "two");
    folder_.replace("releases/2/a.txt", "two, corrected");
    EXPECT_EQ(next("/a.txt"), "two, corrected");
    EXPECT_EQ(next("/stable/a.txt"), "two, corrected");
    folder_.write("releases/2/a.txt", "two, in place");
    EXPECT_EQ(next("/current/a.txt"), "two, in place");
    EXPECT_EQ(next("/a.txt"), "two, in place");
    // What no link of this site is, but what its links lead through.
    rename("releases", "gone");
    EXPECT_EQ(next("/a.txt"), "404");
    EXPECT_EQ(next("/stable/a.txt"), "404");
    folder_.write("releases/2/a.txt", "three");
    EXPECT_EQ(next("/a.txt"), "three");
    EXPECT_EQ(next("/stable/a.txt"), "three");
}

// As volumes of a Kubernetes ConfigMap are changed: a.txt -> ..data/a.txt, ..data -> ..1.
TEST_P(EveryChange, HiddenFoldersThatLinksLeadThroughAreReplaced) {
    folder_.write("..1/a.txt", "one");
    folder_.write("..2/a.txt", "two");
    folder_.link("..data", "..1");
    folder_.link("a.txt", "..data/a.txt");
    EXPECT_EQ(next("/a.txt"), "one");
    folder_.link("..data_tmp", "..2");
    rename("..data_tmp", "..data");
    EXPECT_EQ(next("/a.txt"), "two");
    remove_all("..1");
    EXPECT_EQ(next("/a.txt"), "two");
}

TEST_P(EveryChange, ALinkInAFolderIsFollowedToo) {
    folder_.write("..1/a.txt", "one");
    folder_.write("..2/a.txt", "two");
    folder_.link("..data", "..1");
    folder_.make_folder("sub");
    folder_.link("sub/a.txt", "../..data/a.txt");
    EXPECT_EQ(next("/sub/a.txt"), "one");
    folder_.link("..data_tmp", "..2");
    rename("..data_tmp", "..data");
    EXPECT_EQ(next("/sub/a.txt"), "two");
    folder_.link("sub/tmp", "../..1/a.txt");
    rename("sub/tmp", "sub/a.txt");
    EXPECT_EQ(next("/sub/a.txt"), "one");
}

TEST_P(EveryChange, ALinkThatIsReplacedTakesNothingFromTheOthers) {
    folder_.write("..1/a.txt", "one");
    folder_.write("..2/a.txt", "two");
    folder_.link("..data", "..1");
    folder_.link("a.txt", "..data/a.txt");
    folder_.write("b/b.txt", "b");
    folder_.link("b.txt", "b/b.txt");
    EXPECT_EQ(next("/a.txt"), "one");
    EXPECT_EQ(next("/b.txt"), "b");
    folder_.write("c/b.txt", "c");
    folder_.link("b_tmp", "c/b.txt");
    rename("b_tmp", "b.txt");
    EXPECT_EQ(next("/b.txt"), "c");
    folder_.link("..data_tmp", "..2");
    rename("..data_tmp", "..data");
    EXPECT_EQ(next("/a.txt"), "two");
}

TEST_P(EveryChange, TheRootIsReplaced) {
    folder_.write("one/a.txt", "one");
    folder_.write("two/a.txt", "two");
    folder_.write("three/a.txt", "three");
    folder_.link("site", "one");
    options_.root = folder_.path_of("site");
    EXPECT_EQ(next("/a.txt"), "one");
    folder_.link("new", "two");
    rename("new", "site");  // a link that leads elsewhere
    EXPECT_EQ(next("/a.txt"), "two");
    folder_.replace("two/a.txt", "two, corrected");
    EXPECT_EQ(next("/a.txt"), "two, corrected");
    rename("two", "away");  // what the link leads to is replaced
    rename("three", "two");
    EXPECT_EQ(next("/a.txt"), "three");
    remove_all("two");  // until there is another, the old one is served, which is empty
    EXPECT_EQ(next("/a.txt"), "404");
    folder_.write("two/a.txt", "four");
    EXPECT_EQ(next("/a.txt"), "four");
    EXPECT_FALSE(server().watch()->root_may_differ()) << "it was compared";
}

// Each release replaces the watches of the one before. The next release may come between the look
// at the link and the new watches, or between them.
TEST_P(EveryChange, ARootThatIsReplacedWhileItIsWatchedAnewIsSeenByTheNextRequest) {
    for (const char* name : {"one", "two", "three"}) {
        folder_.write(std::string(name) + "/a.txt", name);
        folder_.write(std::string(name) + "/dir/a.txt", name);
    }
    const auto deploy = [&](const char* name) {
        folder_.link("new", name);
        rename("new", "site");
    };
    options_.root = folder_.path_of("site");
    for (const bool at_the_start : {true, false}) {
        bool has_happened = true;
        for (int call = 0; has_happened; ++call) {
            SCOPED_TRACE("before call " + std::to_string(call) + (at_the_start ? ", start" : ""));
            deploy("one");
            server_.reset();
            if (!at_the_start) {
                EXPECT_EQ(next("/a.txt"), "one");
                EXPECT_EQ(next("/dir/a.txt"), "one");
                deploy("two");
            }
            script.happens_before = call;
            script.happens = [&] { deploy("three"); };
            server();
            if (!at_the_start) next("/a.txt");
            has_happened = !script.happens;
            script.happens = {};
            if (!has_happened) deploy("three");
            EXPECT_EQ(next("/a.txt"), "three");
            EXPECT_EQ(next("/dir/a.txt"), "three");
            deploy("one");
            EXPECT_EQ(next("/a.txt"), "one") << "and it is still watched";
        }
    }
}

// The folder that holds the root is renamed, and the root's path leads to it all the same.
TEST_P(EveryChange, ARootWhoseParentMovesOftenIsWatchedEachTime) {
    options_.watch.watches_max = 20;
    folder_.write("parent0/site/a.txt", "one");
    folder_.write("parent0/site/..1/l.txt", "one");
    folder_.write("parent0/site/..2/l.txt", "two");
    folder_.link("parent0/site/..data", "..1");
    folder_.link("parent0/site/l.txt", "..data/l.txt");
    folder_.write("two/a.txt", "two");
    folder_.link("parent", "parent0");
    options_.root = folder_.path_of("parent/site");
    for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(next("/a.txt"), "one") << i;
        const std::string moved = "parent" + std::to_string(i + 1);
        rename("parent" + std::to_string(i), moved);
        folder_.link("new", moved);
        rename("new", "parent");
    }
    EXPECT_EQ(next("/a.txt"), "one");
    EXPECT_EQ(next("/l.txt"), "one") << "and there is room for links";
    folder_.link("parent/site/new", "..2");
    rename("parent/site/new", "parent/site/..data");
    EXPECT_EQ(next("/l.txt"), "two");
    rename("parent/site", "parent/old");
    rename("two", "parent/site");
    EXPECT_EQ(next("/a.txt"), "two");
}

TEST_P(EveryChange, CompressedVariantsFollowTheirFile) {
    if (!coding::built_in_codings().gzip) GTEST_SKIP() << "not built in";
    core::WorkerPool pool(1, 64);
    VariantStore store(1_MiB);
    options_.paths.compress.codings = {.gzip = true, .zstd = false, .br = false};
    options_.compress_pool = &pool;
    options_.variants = &store;
    const std::string old_text(20'000, 'o'), new_text(20'000, 'n');
    folder_.write("a.css", old_text);
    const Fields gzip = {{"Accept-Encoding", "gzip"}};
    next("/a.css", gzip);
    for (int turns = 0; turns < 100'000 && !get("/a.css", gzip).has("Content-Encoding"); ++turns) {
        loop_->turn(1ms);
    }
    EXPECT_EQ(exchange_->header("Content-Encoding"), "gzip");
    folder_.replace("a.css", new_text);
    EXPECT_EQ(next("/a.css", gzip), new_text);
    EXPECT_FALSE(exchange_->has("Content-Encoding"));
    server_.reset();
}

TEST_P(EveryChange, WhatIsLostExpiresAll) {
    folder_.write("a/a.txt", "a");
    folder_.write("b/b.txt", "b");
    EXPECT_EQ(next("/a/a.txt"), "a");
    EXPECT_EQ(next("/b/b.txt"), "b");
    EXPECT_EQ(next("/absent"), "404");
    script.loses = true;
    folder_.replace("a/a.txt", "A");
    folder_.replace("b/b.txt", "B");
    folder_.write("absent", "here");
    EXPECT_EQ(next("/a/a.txt"), "A");
    EXPECT_EQ(next("/b/b.txt"), "B");
    EXPECT_EQ(next("/absent"), "here");
    folder_.replace("a/a.txt", "AA");  // and all is watched again
    folder_.replace("b/b.txt", "BB");
    EXPECT_EQ(next("/a/a.txt"), "AA");
    EXPECT_EQ(next("/b/b.txt"), "BB");
    script.loses = true;
    folder_.replace("a/a.txt", "again");
    EXPECT_EQ(next("/a/a.txt"), "again");
    folder_.write("a/a.txt", "in place");
    EXPECT_EQ(next("/a/a.txt"), "in place");
}

TEST_P(EveryChange, WhatIsLostMayBeThatTheRootWasReplaced) {
    for (const char* name : {"one", "two", "three"}) folder_.write(name + std::string("/a"), name);
    folder_.link("site", "one");
    options_.root = folder_.path_of("site");
    EXPECT_EQ(next("/a"), "one");
    script.loses = true;
    folder_.link("new", "two");
    rename("new", "site");
    EXPECT_EQ(next("/a"), "two");
    folder_.link("new", "three");  // and it is watched again
    rename("new", "site");
    EXPECT_EQ(next("/a"), "three");
}

// One receive brings both requests; the second was sent after a change, and counts as a later one.
TEST_P(EveryChange, AChangeBetweenTwoRequestsOfOneTurnIsSeenByTheSecond) {
    folder_.write("a.txt", "old");
    next("/a.txt");
    EXPECT_EQ(next("/a.txt"), "old");
    folder_.replace("a.txt", "new");
    EXPECT_EQ(get("/a.txt").body(), "new");
    script.takes = 0;
    for (int i = 0; i < 10; ++i) get("/a.txt");
    EXPECT_EQ(script.takes, 0) << "what was received with the second one";
}

TEST_P(EveryChange, OfAConnectionThatAsksTwiceInATurnTheSecondSeesTheChange) {
    const auto asks = [&](std::uint32_t connection) {
        exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/a.txt", Fields{});
        exchange_->set_connection({connection, 1});
        server().handle(*exchange_);
        exchange_->finish();
        return exchange_->body();
    };
    folder_.write("a.txt", "old");
    next("/a.txt");
    loop_->turn(0s);
    EXPECT_EQ(asks(1), "old");
    folder_.replace("a.txt", "new");
    EXPECT_EQ(asks(2), "old") << "its only one may have been sent before the change";
    EXPECT_EQ(asks(2), "new");
}

// There are 128 instances for all programs of a user.
TEST_P(EveryChange, ManyLoopsShareOneInstanceAndEachSeesTheChange) {
    struct Other {
        std::unique_ptr<core::EventLoop> loop;
        std::unique_ptr<handler::StaticFiles> server;
    };
    std::vector<Other> others(150);
    const auto ask = [](Other& other) {
        other.loop->turn(0s);
        const auto exchange =
            core::make_ref<testing::RecordedExchange>(*other.loop, "GET", "/dir/a.txt");
        other.server->handle(*exchange);
        exchange->finish();
        return exchange->status() == 200 ? exchange->body() : std::string("none");
    };
    folder_.write("dir/a.txt", "old");
    for (Other& other : others) {
        other.loop = std::move(*core::EventLoop::create({}));
        other.server = std::move(*handler::StaticFiles::create(*other.loop, options_));
        EXPECT_EQ(ask(other), "old");
    }
    EXPECT_EQ(next("/dir/a.txt"), "old");
    EXPECT_EQ(script.opened, 1);
    folder_.replace("dir/a.txt", "new");
    EXPECT_EQ(next("/dir/a.txt"), "new");
    others.resize(100);  // what they watched with others stays watched
    folder_.replace("dir/a.txt", "newer");
    for (Other& other : others) EXPECT_EQ(ask(other), "newer");
    EXPECT_EQ(next("/dir/a.txt"), "newer");
}

// Between the call that watches and the calls that check and read, before each of them.
TEST_P(EveryChange, AChangeAtAnyMomentOfTheFirstLookIsSeenByTheNextRequest) {
    struct Race {
        const char* name;
        std::function<void()> happens;
    };
    const Race races[] = {
        {"replaced", [&] { folder_.replace("dir/a.txt", "new"); }},
        {"written over", [&] { folder_.write("dir/a.txt", "new"); }},
        {"folder replaced",
         [&] {
             folder_.write("fresh/a.txt", "new");
             remove_all("dir");
             rename("fresh", "dir");
         }},
    };
    for (const Race& race : races) {
        for (std::size_t call = 1; call <= 16; ++call) {
            SCOPED_TRACE(std::string(race.name) + " before call " + std::to_string(call));
            folder_.write("dir/a.txt", "old");
            server_.reset();
            server();
            bool happened = false;
            kernel_.before(call, [&] {
                race.happens();
                happened = true;
            });
            next("/dir/a.txt");
            kernel_.reset();
            if (!happened) race.happens();
            EXPECT_EQ(next("/dir/a.txt"), "new");
        }
    }
}

// No request names what the link leads through, so it is watched only when the link was found.
TEST_P(EveryChange, AChangeBehindALinkAtAnyMomentOfTheFirstLookIsSeenByTheNextRequest) {
    for (std::size_t call = 1; call <= 16; ++call) {
        for (const bool in_place : {false, true}) {
            SCOPED_TRACE("before call " + std::to_string(call));
            folder_.write("..hidden/a.txt", "old");
            if (call == 1 && !in_place) folder_.link("a.txt", "..hidden/a.txt");
            const auto happens = [&] {
                in_place ? folder_.write("..hidden/a.txt", "new")
                         : folder_.replace("..hidden/a.txt", "new");
            };
            server_.reset();
            server();
            bool happened = false;
            kernel_.before(call, [&] {
                happens();
                happened = true;
            });
            next("/a.txt");
            kernel_.reset();
            if (!happened) happens();
            EXPECT_EQ(next("/a.txt"), "new");
        }
    }
}

}  // namespace
}  // namespace tiderace::http::files
