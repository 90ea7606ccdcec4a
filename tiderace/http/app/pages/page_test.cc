// Page: answers made of templates and values.
#include "tiderace/http/app/pages/page.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tiderace/http/app/pages/page_fixture.h"

namespace tiderace::http {
namespace {

// It has no posts, so its page ends behind the name.
struct OnlyNamed {
    std::string name;
};

TEST_F(PagesTest, AValueBecomesAPageThatIsEscapedByPlace) {
    app.templates(folder.path());
    app.get<"/">([] { return page<"feed.html">(Feed{"<i>", {"javascript:x"}}); });
    app.get<"/mail">([] { return page<"mail/feed.txt">(Feed{"<i>", {"a", "b"}}); });
    ASSERT_EQ(app.fault(), "");
    EXPECT_EQ(get("/"),
              "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 54\r\n"
              "Connection: close\r\n\r\n"
              "<h1>&lt;i&gt; <a href=\"#blocked\">javascript:x</a></h1>");
    const std::string mail = get("/mail");
    EXPECT_NE(mail.find("Content-Type: text/plain; charset=utf-8\r\n"), std::string::npos);
    EXPECT_EQ(body_of(mail), "<i>: 2\n");
}

TEST_F(PagesTest, AResponseGivesStatusHeadersAndCookies) {
    app.templates(folder.path());
    app.get<"/">([] {
        return page<"feed.html">(
            Feed{"closed", {}},
            Response(403).header("X-Tide", "low").cookie({.name = "seen", .value = "1"}));
    });
    const std::string answer = get("/");
    EXPECT_EQ(status_of(answer), "403");
    EXPECT_NE(answer.find("X-Tide: low\r\n"), std::string::npos);
    EXPECT_NE(answer.find("Set-Cookie: seen=1; "), std::string::npos);
    EXPECT_EQ(body_of(answer), "<h1>closed</h1>");
}

TEST_F(PagesTest, PagesStandInOptionalsVariantsAndTasks) {
    app.templates(folder.path());
    app.get<"/optional/{n}">(
        [](int n) { return n == 0 ? std::optional<Page>() : page<"feed.html">(Feed{"one", {}}); });
    app.get<"/task">([]() -> task::Task<std::variant<Page, Redirect>> {
        co_await task::sleep(1s);
        co_return page("feed.html", Feed{"two", {}});
    });
    EXPECT_EQ(status_of(get("/optional/0")), "404");
    EXPECT_EQ(body_of(get("/optional/1")), "<h1>one</h1>");
    EXPECT_EQ(body_of(get("/task")), "<h1>two</h1>");
}

TEST_F(PagesTest, AValueThatTheHandlerKeepsIsCopied) {
    app.templates(folder.path());
    app.get<"/">([] {
        Feed feed{"a name that is longer than a short text", {"one", "two"}};
        const Feed same = feed;
        auto first = page<"feed.html">(feed);
        auto second = page<"feed.html">(same);
        EXPECT_EQ(feed.name, same.name);
        EXPECT_EQ(feed.posts, same.posts);
        feed.name = "another";
        (void)first;
        return second;
    });
    ASSERT_EQ(app.fault(), "");
    EXPECT_NE(get("/").find("<h1>a name that is longer than a short text <a "), std::string::npos);
}

// The loop renders them into the same room.
TEST_F(PagesTest, APageHasNothingOfThoseBeforeIt) {
    app.templates(folder.path());
    app.get<"/long/{n}">(
        [](std::size_t n) { return page<"feed.html">(Feed{std::string(n, 'x'), {"a", "b"}}); });
    app.get<"/short">([] { return page<"feed.html">(Feed{"short", {}}); });
    app.get<"/broken">([] { return page("feed.html", OnlyNamed{"the first block"}); });
    app.get<"/slow">([]() -> task::Task<Page> {
        co_await task::sleep(1s);
        co_return page<"feed.html">(Feed{"slow", {}});
    });
    for (const char* length : {"5000", "70000", "300000", "100"}) {
        const std::string longer = body_of(get("/long/" + std::string(length)));
        EXPECT_EQ(longer.size(), std::stoul(length) + 45) << length;
        EXPECT_EQ(body_of(get("/short")), "<h1>short</h1>");
        EXPECT_EQ(status_of(get("/broken")), "500");
        EXPECT_EQ(body_of(get("/short")), "<h1>short</h1>");
    }
    // The second request is answered within the answer of the first one.
    auto peer = connect();
    peer->say(
        "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /short HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(world.run_until([&] { return peer->over(); }));
    const std::string both = peer->heard();
    const std::size_t first = both.find("<h1>slow</h1>HTTP/1.1 200 OK\r\n");
    EXPECT_NE(first, std::string::npos) << both;
    EXPECT_TRUE(both.ends_with("\r\n\r\n<h1>short</h1>")) << both;
}

TEST_F(PagesTest, AMountedAppBringsItsTemplates) {
    App blog;
    blog.templates(folder.path()).get<"/">([] { return page<"feed.html">(Feed{"blog", {}}); });
    app.mount("/blog", std::move(blog));
    ASSERT_EQ(app.fault(), "");
    EXPECT_EQ(body_of(get("/blog")), "<h1>blog</h1>");
}

TEST_F(PagesTest, WhatIsFoundOnlyWhenItIsShownIs500AndTheRestGoesOn) {
    app.templates(folder.path());
    app.get<"/">([] { return page("feed.html", std::vector<int>{1}); });
    app.get<"/outside">([] { return page("../feed.html", Feed{}); });
    // Page says neither which template nor which type.
    app.get<"/any">([]() -> Page { return page<"feed.html">(std::vector<int>{1}); });
    ASSERT_EQ(app.fault(), "");
    app.get<"/good">([] { return page<"feed.html">(Feed{"good", {}}); });
    EXPECT_EQ(status_of(get("/")), "500");
    EXPECT_EQ(status_of(get("/outside")), "500");
    EXPECT_EQ(status_of(get("/any")), "500");
    EXPECT_EQ(body_of(get("/good")), "<h1>good</h1>");
}

}  // namespace
}  // namespace tiderace::http
