// Our own pages never send these requests, and they must do no harm: invalid texts, forged numbers
// and return addresses, floods, invisible names, and the number of a deleted member.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <tiderace/json.h>

#include "examples/tidepool/account_export.h"
#include "examples/tidepool/post_text.h"
#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;
using ::testing::HasSubstr;
using ::testing::Not;
using tiderace::testing::ClientResponse;
using tiderace::testing::form;

using ForgedTest = TidepoolTest;

TEST(OwnPath, IsAPathOfThisSite) {
    EXPECT_EQ(own_path("/tags/%E6%BD%AE?before=3"), "/tags/%E6%BD%AE?before=3");
    // Browsers take tabs and line ends out of an address before they read it.
    for (const char* path :
         {"", "about", "//evil.example", "/\\evil.example", "/\t/evil.example", "/\n/evil.example",
          "/\r/evil.example", "https://evil.example", "/ x", "/\x01", "/\x7f", "/\u6f6e"}) {
        EXPECT_EQ(own_path(path), "/") << path;
    }
}

TEST_P(ForgedTest, BytesThatAreNoTextAreRefused) {
    auto ann = member("ann");
    for (const char* path : {"/tags/%FF", "/members/%FF", "/members/%FF/followers", "/%FF",
                             "/search?q=%FF", "/settings/blocked?from=%FF"}) {
        EXPECT_EQ(ann->get(path).status, 400) << path;
    }
    EXPECT_EQ(ann->send("/members/%FF/follow", {}).status, 400);
    const std::string bad = "\xFF\xFE";
    const std::string token = ann->token();
    for (const char* field : {"body", "alt", "form"}) {
        EXPECT_EQ(ann->send_file("/posts/with-picture", {{"csrf", token}, {field, bad}}, "").status,
                  422)
            << field;
    }
    EXPECT_EQ(count(ann->get("/").text(), "<article"), 0U);
    Browser strange(*app_);
    const ClientResponse answer = strange.client().post(
        "/log-in", form({{"who", "ann"}, {"password", std::string(password)}}),
        {{"User-Agent", bad}});
    EXPECT_EQ(answer.status, 303) << "a browser may call itself anything";
    EXPECT_TRUE(strange.is_logged_in());
}

TEST_P(ForgedTest, ANulByteIsNoPartOfAText) {
    auto ann = member("ann");
    const std::string nul(1, '\0');
    for (const char* path : {"/settings/blocked?from=%00", "/settings/muted?from=a%00",
                             "/members/ann/followers?from=%00", "/search?q=%00"}) {
        EXPECT_EQ(ann->get(path).status, 200) << path;
    }
    EXPECT_EQ(ann->send("/settings/log-out-there", {{"login", nul}}).status, 303);
    EXPECT_EQ(ann->send("/posts", {{"body", "a" + nul + "b"}, {"form", nul}}).status, 303);
    EXPECT_THAT(ann->get("/").text(), HasSubstr(">ab</div>"));
    EXPECT_EQ(ann->post("/log-in", {{"who", nul}, {"password", nul}}).status, 403);
}

TEST_P(ForgedTest, AParentThatIsNoNumberMakesNoPost) {
    auto ann = member("ann");
    for (const char* parent : {"x", "1x", "99999999999999999999", " 1"}) {
        EXPECT_EQ(ann->send("/posts", {{"body", "x"}, {"parent", parent}}).status, 422) << parent;
        EXPECT_EQ(ann->send_file("/posts/with-picture",
                                 {{"csrf", ann->token()}, {"body", "x"}, {"parent", parent}},
                                 bytes_of(small_png))
                      .status,
                  422)
            << parent;
    }
    EXPECT_EQ(count(ann->get("/").text(), "<article"), 0U);
    EXPECT_EQ(files(), 0U) << "no picture stays behind";
}

TEST_P(ForgedTest, EveryChangeHasALimit) {
    auto ann = member("ann");
    const std::string post = ann->write("x");
    const std::vector<std::pair<std::string, std::string>> fields{
        {"name", "Ann"}, {"about", ""}, {"login", "x"}, {"language", "en"}, {"back", "/"}};
    for (const std::string& path :
         {"/posts/" + post + "/like", "/posts/" + post + "/unlike", std::string("/posts/99/delete"),
          std::string("/members/ann/follow"), std::string("/settings/profile"),
          std::string("/settings/face/remove"), std::string("/settings/log-out-there"),
          std::string("/settings/log-out-elsewhere"), std::string("/language"),
          std::string("/reports/1/dismiss"), std::string("/reports/1/remove"),
          std::string("/log-out")}) {
        auto all = fields;
        all.emplace_back("csrf", ann->token());
        int status = 0;
        for (int i = 0; i < 70 && status != 429; ++i) status = ann->post(path, all).status;
        EXPECT_EQ(status, 429) << path;
        pass_a_minute(*ann);
        pass_a_minute(*ann);
    }
}

// The paths of an OpenAPI document that have the method.
std::vector<std::string> paths_of(const std::string& openapi, std::string_view method) {
    std::vector<std::string> paths;
    const std::regex entry("\"(/[^\"]*)\":\\{");
    for (std::sregex_iterator at(openapi.begin(), openapi.end(), entry), end; at != end; ++at) {
        const auto from = static_cast<std::size_t>(at->position());
        const auto next = std::next(at);
        const auto to = next == end ? openapi.size() : static_cast<std::size_t>(next->position());
        const std::string mark = "\"" + std::string(method) + "\":{";
        if (openapi.substr(from, to - from).contains(mark)) paths.push_back((*at)[1]);
    }
    return paths;
}

// The App lists its routes itself, so that no new one is forgotten.
TEST_P(ForgedTest, EveryChangeNeedsTheTokenAndNoneIsDoneByGet) {
    app_->openapi("/openapi.json", {.title = "Tidepool", .version = "1"});
    auto ann = member("ann");
    auto judge = moderator();  // may do everything that any member may
    const std::string post = judge->write("to stay");
    ann->send("/posts/" + post + "/report", {});
    const std::string openapi = judge->get("/openapi.json").text();
    const auto pages = paths_of(openapi, "get");
    const std::vector<std::pair<std::string, std::string>> fields{
        {"csrf", std::string(32, '0')},
        {"body", "changed"},
        {"name", "Changed"},
        {"about", "x"},
        {"old", std::string(password)},
        {"password", std::string(password)},
        {"login", "x"},
        {"language", "zh"},
        {"back", "/"}};
    std::size_t changes = 0;
    for (const std::string& path : paths_of(openapi, "post")) {
        const std::string target =
            std::regex_replace(std::regex_replace(path, std::regex("\\{id\\}"), post),
                               std::regex("\\{username\\}"), "ann");
        const ClientResponse strange =
            judge->client().post(target, form({{"x", "y"}}), {{"Sec-Fetch-Site", "cross-site"}});
        EXPECT_EQ(strange.status, 403) << target << " by another site";
        // These are the forms of guests, and have no token.
        if (path == "/sign-up" || path == "/log-in") continue;
        ++changes;
        pass_a_minute(*judge);  // within the limits, which nodes share
        const bool has_file = path == "/posts/with-picture" || path == "/settings/face";
        const ClientResponse forged = has_file
                                          ? judge->send_file(target, fields, bytes_of(small_png))
                                          : judge->post(target, fields);
        EXPECT_EQ(forged.status, 403) << target;
        if (std::ranges::find(pages, path) == pages.end()) {
            EXPECT_EQ(judge->get(target).status, 405) << target;
        }
    }
    EXPECT_EQ(changes, 24U) << "a new one is here, too; an old one has gone";
    EXPECT_TRUE(judge->is_logged_in());
    const std::string page = judge->get("/posts/" + post).text();
    EXPECT_THAT(page, HasSubstr("to stay"));
    EXPECT_THAT(page, HasSubstr("<span data-likes>0</span>"));
    EXPECT_THAT(page, HasSubstr("<html lang=\"en\""));
    EXPECT_EQ(count(judge->get("/reports").text(), "<article"), 1U);
    EXPECT_THAT(ann->get("/members/ann").text(), HasSubstr("<b>0</b> followers"));
}

TEST_P(ForgedTest, ANameCanBeSeenAndStaysInItsPlace) {
    auto ann = member("ann");
    const auto rename = [&](const std::string& name) {
        pass_a_minute(*ann);
        return ann->send("/settings/profile", {{"name", name}, {"about", ""}}).status;
    };
    for (const char* nothing : {"\u200b", "\u2060\u200d", "\u00a0\u3000", "\u202e", "\ufeff",
                                "\u3164", "\u00ad\u034f", "\u2800"}) {
        EXPECT_EQ(rename(nothing), 422) << nothing;
        EXPECT_EQ(ann->send("/posts", {{"body", nothing}}).status, 422) << nothing;
    }
    // Characters that turn the direction of the following text are left out; so are marks upon
    // marks.
    EXPECT_EQ(rename("\u202eAnn\u2066\u2028 B"), 303);
    EXPECT_THAT(ann->get("/members/ann").text(), HasSubstr("<h1>Ann B</h1>"));
    std::string tower = "A";
    for (int i = 0; i < 40; ++i) tower += "\u0301";
    EXPECT_EQ(rename(tower), 303);
    EXPECT_LE(count(ann->get("/members/ann").text(), "\u0301\u0301\u0301\u0301\u0301"), 0U);
    // The joiners and marks of Hebrew, Persian and family emoji stay.
    for (const char* name :
         {"\u05d0\u05d1\u200f", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
          "\U0001F469\u200d\U0001F680", "e\u0301"}) {
        EXPECT_EQ(rename(name), 303);
        EXPECT_THAT(ann->get("/members/ann").text(), HasSubstr(std::string(">") + name + "</h1>"));
    }
}

TEST_P(ForgedTest, WhomAMemberBlocksSeesNeitherTheProfileNorTheNameInLists) {
    auto ann = member("ann", "Ann Above");
    auto bob = member("bob", "Bob Below");
    auto cid = member("cid");
    for (Browser* each : {ann.get(), bob.get()}) each->send("/members/cid/follow", {});
    cid->send("/members/ann/follow", {});
    EXPECT_THAT(bob->get("/members/cid/followers").text(), HasSubstr("Ann Above"));
    ann->send("/members/bob/block", {});
    EXPECT_EQ(bob->get("/members/ann").status, 404);
    EXPECT_EQ(bob->get("/members/ann/followers").status, 404);
    for (const char* list : {"/members/cid/followers", "/members/cid/following"}) {
        EXPECT_THAT(bob->get(list).text(), Not(HasSubstr("Ann Above"))) << list;
        EXPECT_THAT(ann->get(list).text(), Not(HasSubstr("Bob Below"))) << list;
    }
    EXPECT_EQ(ann->get("/members/bob").status, 200) << "where the block can be taken back";
    Browser guest(*app_);
    EXPECT_THAT(guest.get("/members/cid/followers").text(), HasSubstr("Ann Above"));
    EXPECT_EQ(bob->send("/posts/" + ann->write("x") + "/report", {}).status, 404);
    EXPECT_EQ(bob->send("/posts/999/report", {}).status, 404);
}

TEST_P(ForgedTest, TheNameOfAModeratorIsNobodysToTake) {
    Browser thief(*app_, "judge");
    const ClientResponse answer = thief.sign_up();
    EXPECT_EQ(answer.status, 422);
    EXPECT_THAT(answer.text(), HasSubstr("taken"));
}

// Otherwise a request that is under way when its member leaves would act as the next new member.
TEST_P(ForgedTest, NoNumberIsGivenTwice) {
    auto ann = member("ann");
    const std::string post = ann->write("first");
    const auto member_number = run(db_->one<std::int64_t>("select id from members"));
    EXPECT_EQ(ann->send("/posts/" + post + "/delete", {}).status, 303);
    EXPECT_NE(ann->write("second"), post);
    EXPECT_EQ(ann->send("/settings/delete", {{"password", std::string(password)}}).status, 303);
    auto bob = member("bob");
    EXPECT_NE(run(db_->one<std::int64_t>("select id from members")), member_number);
    EXPECT_GT(std::stoi(bob->write("third")), std::stoi(post) + 1);
}

// Without scripts a like reloads the page that it was pressed on.
TEST_P(ForgedTest, APressLeadsBackToThePageItWasOn) {
    auto ann = member("ann");
    ann->write("water #\u6f6e\u6c34");
    for (const char* path :
         {"/", "/search?q=water", "/tags/%E6%BD%AE%E6%B0%B4", "/members/ann?before=99"}) {
        const std::string page = ann->get(path).text();
        std::smatch back;
        ASSERT_TRUE(std::regex_search(page, back, std::regex("name=\"back\" value=\"([^\"]*)\"")));
        const ClientResponse answer = ann->send("/posts/1/like", {{"back", back[1]}});
        EXPECT_EQ(answer.header("Location"), std::string(path) + "#post-1");
    }
    // The answer to a form with faults is a page at the form's own address, which has no GET.
    EXPECT_THAT(ann->send("/posts", {{"body", ""}}).text(), HasSubstr("name=\"back\" value=\"/\""));
    EXPECT_THAT(ann->send("/settings/profile", {{"name", ""}, {"about", ""}}).text(),
                HasSubstr("name=\"back\" value=\"/settings\""));
}

TEST_P(ForgedTest, TheLanguageOfAMemberChangesWithItsTokenAlone) {
    auto ann = member("ann");
    EXPECT_EQ(ann->post("/language", {{"language", "zh"}, {"back", "/"}}).status, 403);
    EXPECT_THAT(ann->get("/").text(), HasSubstr("lang=\"en\""));
    EXPECT_EQ(ann->send("/language", {{"language", "zh"}, {"back", "/"}}).status, 303);
    EXPECT_THAT(ann->get("/").text(), HasSubstr("<html lang=\"zh\""));
}

TEST_P(ForgedTest, ALogInFromTheSameBrowserReplacesTheOneBefore) {
    auto ann = member("ann");
    Browser again(*app_, "ann");
    EXPECT_EQ(again.log_in().status, 303);
    EXPECT_EQ(again.log_in().status, 303);
    EXPECT_EQ(count(again.get("/settings").text(), "name=\"login\""), 1U) << "the first one's";
}

TEST_P(ForgedTest, AMemberIsFoundHoweverTheNameIsWritten) {
    auto ann = member("ann");
    EXPECT_EQ(ann->get("/members/Ann").status, 200);
    EXPECT_EQ(member("bob")->send("/members/ANN/follow", {}).status, 303);
}

TEST_P(ForgedTest, AnExportHasAllThatIsKept) {
    auto ann = member("ann");
    auto bob = member("bob");
    ann->send_file("/settings/face", {{"csrf", ann->token()}}, bytes_of(small_png));
    ann->send_file("/posts/with-picture",
                   {{"csrf", ann->token()}, {"body", "look #sea"}, {"alt", "a wave"}},
                   bytes_of(small_png));
    bob->send("/members/ann/follow", {});
    bob->write("hello @ann");
    const std::string data = ann->get("/settings/export").text();
    for (const char* piece :
         {"\"face\":\"", "\"picture\":\"", "\"picture_alt\":\"a wave\"", "\"followers\":[\"bob\"]",
          "\"kind\":\"mention\"", "\"who\":\"bob\"", "\"logins\":[{", "\"used_at\":"}) {
        EXPECT_THAT(data, HasSubstr(piece));
    }
    EXPECT_THAT(data, Not(HasSubstr("argon2")));
}

TEST_P(ForgedTest, GuessesOfOneAccountAreLimitedWhereverTheyComeFrom) {
    member("ann");
    int minutes = 0;
    for (const char* who : {"ann", "nobody"}) {
        Browser first(*app_, who);
        Browser second(*app_, who);
        for (int minute = 0; minute < minutes; ++minute) {
            pass_a_minute(first);
            pass_a_minute(second);
        }
        for (int guess = 0; guess < 12; ++guess) EXPECT_EQ(first.log_in("a guess").status, 403);
        pass_a_minute(second);  // its address may guess as often again; the account has 4 more
        for (int guess = 0; guess < 7; ++guess) EXPECT_EQ(second.log_in("a guess").status, 403);
        const ClientResponse refused = second.log_in();
        EXPECT_EQ(refused.status, 429) << "the right one, too: it would tell";
        EXPECT_THAT(refused.text(), HasSubstr("Too many tries for this account"));
        EXPECT_EQ(refused.header("Retry-After"), "60");
        pass_a_minute(second);
        EXPECT_EQ(second.log_in().status, who == std::string_view("ann") ? 303 : 403);
        minutes += 4;  // all of the limit of the address for the next name
    }
}

// Guesses from elsewhere must not lock the member out at home, by the name or by the e-mail
// address.
TEST_P(ForgedTest, AStrangersGuessesLockNoMemberOutAtHome) {
    app_->trusted_proxies({.networks = {"0.0.0.0/0", "::/0", "unix"}});
    const auto at = [&](const char* address, std::string who = "ann") {
        auto person = std::make_unique<Browser>(*app_, std::move(who));
        person->client().set_header("X-Forwarded-For", address);
        return person;
    };
    auto home = at("192.0.2.1");
    ASSERT_EQ(home->sign_up().status, 303);
    int guesses = 0;
    for (const char* address : {"198.51.100.1", "198.51.100.2", "2001:db8:7::1"}) {
        auto stranger = at(address, guesses % 2 == 0 ? "ann" : "Ann@Example.ORG");
        for (int i = 0; i < 10 && stranger->log_in("a guess").status == 403; ++i) ++guesses;
    }
    EXPECT_GE(guesses, 15);
    EXPECT_LT(guesses, 20) << "the name and the e-mail address are one account";
    EXPECT_EQ(at("198.51.100.9")->log_in().status, 429) << "a new place";
    EXPECT_EQ(at("192.0.2.1")->log_in().status, 303);
    EXPECT_EQ(at("192.0.2.1", "ann@example.org")->log_in().status, 303);
    // Guesses have a limit there as well.
    auto neighbour = at("192.0.2.1");
    pass_a_minute(*neighbour);
    int last = 0;
    for (int i = 0; i < 30 && last != 429; ++i) {
        if (i == 10) pass_a_minute(*neighbour);
        last = neighbour->log_in("a guess").status;
    }
    EXPECT_EQ(last, 429);
}

// A member is deleted by another program while something is written to the member's rows.
TEST_P(ForgedTest, WhatWentMeanwhileIsNotFound) {
    auto ann = member("ann");
    int minutes = 1;
    for (const char* path : {"/members/bob/follow", "/members/bob/mute", "/members/bob/block",
                             "/posts/$/like", "/posts/$/report", "/posts"}) {
        Browser bob(*app_, "bob");
        // Signs up at the limit's pace.
        for (int minute = 0; minute < minutes; ++minute) pass_a_minute(bob);
        pass_a_minute(*ann);
        ++minutes;
        EXPECT_EQ(bob.sign_up().status, 303);
        const std::string post = bob.write("here today");
        std::promise<void> deleted;
        bool told = false;  // a deadlock makes the transaction begin again
        std::thread other([&] {
            const auto remove = [&](db::Database db) -> Task<int> {
                auto work = [&](db::Transaction& tx) -> Task<> {
                    co_await tx.exec("delete from members where username = 'bob'");
                    if (!std::exchange(told, true)) deleted.set_value();
                    // Long enough for another statement to wait for it; SQLite's writers wait on
                    // the test's clock.
                    if (GetParam() == db::Dialect::sqlite) co_return;
                    co_await sleep(std::chrono::milliseconds(300));
                };
                co_await db.transaction(work);
                co_return 0;
            };
            EXPECT_NO_THROW(EXPECT_EQ(run(remove(*db_)), 0));
            if (!told) deleted.set_value();
        });
        deleted.get_future().wait();
        if (GetParam() == db::Dialect::sqlite) other.join();
        std::string target = path;
        if (target.contains('$')) target.replace(target.find('$'), 1, post);
        std::vector<std::pair<std::string, std::string>> fields;
        if (target == "/posts") fields = {{"body", "a reply"}, {"parent", post}};
        EXPECT_EQ(ann->send(target, fields).status, 404) << target;
        if (other.joinable()) other.join();
    }
}

TEST_P(ForgedTest, AnExportOfManyPiecesIsWhole) {
    auto ann = member("ann");
    constexpr std::int64_t posts = 2 * export_rows + 1;
    const auto write = [&](db::Database db) -> Task<int> {
        for (std::int64_t id = 1; id <= posts; ++id) {
            co_await db.exec(
                "insert into posts (id, created_at, author, depth, body, picture_alt)"
                " select ?, ?, id, 0, ?, '' from members",
                id, now(), "post " + std::to_string(id));
            co_await db.exec(
                "insert into likes (member, post, created_at) select id, ?, ? from members", id,
                now());
        }
        co_return 0;
    };
    EXPECT_EQ(run(write(*db_)), 0);
    struct Post {
        std::int64_t id;
        std::string body;
    };
    struct Data {
        std::vector<Post> posts;
        std::vector<std::int64_t> liked_posts;
    };
    const ClientResponse answer = ann->get("/settings/export");
    const auto data = json::read<Data>(answer.text(), {.unknown = json::Unknown::ignore});
    ASSERT_TRUE(data) << answer.text();
    ASSERT_EQ(std::ssize(data->posts), posts);
    ASSERT_EQ(std::ssize(data->liked_posts), posts);
    for (std::int64_t i = 0; i < posts; ++i) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_EQ(data->posts[at].body, "post " + std::to_string(posts - i));
        EXPECT_EQ(data->liked_posts[at], i + 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Databases, ForgedTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
