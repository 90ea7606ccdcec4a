// Page: answers made of templates and values.
#include "tiderace/http/app/pages/page.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tiderace/http/app/pages/page_fixture.h"

namespace tiderace::http {
namespace {

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

TEST_F(PagesTest, AReplyGivesStatusFieldsAndCookies) {
    app.templates(folder.path());
    app.get<"/">([] {
        return page<"feed.html">(
            Feed{"closed", {}},
            Reply(403).field("X-Tide", "low").cookie({.name = "seen", .value = "1"}));
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
