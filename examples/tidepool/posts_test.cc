// Writers of the same posts, on PostgreSQL: they take their locks in one order (lock_posts), so
// that none waits until a deadlock is detected.

#include <cstdint>
#include <string>
#include <vector>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;

constexpr std::int64_t writers = 6;
constexpr int rounds = 20;

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
    // What a round spawns runs at a time.
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
    Passwords passwords;
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

}  // namespace
}  // namespace tidepool
