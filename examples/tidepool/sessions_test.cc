#include "examples/tidepool/sessions.h"

#include <gtest/gtest.h>

#include <any>
#include <chrono>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class SessionsTest : public TidepoolTest {};

TEST(Device, IsWhatPeopleKnowItBy) {
    EXPECT_EQ(device_of("Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"),
              "Firefox · Linux");
    EXPECT_EQ(device_of("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1"
                        " (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"),
              "Safari · iPhone");
    EXPECT_EQ(device_of("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko)"
                        " Chrome/131.0 Safari/537.36 Edg/131.0"),
              "Edge · Windows");
    EXPECT_EQ(device_of("curl/8.1"), "curl");
    EXPECT_EQ(device_of("something else"), "something else");
    EXPECT_EQ(device_of(""), "?");
}

TEST_P(SessionsTest, EachLogInIsListedAndEndsAlone) {
    auto ann = member("ann");
    Browser phone(*app_, "ann");
    phone.client().set_header("User-Agent", "X (iPhone; Mac OS X) Safari/6");
    phone.log_in();
    Browser desk(*app_, "ann");
    desk.client().set_header("User-Agent", "X (Linux) Firefox/133.0 <b>");
    desk.log_in();
    const std::string page = phone.get("/settings").text();
    EXPECT_EQ(count(page, "this browser"), 1U);
    EXPECT_THAT(page, HasSubstr("<b>Safari · iPhone</b> · this browser"));
    EXPECT_THAT(page, HasSubstr("Firefox · Linux"));
    EXPECT_EQ(count(page, "name=\"login\""), 2U) << "this one ends by its own button";
    std::smatch found;
    ASSERT_TRUE(std::regex_search(
        page, found, std::regex("Firefox · Linux</b>[^]*?name=\"login\" value=\"([0-9a-f]+)\"")));
    const std::string login = found[1];
    auto bob = member("bob");
    EXPECT_EQ(bob->send("/settings/log-out-there", {{"login", login}}).status, 303);
    EXPECT_TRUE(desk.is_logged_in()) << "it is not bob's";
    EXPECT_EQ(phone.send("/settings/log-out-there", {{"login", login}}).status, 303);
    EXPECT_FALSE(desk.is_logged_in());
    EXPECT_TRUE(phone.is_logged_in());
    EXPECT_TRUE(ann->is_logged_in());
    EXPECT_EQ(phone.post("/settings/log-out-there", {{"login", login}, {"csrf", "0"}}).status, 403);
}

// One statement finds both, and a log-in that has ended has no member.
TEST_P(SessionsTest, AMemberComesWithTheSession) {
    auto ann = member("ann");
    const auto use = [](db::Database db) -> Task<std::string> {
        ViewerSessions store(db);
        const auto login = co_await db.one<std::string>("select id from logins");
        std::string seen;
        const auto add = [&](const std::optional<ViewerSessions::Found>& found) {
            const auto* const viewer = std::any_cast<Viewer>(&found->attached);
            seen += viewer == nullptr ? "none " : viewer->username + " ";
            EXPECT_TRUE(viewer == nullptr || viewer->login == *login);
        };
        co_await store.save("key", "language=en", 2'000'000'000);
        auto found = co_await store.load("key", 1'000'000'000);
        add(found);
        co_await store.replace("key", "language=en", "csrf=1&login=" + *login, 2'000'000'000);
        found = co_await store.load("key", 1'000'000'000);
        add(found);
        co_await store.save("key", "login=" + *login + "&language=en", 2'000'000'000);
        found = co_await store.load("key", 1'000'000'000);
        add(found);
        co_await db.exec("delete from logins");
        found = co_await store.load("key", 1'000'000'000);
        add(found);
        co_return seen;
    };
    EXPECT_EQ(run(use(*db_)), "none ann ann none ");
    EXPECT_FALSE(ann->is_logged_in());
}

// As a program of an older version leaves it, which writes no such column.
TEST_P(SessionsTest, TheSessionsDataDecidesWhoTheMemberIs) {
    auto ann = member("ann");
    auto bob = member("bob");
    const std::string bobs =
        "(select l.id from logins l join members m on m.id = l.member"
        " where m.username = 'bob')";
    for (const std::string& login : {bobs, std::string("null"), std::string("'gone'")}) {
        const auto change = [](db::Database db, std::string sql) -> Task<int> {
            co_await db.exec(sql);
            co_return 0;
        };
        run(change(*db_, "update sessions set login = " + login));
        EXPECT_THAT(ann->get("/about").text(), HasSubstr("/members/ann")) << login;
        EXPECT_THAT(bob->get("/about").text(), HasSubstr("/members/bob")) << login;
    }
}

// A statement fails, as when its client has left: the writes before it are rolled back.
class FailingStatementTest : public TidepoolTest {
  protected:
    // "insert on logins", say.
    void fail_at(std::string_view what) {
        const auto change = [](db::Database db, std::string sql) -> Task<int> {
            co_await db.script(sql);
            co_return 0;
        };
        run(change(*db_, "create trigger failing before " + std::string(what) +
                             " begin select raise(abort, 'it fails'); end"));
    }
    std::int64_t logins() {
        const auto counted = [](db::Database db) -> Task<std::int64_t> {
            co_return *co_await db.one<std::int64_t>("select count(*) from logins");
        };
        return run(counted(*db_));
    }
};

TEST_P(FailingStatementTest, APasswordChangesOnlyWithTheEndOfOtherLogIns) {
    auto ann = member("ann");
    Browser desk(*app_, "ann");
    desk.log_in();
    fail_at("delete on logins");
    EXPECT_EQ(ann->send("/settings/password",
                        {{"old", std::string(password)}, {"password", "a longer shell"}})
                  .status,
              500);
    EXPECT_TRUE(desk.is_logged_in());
    Browser phone(*app_, "ann");
    EXPECT_EQ(phone.log_in("a longer shell").status, 403) << "it is not the password";
}

TEST_P(FailingStatementTest, ALogInWithoutItsSessionIsInNoList) {
    auto ann = member("ann");
    EXPECT_EQ(logins(), 1);
    fail_at("insert on sessions");
    Browser phone(*app_, "ann");
    EXPECT_EQ(phone.log_in().status, 500);
    EXPECT_EQ(logins(), 1);
}

// One browser, one log-in: the former ends in the statement that begins the new one.
TEST_P(FailingStatementTest, ALogInThatCannotBeginEndsNone) {
    auto ann = member("ann");
    auto bob = member("bob");
    fail_at("insert on logins");
    EXPECT_EQ(ann->post("/log-in", {{"who", "bob"}, {"password", std::string(password)}}).status,
              500);
    EXPECT_EQ(logins(), 2);
}

INSTANTIATE_TEST_SUITE_P(Databases, FailingStatementTest, ::testing::Values(db::Dialect::sqlite),
                         name_of_database);

TEST_P(SessionsTest, FollowersComeInPagesThatMissNobody) {
    auto ann = member("ann");
    const std::string hash = "no password";
    auto fill = [&](db::Transaction& tx) -> Task<> {
        for (int i = 0; i < 45; ++i) {
            const std::string name = "fan_" + std::to_string(100 + i);
            const auto id = co_await tx.one<std::int64_t>(
                "insert into members (created_at, username, name, email, password, about)"
                " values (?, ?, ?, ?, ?, '') returning id",
                now(), name, name, name + "@example.org", hash);
            const Time then = now() - std::chrono::seconds(i / 10);  // many at one moment
            co_await tx.exec(
                "insert into follows (follower, followee, created_at) values (?, 1, ?)", *id, then);
        }
    };
    run([](db::Database db, auto& work) -> Task<int> {
        co_await db.transaction(work);
        co_return 0;
    }(*db_, fill));
    std::set<std::string> seen;
    std::string path = "/members/ann/followers";
    for (int pages = 0; !path.empty(); ++pages) {
        ASSERT_LT(pages, 3);
        const std::string page = ann->get(path).text();
        const std::regex names("@(fan_[0-9]+)<");
        std::size_t here = 0;
        for (std::sregex_iterator at(page.begin(), page.end(), names), end; at != end; ++at) {
            EXPECT_TRUE(seen.insert((*at)[1]).second) << "twice";
            ++here;
        }
        EXPECT_EQ(here, pages < 2 ? 20U : 5U);
        std::smatch next;
        const bool more =
            std::regex_search(page, next, std::regex("href=\"([^\"]*[?]from=[^\"]*)\""));
        path = more ? next[1].str() : std::string();
    }
    EXPECT_EQ(seen.size(), 45U);
    EXPECT_EQ(ann->get("/members/ann/followers?from=nonsense").status, 200);
    EXPECT_EQ(ann->get("/members/ann/followers?from=99999999999999-1").status, 200);
}

INSTANTIATE_TEST_SUITE_P(Databases, SessionsTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
