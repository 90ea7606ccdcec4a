// Tidepool in memory, on each kind of database: every route and rule, and the faults of the system
// it replaces. No port; a clock that the tests own.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using tiderace::testing::Client;
using tiderace::testing::ClientResponse;
using tiderace::testing::form;

TEST_P(TidepoolTest, GuestsSeeTheFrontPageAndAreSentToLogIn) {
    Browser guest(*app_);
    EXPECT_THAT(guest.get("/").text(), HasSubstr("What did the tide bring in?"));
    for (const char* path : {"/settings", "/notifications", "/search?q=x", "/posts/1/edit"}) {
        const ClientResponse answer = guest.get(path);
        EXPECT_EQ(answer.status, 303) << path;
        EXPECT_THAT(answer.header("Location"), StartsWith("/log-in?back=%2F")) << path;
    }
    EXPECT_EQ(guest.get("/about").status, 200);
    EXPECT_EQ(guest.get("/nowhere").status, 404);
    EXPECT_THAT(guest.get("/nowhere").text(), HasSubstr("Not here"));
    EXPECT_EQ(guest.get("/static/tidepool.css").status, 200);
}

// Without a session, each of these requests crashed the system that this one replaces, or wrote a
// row without an owner.
TEST_P(TidepoolTest, GuestsChangeNothing) {
    member("ann")->write("hello");
    Browser guest(*app_);
    for (const char* path :
         {"/posts/1/like", "/posts/1/unlike", "/posts/1/delete", "/posts/1/report",
          "/members/ann/follow", "/members/ann/block", "/settings/profile", "/settings/password",
          "/settings/log-out-elsewhere", "/settings/delete"}) {
        const ClientResponse answer = guest.send(
            path, {{"body", "x"}, {"name", "x"}, {"about", "x"}, {"old", "x"}, {"password", "x"}});
        EXPECT_EQ(answer.status, 303) << path;
        EXPECT_THAT(answer.header("Location"), StartsWith("/log-in?back=%2F")) << path;
    }
    for (const char* path : {"/posts", "/posts/1/edit"}) {
        EXPECT_EQ(guest.send(path, {{"body", "x"}}).status, 403) << path;
    }
    EXPECT_THAT(guest.get("/posts/1").text(), HasSubstr("hello"));
}

TEST_P(TidepoolTest, SignUpSaysWhatIsWrongWithEachFieldAndKeepsWhatWasTyped) {
    member("ann");
    struct Case {
        const char *name, *username, *email, *word, *again, *said;
    };
    const std::string long_name(51, 'x');
    Browser guest(*app_);
    for (const Case& one : std::vector<Case>{
             {"", "bob", "bob@example.org", "12345678", "12345678", "1 to 50 characters"},
             {long_name.c_str(), "bob", "bob@example.org", "12345678", "12345678", "1 to 50"},
             {"Bob", "bo", "bob@example.org", "12345678", "12345678", "3 to 30 small letters"},
             {"Bob", "b b", "bob@example.org", "12345678", "12345678", "3 to 30 small letters"},
             {"Bob", "ann", "bob@example.org", "12345678", "12345678", "user name is taken"},
             {"Bob", "ANN", "bob@example.org", "12345678", "12345678", "user name is taken"},
             {"Bob", "bob", "no address", "12345678", "12345678", "This is no e-mail address"},
             {"Bob", "bob", "Ann@Example.org", "12345678", "12345678", "account with this address"},
             {"Bob", "bob", "bob@example.org", "1234567", "1234567", "At least 8 characters"},
             {"Bob", "bob", "bob@example.org", "12345678", "12345679", "two passwords differ"}}) {
        pass_a_minute(guest);  // beyond the limit of sign-ups
        const ClientResponse answer = guest.post("/sign-up", {{"name", one.name},
                                                              {"username", one.username},
                                                              {"email", one.email},
                                                              {"password", one.word},
                                                              {"again", one.again}});
        EXPECT_EQ(answer.status, 422) << one.said;
        EXPECT_THAT(answer.text(), HasSubstr(one.said));
        EXPECT_THAT(answer.text(), HasSubstr("class=\"fault\""));
        EXPECT_THAT(answer.text(), HasSubstr(std::string("value=\"") + one.email + "\""));
        EXPECT_THAT(answer.text(), Not(HasSubstr("12345678")));
    }
    EXPECT_EQ(guest.post("/sign-up", {{"again", "x"}}).status, 422) << "without a password field";
}

TEST_P(TidepoolTest, LogInByNameOrAddressAndLogOut) {
    member("ann");
    Browser ann(*app_, "ann");
    EXPECT_FALSE(ann.is_logged_in());
    EXPECT_EQ(ann.log_in().status, 303);
    EXPECT_TRUE(ann.is_logged_in());
    EXPECT_EQ(ann.get("/log-in").status, 303) << "she is logged in";
    Browser by_address(*app_, "Ann@example.org");
    EXPECT_EQ(by_address.log_in().status, 303);
    EXPECT_TRUE(by_address.is_logged_in());
    EXPECT_EQ(ann.send("/log-out", {}).status, 303);
    EXPECT_FALSE(ann.is_logged_in());
    EXPECT_TRUE(by_address.is_logged_in()) << "elsewhere she stays";
}

TEST_P(TidepoolTest, ACookieIsWorthNothingAfterTheLogOut) {
    auto ann = member("ann");
    const std::string cookies =
        ann->client().cookies().header({.secure = true, .host = "localhost"}, 0);
    ASSERT_THAT(cookies, HasSubstr("__Host-id="));
    EXPECT_EQ(ann->send("/log-out", {}).status, 303);
    tiderace::testing::ClientOptions options;
    options.cookies = false;
    Client replay(*app_, options);
    EXPECT_EQ(replay.get("/settings", {{"Cookie", cookies}}).status, 303);
}

TEST_P(TidepoolTest, AWrongPasswordAndAnUnknownNameSoundAlike) {
    member("ann");
    Browser ann(*app_, "ann");
    Browser nobody(*app_, "nobody_here");
    const ClientResponse wrong = ann.log_in("wrong password");
    const ClientResponse unknown = nobody.log_in("wrong password");
    EXPECT_EQ(wrong.status, 403);
    EXPECT_EQ(unknown.status, 403);
    EXPECT_THAT(wrong.text(), HasSubstr("User name or password is wrong."));
    EXPECT_THAT(unknown.text(), HasSubstr("User name or password is wrong."));
    int status = 0;
    for (int i = 0; i < 20; ++i) status = ann.log_in("guess").status;
    EXPECT_EQ(status, 429) << "guessing is limited";
}

TEST_P(TidepoolTest, AFormOfAnotherSiteChangesNothing) {
    auto ann = member("ann");
    ann->write("mine");
    for (const char* path : {"/posts", "/posts/1/delete", "/posts/1/like", "/log-out",
                             "/settings/profile", "/settings/delete"}) {
        const auto answer = ann->post(path, {{"csrf", "0123456789abcdef0123456789abcdef"},
                                             {"body", "x"},
                                             {"name", "x"},
                                             {"about", "x"},
                                             {"password", std::string(password)}});
        EXPECT_EQ(answer.status, 403) << path;
    }
    const ClientResponse other =
        ann->client().post("/posts", form({{"body", "x"}, {"csrf", ann->token()}}),
                           {{"Sec-Fetch-Site", "cross-site"}});
    EXPECT_EQ(other.status, 403);
    EXPECT_TRUE(ann->is_logged_in());
    EXPECT_EQ(count(ann->get("/").text(), "<article"), 1U);
    EXPECT_EQ(ann->get("/posts/1/like").status, 405) << "no change by GET";
}

TEST_P(TidepoolTest, PostsHaveOneToTwoThousandCharacters) {
    auto ann = member("ann");
    EXPECT_EQ(ann->send("/posts", {{"body", ""}}).status, 422);
    EXPECT_EQ(ann->send("/posts", {{"body", " \n "}}).status, 422);
    std::string sea;
    for (int i = 0; i < 2'000; ++i) sea += "海";
    EXPECT_EQ(ann->send("/posts", {{"body", sea}}).status, 303);
    const ClientResponse refused = ann->send("/posts", {{"body", sea + "x"}});
    EXPECT_EQ(refused.status, 422);
    EXPECT_THAT(refused.text(), HasSubstr(sea + "x")) << "what was typed stays";
}

TEST_P(TidepoolTest, OnesOwnPostWithThreeFollowersShowsOnce) {
    auto ann = member("ann");
    ann->write("once");
    for (const char* name : {"bob", "cid", "dee"}) {
        auto other = member(name);
        EXPECT_EQ(other->send("/members/ann/follow", {}).status, 303);
        EXPECT_EQ(other->send("/members/ann/follow", {}).status, 303) << "twice is once";
        EXPECT_EQ(count(other->get("/").text(), "<article"), 1U);
    }
    EXPECT_EQ(count(ann->get("/").text(), "<article"), 1U);
    EXPECT_THAT(ann->get("/members/ann").text(), HasSubstr("<b>3</b> followers"));
    EXPECT_EQ(ann->send("/members/ann/follow", {}).status, 404) << "nobody follows herself";
}

TEST_P(TidepoolTest, ToLikeTwiceIsToLikeOnce) {
    auto ann = member("ann");
    const std::string post = ann->write("like me");
    auto bob = member("bob");
    EXPECT_EQ(bob->send("/posts/" + post + "/like", {}).status, 303);
    EXPECT_EQ(bob->send("/posts/" + post + "/like", {}).status, 303);
    EXPECT_THAT(bob->get("/posts/" + post).text(), HasSubstr("<span data-likes>1</span>"));
    const ClientResponse now =
        bob->client().post("/posts/" + post + "/unlike", form({{"csrf", bob->token()}}),
                           {{"Accept", "application/json"}});
    EXPECT_EQ(now.text(), R"({"likes":0,"liked":false})");
    EXPECT_EQ(bob->send("/posts/99/like", {}).status, 404);
    EXPECT_EQ(bob->send("/posts/x/like", {}).status, 400);
    EXPECT_EQ(count(ann->get("/notifications").text(), "likes your post"), 1U);
}

TEST_P(TidepoolTest, WhatMembersWriteIsText) {
    const std::string angles(50, '<');
    auto ann = member("ann", angles);
    ann->write("<script>alert(1)</script> \"'& https://example.org/?a=b&c javascript:alert(1)");
    const std::string page = ann->get("/").text();
    EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
    EXPECT_THAT(page, HasSubstr("href=\"https://example.org/?a=b&amp;c\""));
    EXPECT_THAT(page, Not(HasSubstr("href=\"javascript")));
    EXPECT_THAT(ann->get("/members/ann").text(), HasSubstr("&lt;&lt;&lt;"));
    const std::string found = ann->get("/search?q=%22%3E%3Cscript%3E").text();
    EXPECT_THAT(found, HasSubstr("value=\"&#34;&gt;&lt;script&gt;\""));
    EXPECT_THAT(found, Not(HasSubstr("\"><script>")));
}

TEST_P(TidepoolTest, OnlyTheAuthorEditsAndDeletes) {
    auto ann = member("ann");
    const std::string post = ann->write("before #old");
    auto bob = member("bob");
    EXPECT_EQ(bob->get("/posts/" + post + "/edit").status, 404);
    EXPECT_EQ(bob->send("/posts/" + post + "/edit", {{"body", "mine"}}).status, 404);
    EXPECT_EQ(bob->send("/posts/" + post + "/delete", {}).status, 404);
    EXPECT_EQ(ann->send("/posts/" + post + "/edit", {{"body", "after #new"}}).status, 303);
    const std::string page = ann->get("/posts/" + post).text();
    EXPECT_THAT(page, HasSubstr("after"));
    EXPECT_THAT(page, HasSubstr("edited"));
    EXPECT_EQ(count(ann->get("/tags/old").text(), "<article"), 0U);
    EXPECT_EQ(count(ann->get("/tags/new").text(), "<article"), 1U);
    EXPECT_EQ(count(ann->get("/search?q=before").text(), "<article"), 0U);
    EXPECT_EQ(ann->send("/posts/" + post + "/delete", {}).status, 303);
    EXPECT_EQ(ann->get("/posts/" + post).status, 404);
}

TEST_P(TidepoolTest, RepliesMentionsAndFollowersAreNotified) {
    auto ann = member("ann");
    const std::string post = ann->write("a question");
    auto bob = member("bob", "Bob");
    bob->write("an answer", post);
    bob->write("see @ann and @ann, not @nobody_else or bob@ann.example");
    bob->send("/members/ann/follow", {});
    EXPECT_THAT(ann->get("/").text(), HasSubstr(">3</span>")) << "unseen";
    const std::string notices = ann->get("/notifications").text();
    EXPECT_EQ(count(notices, "replied to you"), 1U);
    EXPECT_EQ(count(notices, "mentioned you"), 1U);
    EXPECT_EQ(count(notices, "follows you"), 1U);
    EXPECT_EQ(count(notices, " unseen\""), 3U);
    EXPECT_EQ(count(ann->get("/notifications").text(), " unseen\""), 0U) << "now seen";
    EXPECT_THAT(ann->get("/posts/" + post).text(), HasSubstr("an answer"));
    EXPECT_EQ(bob->send("/posts", {{"body", "x"}, {"parent", "99"}}).status, 404);
}

TEST_P(TidepoolTest, WhoIsBlockedIsNeitherSeenNorHeard) {
    auto ann = member("ann");
    auto bob = member("bob");
    bob->send("/members/ann/follow", {});
    const std::string post = ann->write("for friends");
    EXPECT_EQ(ann->send("/members/bob/block", {}).status, 303);
    EXPECT_EQ(count(bob->get("/").text(), "<article"), 0U);
    EXPECT_EQ(bob->get("/posts/" + post).status, 404);
    EXPECT_EQ(bob->send("/posts/" + post + "/like", {}).status, 404);
    EXPECT_EQ(bob->send("/posts", {{"body", "x"}, {"parent", post}}).status, 404);
    EXPECT_EQ(bob->send("/members/ann/follow", {}).status, 404);
    bob->write("hey @ann");
    EXPECT_EQ(count(ann->get("/notifications").text(), "mentioned you"), 0U);
    EXPECT_EQ(ann->send("/members/bob/unblock", {}).status, 303);
    EXPECT_EQ(bob->get("/posts/" + post).status, 200);
}

TEST_P(TidepoolTest, SearchFindsWordsOfEveryLanguageAsTheyAre) {
    auto ann = member("ann");
    ann->write("high water at noon");
    ann->write("潮水退了，礁石上全是小螃蟹");
    ann->write("100 % salt");
    for (const char* words :
         {"water", "noon", "WATER", "%E6%BD%AE%E6%B0%B4", "%E5%B0%8F%E8%9E%83%E8%9F%B9", "%25"}) {
        EXPECT_EQ(count(ann->get(std::string("/search?q=") + words).text(), "<article"), 1U)
            << words;
    }
    for (const char* words : {"storm", "wa_er", "%22", "water%20storm", "a%22%20OR%20%22b"}) {
        EXPECT_EQ(count(ann->get(std::string("/search?q=") + words).text(), "<article"), 0U)
            << words;
    }
    EXPECT_EQ(count(ann->get("/search?q=ann").text(), "<b>Somebody</b>"), 1U) << "by user name";
    EXPECT_EQ(count(ann->get("/search?q=example.org").text(), "<b>Somebody</b>"), 0U)
        << "nobody is found by an address";
}

TEST_P(TidepoolTest, AFeedGoesOnWhereItsPageEnded) {
    auto ann = member("ann");
    for (int i = 0; i < 25; ++i) {
        pass_a_minute(*ann);  // within the limit of posts
        ann->write("post " + std::to_string(i) + ".");
    }
    const std::string first = ann->get("/").text();
    EXPECT_EQ(count(first, "<article"), 20U);
    std::smatch next;
    ASSERT_TRUE(std::regex_search(first, next, std::regex("href=\"(/\\?before=[0-9]+)\"")));
    ann->write("one that shifts nothing");
    const std::string second = ann->get(next[1].str()).text();
    EXPECT_EQ(count(second, "<article"), 5U);
    EXPECT_THAT(second, HasSubstr("post 4."));
    EXPECT_THAT(second, Not(HasSubstr("rel=\"next\"")));
}

TEST_P(TidepoolTest, SettingsChangeTheProfileAndThePassword) {
    auto ann = member("ann");
    Browser elsewhere(*app_, "ann");
    elsewhere.log_in();
    EXPECT_EQ(ann->send("/settings/profile", {{"name", "Ann B"}, {"about", "<b>"}}).status, 303);
    EXPECT_THAT(ann->get("/members/ann").text(), HasSubstr("Ann B"));
    EXPECT_EQ(ann->send("/settings/profile", {{"name", ""}, {"about", ""}}).status, 422);
    EXPECT_EQ(
        ann->send("/settings/password", {{"old", "wrong"}, {"password", "battery staple"}}).status,
        422);
    EXPECT_TRUE(elsewhere.is_logged_in());
    EXPECT_EQ(ann->send("/settings/password",
                        {{"old", std::string(password)}, {"password", "battery staple"}})
                  .status,
              303);
    EXPECT_TRUE(ann->is_logged_in());
    EXPECT_FALSE(elsewhere.is_logged_in());
    EXPECT_EQ(elsewhere.log_in().status, 403);
    EXPECT_EQ(elsewhere.log_in("battery staple").status, 303);
    EXPECT_EQ(ann->send("/settings/log-out-elsewhere", {}).status, 303);
    EXPECT_FALSE(elsewhere.is_logged_in());
}

TEST_P(TidepoolTest, MembersTakeTheirDataAndGo) {
    auto ann = member("ann");
    const std::string post = ann->write("to keep");
    auto bob = member("bob");
    bob->write("a reply", post);
    member("cid");
    member("dee");
    for (const char* path : {"/members/cid/follow", "/members/bob/mute", "/members/dee/block",
                             "/posts/1/like", "/posts/2/report"}) {
        EXPECT_EQ(ann->send(path, {}).status, 303) << path;
    }
    const ClientResponse data = ann->get("/settings/export");
    EXPECT_THAT(data.header("Content-Disposition"), HasSubstr("attachment"));
    EXPECT_THAT(data.text(), HasSubstr("\"body\":\"to keep\""));
    EXPECT_THAT(data.text(), HasSubstr("ann@example.org"));
    EXPECT_THAT(data.text(), Not(HasSubstr("argon2")));
    EXPECT_THAT(data.text(),
                HasSubstr("\"following\":[\"cid\"],\"followers\":[],\"muted\":[\"bob\"],"
                          "\"blocked\":[\"dee\"],\"liked_posts\":[1],"
                          "\"reported_posts\":[2]"));
    EXPECT_EQ(ann->send("/settings/delete", {{"password", "wrong"}}).status, 422);
    EXPECT_EQ(ann->send("/settings/delete", {{"password", std::string(password)}}).status, 303);
    EXPECT_FALSE(ann->is_logged_in());
    EXPECT_EQ(bob->get("/members/ann").status, 404);
    EXPECT_THAT(bob->get("/posts/" + post).text(), Not(HasSubstr("to keep")));
    EXPECT_EQ(member("ann")->get("/").status, 200) << "the name is free again";
}

TEST_P(TidepoolTest, PagesComeInChinese) {
    Browser guest(*app_);
    const ClientResponse chinese = guest.client().get("/", {{"Accept-Language", "zh-CN,zh;q=0.9"}});
    EXPECT_THAT(chinese.text(), HasSubstr("<html lang=\"zh\">"));
    EXPECT_THAT(chinese.text(), HasSubstr("潮水带来了什么？"));
    const ClientResponse chosen = guest.post("/language", {{"language", "zh"}, {"back", "/about"}});
    EXPECT_EQ(chosen.header("Location"), "/about");
    EXPECT_THAT(guest.get("/log-in").text(), HasSubstr("用户名或邮箱"));
    for (const char* back : {"//evil.example", "https://evil.example", "/\\evil.example"}) {
        EXPECT_EQ(guest.post("/language", {{"language", "en"}, {"back", back}}).header("Location"),
                  "/")
            << back;
    }
}

TEST_P(TidepoolTest, PagesLoadNothingFromElsewhereAndRunNoScriptOfTheirOwn) {
    auto ann = member("ann");
    ann->write("hello #tide");
    for (const char* path : {"/", "/about", "/settings", "/members/ann", "/tags/tide"}) {
        const ClientResponse answer = ann->get(path);
        EXPECT_EQ(answer.status, 200) << path;
        EXPECT_THAT(answer.header("Content-Security-Policy"), HasSubstr("default-src 'self'"));
        EXPECT_THAT(answer.header("Content-Security-Policy"), Not(HasSubstr("unsafe")));
        EXPECT_EQ(count(answer.text(), "<script"), 1U) << path;
        EXPECT_EQ(count(answer.text(), " style=\""), 0U) << path;
        EXPECT_EQ(count(answer.text(), "://"), 0U) << path;
    }
    EXPECT_LT(Browser(*app_).get("/").text().size() + 20'000, 60'000U);
}

// When a member leaves, a chain of replies is deleted as a whole, and a database cascades only so
// deep.
TEST_P(TidepoolTest, LongConversationsStayShallow) {
    auto ann = member("ann");
    std::string last = ann->write("first");
    for (int i = 0; i < 25; ++i) {
        pass_a_minute(*ann);
        const ClientResponse answer =
            ann->send("/posts", {{"body", "reply " + std::to_string(i)}, {"parent", last}});
        ASSERT_EQ(answer.status, 303);
        const std::string to(answer.header("Location"));
        last = to.substr(to.find("#post-") + 6);
    }
    EXPECT_EQ(ann->get("/posts/" + last).status, 200);
    EXPECT_EQ(ann->send("/settings/delete", {{"password", std::string(password)}}).status, 303);
    EXPECT_EQ(ann->get("/posts/" + last).status, 404);
}

TEST_P(TidepoolTest, ATagLeadsToItsPostsAndToNoOthers) {
    auto ann = member("ann");
    ann->write("seen at #Low_Water, and again: #low_water #\u6f6e\u6c34");
    ann->write("no tag: low_water, a#low_water");
    auto bob = member("bob");
    bob->write("mine, too #low_water");
    const std::string page = ann->get("/").text();
    EXPECT_EQ(count(page, "href=\"/tags/low_water\""), 2U);
    EXPECT_EQ(count(ann->get("/tags/low_water").text(), "<article"), 2U);
    EXPECT_EQ(count(ann->get("/tags/LOW_WATER").text(), "<article"), 2U) << "as people type it";
    EXPECT_EQ(count(ann->get("/tags/%E6%BD%AE%E6%B0%B4").text(), "<article"), 1U);
    EXPECT_THAT(ann->get("/tags/nothing").text(), HasSubstr("class=\"card empty\""));
    EXPECT_EQ(ann->get("/tags/%22%3E%3Cscript%3E").status, 200);
    EXPECT_THAT(ann->get("/tags/%22%3E%3Cscript%3E").text(), Not(HasSubstr("\"><script>")));
    Browser guest(*app_);
    EXPECT_EQ(count(guest.get("/tags/low_water").text(), "<article"), 2U);
    ann->send("/members/bob/block", {});
    EXPECT_EQ(count(ann->get("/tags/low_water").text(), "<article"), 1U);
}

// Addresses without their number or with another's slash ended the system that this one replaces,
// or opened somebody else's page.
TEST_P(TidepoolTest, AnAddressWithoutItsNumberIsNoneOfOurs) {
    auto ann = member("ann");
    ann->write("one");
    for (const char* path : {"/posts", "/posts/", "/posts//edit", "/posts/1x", "/posts/-1",
                             "/posts/99999999999999999999", "/members", "/members/", "/tags",
                             "/tags/", "/like/", "/profile/12", "/static/", "/static",
                             "/static/../tidepool_test.cc", "/static/%2e%2e/site.cc"}) {
        const ClientResponse answer = ann->get(path);
        EXPECT_GE(answer.status, 400) << path;
        EXPECT_LT(answer.status, 500) << path;
    }
    for (const char* path : {"/posts//like", "/posts/like", "/members//follow", "/posts/1/like/"}) {
        const ClientResponse answer = ann->send(path, {});
        EXPECT_GE(answer.status, 400) << path;
        EXPECT_LT(answer.status, 500) << path;
    }
    EXPECT_EQ(ann->get("/").status, 200);
}

TEST_P(TidepoolTest, AFormWithoutItsFieldsIsRefusedAndNothingEnds) {
    Browser guest(*app_);
    for (const char* path : {"/log-in", "/language"}) {
        EXPECT_EQ(guest.post(path, {}).status, 422) << path;
    }
    auto ann = member("ann");
    for (const char* path :
         {"/posts", "/posts/1/like", "/posts/1/report", "/members/ann/follow", "/settings/profile",
          "/settings/password", "/settings/delete", "/log-out"}) {
        EXPECT_EQ(ann->post(path, {}).status, 422) << path;
    }
    EXPECT_TRUE(ann->is_logged_in());
}

// Whole pages of long texts: the system that this one replaces cut them at a short write.
TEST_P(TidepoolTest, APageOfTheLongestPostsComesWhole) {
    auto ann = member("ann", std::string(50, '<'));
    const std::string text(2'000, '&');
    for (int i = 0; i < 20; ++i) {
        pass_a_minute(*ann);
        EXPECT_EQ(ann->send("/posts", {{"body", text}}).status, 303);
    }
    const std::string page = ann->get("/").text();
    EXPECT_EQ(count(page, "&amp;"), 20U * 2'000U);
    EXPECT_THAT(page, ::testing::EndsWith("</html>\n"));
}

TEST_P(TidepoolTest, LinesAndLanguageOfAPostStayAsTheyWereTyped) {
    auto ann = member("ann");
    ann->write("one\r\ntwo\n\n\u6f6e %2B + &lt;");
    const std::string page = ann->get("/").text();
    EXPECT_THAT(page, HasSubstr("one\ntwo\n\n\u6f6e %2B + &amp;lt;"));
    EXPECT_THAT(ann->get("/").header("Content-Type"), HasSubstr("text/html; charset=utf-8"));
}

TEST_P(TidepoolTest, TheCookieOfASessionIsOutOfReachOfScriptsAndOtherSites) {
    Browser ann(*app_, "ann");
    const std::string cookie(ann.sign_up().header("Set-Cookie"));
    for (const char* part :
         {"__Host-id=", "; HttpOnly", "; Secure", "; SameSite=Lax", "; Path=/"}) {
        EXPECT_THAT(cookie, HasSubstr(part));
    }
    Browser bob(*app_, "bob");
    EXPECT_NE(std::string(bob.sign_up().header("Set-Cookie")).substr(0, 60), cookie.substr(0, 60));
}

TEST_P(TidepoolTest, SignUpsAndSearchesOfOneAddressAreLimited) {
    auto ann = member("ann");  // from the same address, before it has used up its limit
    Browser guest(*app_);
    int status = 0;
    for (int i = 0; i < 8; ++i) {
        status = guest.post("/sign-up", {{"name", "x"}, {"again", "x"}}).status;
    }
    EXPECT_EQ(status, 429);
    for (int i = 0; i < 35; ++i) status = ann->get("/search?q=x").status;
    EXPECT_EQ(status, 429);
    for (int i = 0; i < 25; ++i) status = ann->send("/posts", {{"body", "x"}}).status;
    EXPECT_EQ(status, 429);
    pass_a_minute(*ann);
    EXPECT_EQ(ann->get("/search?q=x").status, 200);
    EXPECT_EQ(ann->send("/posts", {{"body", "x"}}).status, 303);
}

TEST_P(TidepoolTest, PostsWithAPictureAndOthersHaveOneLimit) {
    if (GetParam() == tiderace::db::Dialect::sqlite) {
        GTEST_SKIP() << "one program, whose limits are of each route";
    }
    auto ann = member("ann");
    int status = 0;
    for (int i = 0; i < 15; ++i) status = ann->send("/posts", {{"body", "x"}}).status;
    EXPECT_EQ(status, 303);
    for (int i = 0; i < 8; ++i) {
        status = ann->send_file("/posts/with-picture", {{"csrf", ann->token()}, {"body", ""}}, "")
                     .status;
    }
    EXPECT_EQ(status, 429);
}

TEST_P(TidepoolTest, WhatTheLibraryRefusesIsShownInOurLook) {
    Browser guest(*app_);
    ClientResponse answer;
    for (int i = 0; i < 8; ++i) answer = guest.post("/sign-up", {{"name", "x"}, {"again", "x"}});
    EXPECT_EQ(answer.status, 429);
    EXPECT_FALSE(answer.header("Retry-After").empty());
    EXPECT_THAT(answer.text(), HasSubstr("Too fast"));
    EXPECT_THAT(answer.text(), HasSubstr("/static/tidepool.css"));
    const ClientResponse chinese =
        guest.client().get("/posts/x", {{"Accept-Language", "zh"}, {"Accept", "text/html"}});
    EXPECT_EQ(chinese.status, 400);
    EXPECT_THAT(chinese.text(), HasSubstr("\u4e0d\u80fd\u8fd9\u6837"));
}

TEST_P(TidepoolTest, WhomAMemberHidesIsListedForTheMemberAlone) {
    auto ann = member("ann");
    EXPECT_THAT(ann->get("/settings/muted").text(), HasSubstr("class=\"card empty\""));
    for (const char* name : {"bob", "cid", "dee"}) member(name);
    ann->send("/members/bob/mute", {});
    ann->send("/members/cid/block", {});
    EXPECT_EQ(count(ann->get("/settings/muted").text(), "@bob<"), 1U);
    EXPECT_EQ(count(ann->get("/settings/muted").text(), "@cid<"), 0U);
    EXPECT_EQ(count(ann->get("/settings/blocked").text(), "@cid<"), 1U);
    EXPECT_EQ(count(ann->get("/settings/blocked?from=cid").text(), "@cid<"), 0U);
    EXPECT_THAT(ann->get("/members/cid").text(), HasSubstr("/members/cid/unblock"));
    Browser guest(*app_);
    EXPECT_EQ(guest.get("/settings/muted").status, 303);
    EXPECT_EQ(guest.get("/settings/blocked").status, 303);
}

TEST_P(TidepoolTest, AReportedPostIsSeenByModeratorsWhoKeepOrRemoveIt) {
    auto ann = member("ann");
    const std::string bad = ann->write("a bad post");
    const std::string fine = ann->write("a fine post");
    auto bob = member("bob");
    auto cid = member("cid");
    auto judge = moderator();
    EXPECT_THAT(judge->get("/reports").text(), HasSubstr("No post is reported."));
    EXPECT_EQ(bob->send("/posts/" + bad + "/report", {}).status, 303);
    EXPECT_EQ(bob->send("/posts/" + bad + "/report", {}).status, 303) << "twice is once";
    EXPECT_EQ(cid->send("/posts/" + bad + "/report", {}).status, 303);
    EXPECT_EQ(cid->send("/posts/" + fine + "/report", {}).status, 303);
    EXPECT_THAT(cid->get("/posts/" + bad + "?notice=reported").text(), HasSubstr("Thank you"));
    // No other member sees reports, or that there is such a page.
    Browser guest(*app_);
    for (Browser* other : {ann.get(), bob.get(), &guest}) {
        EXPECT_EQ(other->get("/reports").status, 404);
        EXPECT_EQ(other->send("/reports/" + bad + "/remove", {}).status, 404);
        EXPECT_EQ(other->send("/reports/" + bad + "/dismiss", {}).status, 404);
        EXPECT_THAT(other->get("/about").text(), Not(HasSubstr("/reports")));
    }
    ann->send("/members/judge/block", {});
    const std::string page = judge->get("/reports").text();
    EXPECT_EQ(count(page, "<article"), 2U) << "to block a moderator hides nothing";
    EXPECT_EQ(count(page, "Members who reported it: 2"), 1U);
    EXPECT_EQ(count(page, "Members who reported it: 1"), 1U);
    EXPECT_EQ(judge->post("/reports/" + bad + "/remove", {{"csrf", "0"}}).status, 403);
    EXPECT_EQ(judge->send("/reports/" + bad + "/remove", {}).status, 303);
    EXPECT_EQ(judge->send("/reports/" + fine + "/dismiss", {}).status, 303);
    EXPECT_EQ(ann->get("/posts/" + bad).status, 404);
    EXPECT_EQ(ann->get("/posts/" + fine).status, 200);
    EXPECT_EQ(count(judge->get("/reports").text(), "<article"), 0U);
    EXPECT_EQ(judge->send("/reports/" + fine + "/remove", {}).status, 303);
    EXPECT_EQ(ann->get("/posts/" + fine).status, 200) << "a post that nobody reported stays";
}

INSTANTIATE_TEST_SUITE_P(Databases, TidepoolTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
