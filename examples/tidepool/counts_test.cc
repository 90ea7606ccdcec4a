// The counts of likes and replies that posts show, on each kind of database: whatever is done at a
// time, and however many rows there were before migration 0008, they equal the rows.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;

constexpr int people = 6;
constexpr int loops = 4;
constexpr int steps = 40;  // of each loop

class CountsTest : public TidepoolTest {
  protected:
    static Task<> add_members(db::Database db) {
        for (int i = 1; i <= people; ++i) {
            const std::string name = "member" + std::to_string(i);
            co_await db.exec(
                "insert into members (created_at, username, name, email, password)"
                " values (?, ?, ?, ?, '')",
                Time{}, name, name, name + "@example.org");
        }
    }
    // Posts that show another number than there are rows.
    static Task<std::vector<std::string>> wrong(db::Database db) {
        PostStore posts(db);
        std::vector<std::string> wrong;
        const auto ids = co_await db.all<std::int64_t>("select id from posts");
        for (const std::int64_t id : ids) {
            const auto shown = co_await posts.find(0, id);
            const auto likes =
                co_await db.one<std::int64_t>("select count(*) from likes where post = ?", id);
            const auto replies =
                co_await db.one<std::int64_t>("select count(*) from posts where parent = ?", id);
            if (shown->likes != *likes || shown->replies != *replies) {
                wrong.push_back(std::to_string(id) + ": " + std::to_string(shown->likes) + " and " +
                                std::to_string(shown->replies) + ", not " + std::to_string(*likes) +
                                " and " + std::to_string(*replies));
            }
        }
        co_return wrong;
    }
};

struct Written {
    std::int64_t id;
    std::int64_t author;
};

// Of all loops.
struct Made {
    std::atomic<int> likes = 0;
    std::atomic<int> replies = 0;
};

Task<> act(db::Database db, Accounts& accounts, std::mt19937& random, Made& made) {
    PostStore posts(db);
    const auto some = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
    const auto members = co_await db.all<std::int64_t>("select id from members");
    // The newest few, so that all of them act on the same ones.
    const auto newest_posts =
        co_await db.all<Written>("select id, author from posts order by id desc limit 8");
    const std::int64_t member = members[some(members.size())];
    const std::size_t what = newest_posts.empty() ? 0 : some(20);
    Draft draft{.body = "a text"};
    if (what == 0) {
        co_await posts.add(member, draft);
        co_return;
    }
    const Written post = newest_posts[some(newest_posts.size())];
    if (what < 8) {
        const auto liked = co_await posts.like(member, post.id, true);
        if (liked) ++made.likes;
    } else if (what < 12) {
        co_await posts.like(member, post.id, false);
    } else if (what < 17) {
        draft.parent = post.id;
        const auto added = co_await posts.add(member, draft);
        if (added) ++made.replies;
    } else if (what < 19 || members.size() <= people / 2) {
        co_await posts.remove(post.author, post.id);
    } else {
        co_await accounts.remove(member);
    }
}

Task<int> act_at_random(db::Database db, unsigned seed, Made& made) {
    Passwords passwords;
    Accounts accounts(db, passwords);
    std::mt19937 random(seed);
    for (int step = 0; step < steps; ++step) {
        try {
            co_await act(db, accounts, random, made);
        } catch (const db::Error& error) {
            // Such as the third deadlock in a row, or a row that another loop has deleted: the
            // whole action was undone.
            if (!error.passes() && error.kind() != db::Fault::foreign_key) throw;
        }
    }
    co_return 0;
}

TEST_P(CountsTest, StayRightWhateverIsDoneAtATime) {
    run([](db::Database db) -> Task<int> {
        co_await add_members(db);
        co_return 0;
    }(*db_));
    Made made;
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < loops; ++seed) {
        threads.emplace_back([this, seed, &made] {
            EXPECT_NO_THROW(EXPECT_EQ(run(act_at_random(*db_, seed, made)), 0));
        });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_THAT(run(wrong(*db_)), ::testing::IsEmpty());
    EXPECT_GT(made.likes, 0);
    EXPECT_GT(made.replies, 0);
}

// Those that were there before posts had counts.
TEST_P(CountsTest, TheMigrationCountsWhatIsThere) {
    const auto before = folder_ / "migrations";
    std::filesystem::create_directory(before);
    for (const auto& file :
         std::filesystem::directory_iterator(std::string(TIDEPOOL_FOLDER) + "/migrations")) {
        const std::filesystem::path name = file.path().filename();
        if (name.string() < "0008") std::filesystem::copy_file(file.path(), before / name);
    }
    const bool is_sqlite = GetParam() == db::Dialect::sqlite;
    db::Database old =
        db::open(is_sqlite ? "sqlite:" + folder_.string() + "/old.db"
                           : tiderace::testing::DatabaseServer::shared(GetParam()).fresh("old"));
    run(prepare(old, before));
    run([](db::Database db) -> Task<int> {
        co_await add_members(db);
        co_await db.exec(
            "insert into posts (id, created_at, author, parent, body)"
            " values (1, ?, 1, null, 'a'), (2, ?, 2, 1, 'b'), (3, ?, 3, 1, 'c'), (4, ?, 1, 3, 'd')",
            Time{}, Time{}, Time{}, Time{});
        co_await db.exec(
            "insert into likes (member, post, created_at)"
            " values (1, 1, ?), (2, 1, ?), (3, 1, ?), (1, 3, ?)",
            Time{}, Time{}, Time{}, Time{});
        co_return 0;
    }(old));
    run(prepare(old, std::string(TIDEPOOL_FOLDER) + "/migrations"));
    EXPECT_THAT(run(wrong(old)), ::testing::IsEmpty());
    const auto first = run(PostStore(old).find(0, 1));
    ASSERT_TRUE(first);
    EXPECT_EQ(first->likes, 3);
    EXPECT_EQ(first->replies, 2);
}

INSTANTIATE_TEST_SUITE_P(Databases, CountsTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
