#include "server/site/fixed_answer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::server {
namespace {

class FixedAnswerTest : public ::testing::Test {
  protected:
    // Where a request is led.
    std::string location(FixedAnswer& redirect, std::string_view target,
                         std::string_view method = "GET") {
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, method, target);
        redirect.handle(*exchange);
        EXPECT_EQ(exchange->status(), 308);
        return exchange->header("Location");
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
};

TEST_F(FixedAnswerTest, TheRestOfThePathAndTheQueryGoAlong) {
    FixedAnswer redirect({"/new{rest}"}, {.path = "/old"});
    EXPECT_EQ(location(redirect, "/old"), "/new");
    EXPECT_EQ(location(redirect, "/old/"), "/new/");
    EXPECT_EQ(location(redirect, "/old/a/b?c=d&e"), "/new/a/b?c=d&e");
    EXPECT_EQ(location(redirect, "/old?"), "/new?");
    EXPECT_EQ(location(redirect, "/old/x", "POST"), "/new/x");
}

TEST_F(FixedAnswerTest, ASlashAtTheTargetsEndIsNotDoubled) {
    FixedAnswer top({"/{rest}"}, {.path = "/old"});
    EXPECT_EQ(location(top, "/old"), "/");
    EXPECT_EQ(location(top, "/old/"), "/");
    EXPECT_EQ(location(top, "/old/evil.example"), "/evil.example") << "no other server";
    FixedAnswer away({"https://a.example/v2/{rest}"}, {.path = "/old"});
    EXPECT_EQ(location(away, "/old"), "https://a.example/v2/");
    EXPECT_EQ(location(away, "/old/x"), "https://a.example/v2/x");
}

TEST_F(FixedAnswerTest, BytesThatAUrlCannotHaveAreEncodedAgain) {
    FixedAnswer redirect({"/new{rest}"}, {.path = "/old"});
    // As the canonical path has them: decoded.
    EXPECT_EQ(location(redirect, "/old/a b\r\nX"), "/new/a%20b%0D%0AX");
    EXPECT_EQ(location(redirect, "/old/%"), "/new/%25");
}

TEST_F(FixedAnswerTest, AllPathsMayLeadElsewhere) {
    FixedAnswer all({"https://a.example{rest}"}, {.path = ""});
    EXPECT_EQ(location(all, "/"), "https://a.example/");
    EXPECT_EQ(location(all, "/x"), "https://a.example/x");
}

TEST_F(FixedAnswerTest, ARedirectMayLeadAllToOnePlace) {
    FixedAnswer feed({.target = "/feed.xml"}, {.path = "/feed"});
    EXPECT_EQ(location(feed, "/feed?page=2"), "/feed.xml");
    FixedAnswer exact({.target = "/feed.xml{rest}"}, {.path = "/feed"});
    EXPECT_EQ(location(exact, "/feed?page=2"), "/feed.xml?page=2");
}

TEST_F(FixedAnswerTest, VariablesStandForPartsOfTheRequest) {
    FixedAnswer stars({"/items/{2}{1}/x"}, {.path = "/shop/*/item-**"});
    EXPECT_EQ(location(stars, "/shop/a b/item-7/8?c"), "/items/7/8a%20b/x?c");
    FixedAnswer none({"/b/{1}/c"}, {.path = "/a/**/b"});
    EXPECT_EQ(location(none, "/a/b"), "/b/c") << "no \"//\" where a star stands for nothing";
    FixedAnswer deep({"/{1}"}, {.path = "/a**"});
    EXPECT_EQ(location(deep, "/a/evil.example"), "/evil.example") << "no other server";
    EXPECT_EQ(location(deep, "/a\\evil.example"), "/%5Cevil.example");
    FixedAnswer whole({"https://{host.1}.example{path}"}, {.path = "/x"});
    EXPECT_EQ(location(whole, "/x/y?q"), "https://localhost.example/x/y?q");
    FixedAnswer host({"https://{host}/start"}, {.path = "/x"});
    EXPECT_EQ(location(host, "/x/y?q"), "https://localhost/start");
}

TEST_F(FixedAnswerTest, AVariableWithoutAValueIsNotFound) {
    FixedAnswer label({"https://{host.3}/"}, {.path = "/x"});
    const auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/x");
    label.handle(*exchange);
    EXPECT_EQ(exchange->status(), 404);
}

TEST_F(FixedAnswerTest, ATextOrAnErrorHasItsStatus) {
    const auto ask = [&](FixedAnswer& answer) {
        auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/a");
        answer.handle(*exchange);
        return exchange;
    };
    FixedAnswer text({.status = 200, .text = "fine\n"}, {.path = "/a"});
    EXPECT_EQ(ask(text)->status(), 200);
    EXPECT_EQ(ask(text)->body(), "fine\n");
    FixedAnswer gone({.status = 410}, {.path = "/a"});
    EXPECT_EQ(ask(gone)->status(), 410);
}

TEST(RedirectCircle, IsFoundThroughAnyNumberOfRules) {
    struct Rule {
        std::string path;
        std::string target;
        bool keeps_rest = true;
    };
    using Rules = std::vector<Rule>;
    const std::pair<Rules, std::string> cases[] = {
        {{{"/a", "/b"}, {"/b", "/a"}}, "/a -> /b -> /a -> /b"},
        {{{"/a", "/b/"}, {"/b", "/a"}}, "/a -> /b/ -> /a/ -> /b/"},
        {{{"/c", "/a"}, {"/a", "/b"}, {"/b", "/%61"}}, "/c -> /a -> /b -> /%61"},
        {{{"/a", "/b"}, {"/b", "/c"}, {"/c", "/d"}, {"/d", "/e"}, {"/e", "/a"}},
         "/a -> /b -> /c -> /d"},
        {{{"/a", "/b"}, {"/b/x", "/a/x"}}, "/b/x -> /a/x -> /b/x -> /a/x"},
        {{{"/a", "/b/x"}, {"/b", "/a/y"}}, "/a -> /b/x -> /a/y/x -> /b/x/y/x"},
        {{{"", "/a"}, {"/a", "/b"}}, "/ -> /a/ -> /b/ -> /a/b/"},
        {{{"=/a", "/b"}, {"/b", "/a"}}, "/a -> /b -> /a -> /b"},
        {{{"=/a", "/b"}, {"/b", "/a/x"}}, ""},
        {{{"/a", "/b"}, {"/b", "/c"}, {"/c", "/d"}}, ""},
        {{{"/a", "/b"}, {"/b", ""}, {"", "/a"}}, ""},
        {{{"/a", "/b/x"}, {"/b", "/a/y"}, {"/a/y", ""}}, ""},
        {{{"/a", "https://a.example/b"}, {"/b", "/a"}}, ""},
        {{}, ""},
        // A path alone, which the rest of a longer one does not follow.
        {{{"=/feed", "/feed.xml"}, {"/feed.xml", "/feed"}},
         "/feed -> /feed.xml -> /feed -> /feed.xml"},
        {{{"/a", "/feed"}, {"=/feed", "/feed.xml"}}, ""},
        // Without the rest it leads out of itself.
        {{{"/old", "/new", false}, {"/new/x", "/old/x"}}, ""},
        // By what a star stands for.
        {{{"/a", "/b/x.html"}, {"/b/*.html", "/a/{1}", false}},
         "/a -> /b/x.html -> /a/x -> /b/x.html/x"},
    };
    for (const auto& [rules, circle] : cases) {
        std::vector<Route> routes;
        for (const Rule& rule : rules) {
            const bool has_rest = rule.keeps_rest && !rule.target.empty();
            routes.push_back(
                {.match = {.path = rule.path},
                 .reply = FixedReply{.target = rule.target + (has_rest ? "{rest}" : "")}});
        }
        EXPECT_EQ(redirect_circle(routes), circle) << (rules.empty() ? "" : rules.front().path);
    }
}

}  // namespace
}  // namespace tiderace::server
