// Writers of the same posts, and what happens to a text that is not taken.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tidepool/post_text.h"
#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;
using ::testing::HasSubstr;
using ::testing::Not;
using tiderace::testing::ClientResponse;

constexpr std::int64_t writers = 6;
constexpr int rounds = 20;

// On PostgreSQL: they take their locks in one order (lock_posts), so that none waits until a
// deadlock is detected.
class LocksTest : public TidepoolTest {
  protected:
    void SetUp() override {
        TidepoolTest::SetUp();
        if (!db_) return;
        run([](db::Database db) -> Task<> {
            // So that one that is detected costs little of this test's time.
            co_await db.script(
                "do $$ begin execute format('alter database %I set deadlock_timeout = ''20ms''',"
                " current_database()); end $$");
            for (int i = 0; i < writers; ++i) co_await add_member(db);
        }(*db_));
    }
    static Task<std::int64_t> add_member(db::Database db) {
        const auto last = co_await db.one<std::int64_t>("select count(*) from members");
        const std::string name = "member" + std::to_string(*last + 1);
        const auto id = co_await db.one<std::int64_t>(
            "insert into members (created_at, username, name, email, password)"
            " values (?, ?, ?, ?, '') returning id",
            Time{}, name, name, name + "@example.org");
        co_return *id;
    }
    static Task<std::int64_t> add_post(db::Database db, std::int64_t author,
                                       std::optional<std::int64_t> parent = {}) {
        PostStore posts(db);
        Draft draft{.body = "a text", .parent = parent};
        const auto added = co_await posts.add(author, draft);
        co_return added->id;
    }
    // What all connections but this one have met: they have ended.
    static Task<std::int64_t> deadlocks(db::Database db) {
        bool is_alone = false;
        while (!is_alone) {
            const auto others = co_await db.one<std::int64_t>(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and backend_type = 'client backend' and pid <> pg_backend_pid()");
            is_alone = *others == 0;
            if (!is_alone) co_await sleep(5ms);
        }
        const auto counted = co_await db.one<std::int64_t>(
            "select deadlocks from pg_stat_database where datname = current_database()");
        co_return *counted;
    }
    // The tasks of a round run at the same time.
    template <typename F>
    void run_rounds(F round) {
        run([](db::Database db, F& each) -> Task<> {
            for (int i = 0; i < rounds; ++i) {
                Scope scope;
                co_await each(db, scope);
                co_await scope.join();
            }
        }(*db_, round));
        EXPECT_EQ(run(deadlocks(*db_)), 0);
    }
};

// A post may be gone by then, and a member as well.
Task<> like(db::Database db, std::int64_t member, std::int64_t post, bool liked) {
    PostStore posts(db);
    co_await posts.like(member, post, liked);
}
Task<> answer(db::Database db, std::int64_t author, std::int64_t post) {
    PostStore posts(db);
    Draft draft{.body = "an answer", .parent = post};
    co_await posts.add(author, draft);
}
Task<> remove_post(db::Database db, std::int64_t author, std::int64_t post) {
    PostStore posts(db);
    co_await posts.remove(author, post);
}
Task<> remove_member(db::Database db, std::int64_t member) {
    password::Hasher passwords;
    Accounts accounts(db, passwords);
    co_await accounts.remove(member);
}

TEST_P(LocksTest, ALikedPostIsDeleted) {
    run_rounds([](db::Database db, Scope& scope) -> Task<> {
        const std::int64_t post = co_await add_post(db, 1);
        for (std::int64_t member = 2; member <= 3; ++member) co_await like(db, member, post, true);
        scope.spawn(like(db, 4, post, true));
        scope.spawn(like(db, 2, post, false));
        scope.spawn(like(db, 5, post, true));
        scope.spawn(remove_post(db, 1, post));
        scope.spawn(like(db, 6, post, true));
        scope.spawn(like(db, 3, post, false));
    });
}

TEST_P(LocksTest, APostAndItsRepliesAreDeleted) {
    run_rounds([](db::Database db, Scope& scope) -> Task<> {
        const std::int64_t post = co_await add_post(db, 1);
        const std::int64_t first = co_await add_post(db, 2, post);
        const std::int64_t second = co_await add_post(db, 3, post);
        const std::int64_t below = co_await add_post(db, 4, first);
        scope.spawn(answer(db, 5, post));
        scope.spawn(remove_post(db, 3, second));
        scope.spawn(answer(db, 6, first));
        scope.spawn(remove_post(db, 1, post));
        scope.spawn(answer(db, 2, post));
        scope.spawn(remove_post(db, 4, below));
        scope.spawn(remove_post(db, 2, first));
        scope.spawn(like(db, 6, second, true));
    });
}

TEST_P(LocksTest, MembersGoWithWhatTheyWroteAndLiked) {
    run_rounds([](db::Database db, Scope& scope) -> Task<> {
        const std::int64_t one = co_await add_post(db, 1);
        const std::int64_t other = co_await add_post(db, 2);
        std::vector<std::int64_t> members;
        for (int i = 0; i < 2; ++i) {
            const std::int64_t member = co_await add_member(db);
            members.push_back(member);
            const std::int64_t own = co_await add_post(db, member);
            co_await answer(db, member, i == 0 ? one : other);
            co_await answer(db, member, i == 0 ? other : one);
            for (const std::int64_t post : {one, other, own}) {
                co_await like(db, member, post, true);
                co_await answer(db, 3, post);
            }
        }
        scope.spawn(like(db, 4, one, true));
        scope.spawn(remove_member(db, members[0]));
        scope.spawn(answer(db, 5, other));
        scope.spawn(remove_member(db, members[1]));
        scope.spawn(like(db, 6, other, true));
        scope.spawn(remove_post(db, 1, one));
        scope.spawn(answer(db, members[0], other));
        scope.spawn(like(db, members[1], one, false));
    });
}

INSTANTIATE_TEST_SUITE_P(Databases, LocksTest, ::testing::Values(db::Dialect::postgres),
                         name_of_database);

// A member's text is not lost: to a fault of the form, or to a log-in that has ended.
class DraftsTest : public TidepoolTest {
  protected:
    // Everywhere, as a member's own press on another device.
    void end_log_ins() {
        const auto end = [](db::Database db) -> Task<int> {
            co_await db.exec("delete from logins");
            co_return 0;
        };
        run(end(*db_));
    }
    // A form with a text in its field that leads to a reply, not to a public post.
    static void expect_reply_form(const ClientResponse& answer, const std::string& post,
                                  std::string_view text) {
        EXPECT_THAT(answer.text(), HasSubstr("name=\"parent\" value=\"" + post + "\""));
        EXPECT_THAT(answer.text(), HasSubstr(">" + std::string(text) + "</textarea>"));
    }
    static ClientResponse log_in_again(Browser& person, std::string_view back,
                                       std::string_view draft, std::string_view word = password) {
        return person.post("/log-in", {{"who", "ann"},
                                       {"password", std::string(word)},
                                       {"back", std::string(back)},
                                       {"draft", std::string(draft)}});
    }
};

TEST_P(DraftsTest, ARefusedReplyStaysAReply) {
    auto ann = member("ann");
    const std::string post = ann->write("The tide is out.");
    const ClientResponse blank = ann->send("/posts", {{"body", " \n "}, {"parent", post}});
    EXPECT_EQ(blank.status, 422);
    expect_reply_form(blank, post, "");
    EXPECT_THAT(blank.text(), HasSubstr("1 to 2,000 characters"));
    const ClientResponse broken = ann->send_file(
        "/posts/with-picture", {{"csrf", ann->token()}, {"parent", post}, {"body", "look <here>"}},
        "no picture");
    EXPECT_EQ(broken.status, 422);
    expect_reply_form(broken, post, "look &lt;here&gt;");
    EXPECT_THAT(broken.text(), HasSubstr("name=\"back\" value=\"/posts/" + post + "\""));
    const ClientResponse own = ann->send_file(
        "/posts/with-picture", {{"csrf", ann->token()}, {"body", "for all"}}, "no picture");
    EXPECT_THAT(own.text(), HasSubstr(">for all</textarea>"));
    EXPECT_THAT(own.text(), Not(HasSubstr("name=\"parent\"")));
}

TEST_P(DraftsTest, AReplyToWhatIsGoneIsShownAndNoPublicPost) {
    auto ann = member("ann");
    for (const char* const body : {"to nobody", " "}) {
        const ClientResponse gone = ann->send("/posts", {{"body", body}, {"parent", "77"}});
        EXPECT_EQ(gone.status, 404);
        EXPECT_THAT(gone.text(), Not(HasSubstr("action=\"/posts")));
    }
    EXPECT_THAT(ann->send("/posts", {{"body", "to nobody"}, {"parent", "77"}}).text(),
                HasSubstr("readonly>to nobody</textarea>"));
}

TEST_P(DraftsTest, ATextOutlivesTheLogIn) {
    auto ann = member("ann");
    const std::string post = ann->write("The tide is out.");
    const struct {
        std::string path, parent, back, shown;
    } cases[] = {
        {"/posts", "", "/", "action=\"/posts"},
        {"/posts", post, "/posts/" + post, "name=\"parent\" value=\"" + post + "\""},
        {"/posts/with-picture", post, "/posts/" + post, "name=\"parent\" value=\"" + post + "\""},
        {"/posts/" + post + "/edit", "", "/posts/" + post + "/edit",
         "action=\"/posts/" + post + "/edit\""},
    };
    for (const auto& one : cases) {
        pass_a_minute(*ann);
        const std::string token = ann->token();
        end_log_ins();
        std::vector<std::pair<std::string, std::string>> fields{
            {"csrf", token}, {"parent", one.parent}, {"body", "two\nlines \"here\""}};
        if (one.parent.empty()) fields.erase(fields.begin() + 1);
        const bool has_file = one.path.ends_with("picture");
        const ClientResponse ended = has_file
                                         ? ann->send_file(one.path, fields, bytes_of(small_png))
                                         : ann->post(one.path, fields);
        EXPECT_EQ(ended.status, 403) << one.path;
        EXPECT_THAT(ended.text(), HasSubstr("name=\"back\" value=\"" + one.back + "\""));
        EXPECT_THAT(ended.text(), HasSubstr("name=\"draft\" value=\"two\nlines &#34;here&#34;\""));
        EXPECT_THAT(ended.text(), HasSubstr("your text is here again"));
        const ClientResponse wrong = log_in_again(*ann, one.back, "two\nlines \"here\"", "a guess");
        EXPECT_EQ(wrong.status, 403);
        EXPECT_THAT(wrong.text(), HasSubstr("name=\"draft\" value=\"two\nlines"));
        const ClientResponse in = log_in_again(*ann, one.back, "two\nlines \"here\"");
        EXPECT_EQ(in.status, 200) << one.path;
        EXPECT_THAT(in.text(), HasSubstr(one.shown));
        EXPECT_THAT(in.text(), HasSubstr(">two\nlines &#34;here&#34;</textarea>"));
        EXPECT_THAT(in.text(), HasSubstr("action=\"/log-out\"")) << "logged in";
        EXPECT_TRUE(ann->is_logged_in());
    }
    EXPECT_EQ(count(ann->get("/").text(), "<article"), 1U) << "shown, not sent";
}

// The form for a text of another member's post is not shown by naming it.
TEST_P(DraftsTest, AStrangersPostIsNotEditedByALogIn) {
    auto bob = member("bob");
    const std::string post = bob->write("mine");
    auto ann = member("ann");
    end_log_ins();
    const ClientResponse in = log_in_again(*ann, "/posts/" + post + "/edit", "hers");
    EXPECT_EQ(in.status, 404);
    EXPECT_THAT(in.text(), HasSubstr("readonly>hers</textarea>"));
}

TEST_P(DraftsTest, ALogInLeadsBackToAPageOfThisSite) {
    auto ann = member("ann");
    const std::string post = ann->write("The tide is out.");
    end_log_ins();
    const ClientResponse sent = ann->get("/search?q=tide%20pool");
    ASSERT_EQ(sent.status, 303);
    const std::string page = ann->get(sent.header("Location")).text();
    EXPECT_THAT(page, HasSubstr("name=\"back\" value=\"/search?q=tide%20pool\""));
    EXPECT_EQ(log_in_again(*ann, "/search?q=tide%20pool", "").header("Location"),
              "/search?q=tide%20pool");
    end_log_ins();
    EXPECT_EQ(ann->post("/posts/" + post + "/like", {{"csrf", "0"}}).header("Location"),
              "/log-in?back=%2Fposts%2F" + post);
    EXPECT_EQ(ann->post("/members/bob/follow", {{"csrf", "0"}}).header("Location"),
              "/log-in?back=%2Fmembers%2Fbob");
    for (const char* const elsewhere : {"//evil.example", "/\\evil.example", "https://evil.example",
                                        "evil", "/\t/evil.example"}) {
        end_log_ins();
        EXPECT_EQ(log_in_again(*ann, elsewhere, "").header("Location"), "/") << elsewhere;
        Browser guest(*app_, "ann");
        EXPECT_THAT(guest.get("/log-in?back=" + escaped(elsewhere)).text(),
                    HasSubstr("name=\"back\" value=\"/\""));
        pass_a_minute(*ann);
    }
}

TEST_P(DraftsTest, APageInClearSaysThatNoLogInIsKept) {
    for (const char* const path : {"/log-in", "/sign-up"}) {
        const auto page = [&](std::string host, tiderace::testing::Headers fields = {}) {
            tiderace::testing::Client guest(*app_, {.host = std::move(host)});
            return guest.get(path, fields).text();
        };
        EXPECT_THAT(page("tidepool.example"), HasSubstr("without encryption"));
        EXPECT_THAT(page("192.0.2.7:8080"), HasSubstr("without encryption"));
        EXPECT_THAT(page("localhost.example"), HasSubstr("without encryption"));
        for (const char* const here : {"localhost", "localhost:8080", "127.0.0.1:1", "[::1]:1"}) {
            EXPECT_THAT(page(here), Not(HasSubstr("without encryption"))) << here;
        }
        // A browser that trusts the origin reports it: TLS ends at a proxy that does not.
        EXPECT_THAT(page("tidepool.example", {{"Sec-Fetch-Site", "none"}}),
                    Not(HasSubstr("without encryption")));
    }
}

INSTANTIATE_TEST_SUITE_P(Databases, DraftsTest, each_database, name_of_database);

// A post that is removed takes nobody else's words along.
class RemovedTest : public TidepoolTest {
  protected:
    // ann's post, bob's reply to it, and cem's to that.
    void converse() {
        ann = member("ann");
        bob = member("bob");
        cem = member("cem");
        cem->send("/members/bob/follow", {});
        first = ann->write("The tide is out.");
        reply = bob->write("Not here.", first);
        answer = cem->write("Wait for it.", reply);
    }
    void expect_kept() {
        const ClientResponse page = cem->get("/posts/" + first);
        EXPECT_EQ(page.status, 200);
        EXPECT_THAT(page.text(), HasSubstr("This post was removed."));
        EXPECT_THAT(page.text(), Not(HasSubstr("The tide is out.")));
        EXPECT_THAT(page.text(), HasSubstr("Not here."));
        EXPECT_THAT(page.text(), Not(HasSubstr("<textarea"))) << "nothing to reply to";
        const ClientResponse under = cem->get("/posts/" + reply);
        EXPECT_THAT(under.text(), HasSubstr("href=\"/posts/" + first + "\">in reply to a post"));
        EXPECT_THAT(under.text(), HasSubstr("Wait for it."));
        EXPECT_THAT(cem->get("/").text(), Not(HasSubstr("Not here."))) << "no post of its own";
        EXPECT_EQ(cem->send("/posts", {{"body", "late"}, {"parent", first}}).status, 404);
        // Following fills the feed with posts alone.
        cem->send("/members/bob/unfollow", {});
        cem->send("/members/bob/follow", {});
        EXPECT_THAT(cem->get("/").text(), Not(HasSubstr("Not here.")));
    }

    std::unique_ptr<Browser> ann;
    std::unique_ptr<Browser> bob;
    std::unique_ptr<Browser> cem;
    std::string first;
    std::string reply;
    std::string answer;
};

TEST_P(RemovedTest, RepliesStayUnderWhatTheirAuthorRemoved) {
    converse();
    EXPECT_EQ(ann->send("/posts/" + first + "/delete", {}).status, 303);
    expect_kept();
    EXPECT_EQ(bob->send("/posts/" + reply + "/delete", {}).status, 303);
    EXPECT_EQ(cem->get("/posts/" + first).status, 404) << "nothing is left under it";
    EXPECT_THAT(cem->get("/posts/" + reply).text(), HasSubstr("Wait for it."));
}

TEST_P(RemovedTest, RepliesStayWhenAMemberLeaves) {
    converse();
    EXPECT_EQ(ann->send("/settings/delete", {{"password", std::string(password)}}).status, 303);
    expect_kept();
}

TEST_P(RemovedTest, RepliesStayUnderWhatAModeratorRemoved) {
    converse();
    auto judge = moderator();
    bob->send("/posts/" + first + "/report", {});
    EXPECT_EQ(judge->send("/reports/" + first + "/remove", {}).status, 303);
    expect_kept();
}

// Deep in a conversation, a reply stands beside its parent; a removed parent is not shown.
TEST_P(RemovedTest, AReplyToAReplyWithoutAParentIsNoPublicPost) {
    auto person = member("ann");
    std::vector<std::string> chain{person->write("first")};
    for (std::int64_t depth = 1; depth <= depth_max; ++depth) {
        pass_a_minute(*person);
        chain.push_back(person->write("deeper", chain.back()));
    }
    EXPECT_EQ(person->send("/posts/" + chain[chain.size() - 2] + "/delete", {}).status, 303);
    pass_a_minute(*person);
    const std::string last = person->write("the last one", chain.back());
    EXPECT_THAT(person->get("/posts/" + chain.back()).text(), HasSubstr("the last one"));
    EXPECT_THAT(person->get("/").text(), Not(HasSubstr("the last one")));
}

INSTANTIATE_TEST_SUITE_P(Databases, RemovedTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
