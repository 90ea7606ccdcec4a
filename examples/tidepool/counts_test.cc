// Counts that stand in the rows of posts and members, on each kind of database: whatever is done at
// a time, and however many rows there were before migrations 0008 and 0009, what pages show by them
// is what the counted rows say.

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

constexpr int counted_members = 6;
constexpr int loops = 4;
constexpr int steps_of_loop = 40;

struct Written {
    std::int64_t id;
    std::int64_t author;
};

class CountsTest : public TidepoolTest {
  protected:
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
    // New notices that a visitor is not shown, and posts that a block hides from the wrong ones.
    static Task<std::vector<std::string>> wrong_for_members(db::Database db) {
        password::Hasher passwords;
        Accounts accounts(db, passwords);
        PostStore posts(db);
        std::vector<std::string> wrong;
        const auto members = co_await db.all<std::int64_t>("select id from members");
        const auto written = co_await db.all<Written>("select id, author from posts");
        for (const std::int64_t member : members) {
            const std::string login = random_word();
            co_await accounts.begin_login(member, login, "a browser");
            const auto viewer = co_await accounts.viewer(login);
            const auto unseen = co_await db.one<std::int64_t>(
                "select count(*) from notifications where member = ? and seen = 0", member);
            if (viewer->unseen != *unseen) {
                wrong.push_back("member " + std::to_string(member) + ": " +
                                std::to_string(viewer->unseen) + " new notices, not " +
                                std::to_string(*unseen));
            }
            if (db.dialect() == db::Dialect::sqlite) {
                // One that is too high hides nothing, and costs each reader a look at the blocks.
                const auto missed = co_await db.one<std::int64_t>(
                    "select (select count(*) from blocks where blocker = m.id or blocked = m.id)"
                    " - m.block_count from members m where id = ?",
                    member);
                if (*missed != 0) {
                    wrong.push_back("member " + std::to_string(member) + ": " +
                                    std::to_string(*missed) + " blocks are not counted");
                }
            }
            for (const Written& post : written) {
                const auto blocks = co_await db.one<std::int64_t>(
                    "select count(*) from blocks where (blocker = ? and blocked = ?)"
                    " or (blocker = ? and blocked = ?)",
                    member, post.author, post.author, member);
                const auto shown = co_await posts.find(member, post.id);
                if (shown.has_value() == (*blocks == 0)) continue;
                wrong.push_back("post " + std::to_string(post.id) + " for member " +
                                std::to_string(member));
            }
        }
        co_return wrong;
    }
};

// The site's of all loops.
struct Made {
    std::atomic<int> likes = 0;
    std::atomic<int> replies = 0;
};

// Actions that change the counts of members.
Task<> act_among_members(db::Database db, std::int64_t member, std::int64_t other, unsigned what) {
    Members all(db);
    const auto name =
        co_await db.one<std::string>("select username from members where id = ?", other);
    if (!name) co_return;  // gone meanwhile
    // Blocks are rare, because members that are blocked make no notices.
    if (what == 0) {
        co_await all.block(member, *name);
    } else if (what < 3) {
        co_await all.unblock(member, *name);
    } else {
        co_await all.notifications(member, words_in("en"));
    }
}

Task<> act(db::Database db, Accounts& accounts, std::mt19937& random, Made& made) {
    PostStore posts(db);
    const auto some = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
    const auto members = co_await db.all<std::int64_t>("select id from members");
    // The newest few, so that all of them act on the same ones.
    const auto newest_posts =
        co_await db.all<Written>("select id, author from posts order by id desc limit 8");
    const std::int64_t member = members[some(members.size())];
    const std::size_t what = newest_posts.empty() ? 0 : some(26);
    if (what >= 20) {
        const std::int64_t other = members[some(members.size())];
        co_await act_among_members(db, member, other, static_cast<unsigned>(what - 20));
        co_return;
    }
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
    } else if (what < 19 || members.size() <= counted_members / 2) {
        co_await posts.remove(post.author, post.id);
    } else {
        co_await accounts.remove(member);
    }
}

Task<int> act_at_random(db::Database db, unsigned seed, Made& made) {
    password::Hasher passwords;
    Accounts accounts(db, passwords);
    std::mt19937 random(seed);
    for (int step = 0; step < steps_of_loop; ++step) {
        try {
            co_await act(db, accounts, random, made);
        } catch (const db::Error& error) {
            // Such as the third deadlock in a row, or a row that another loop has deleted: the
            // whole action was undone.
            if (!error.is_transient() && error.kind() != db::Fault::foreign_key) throw;
        }
    }
    co_return 0;
}

TEST_P(CountsTest, StayRightWhateverIsDoneAtATime) {
    run([](db::Database db) -> Task<int> {
        co_await add_members(db, counted_members);
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
    EXPECT_THAT(run(wrong_for_members(*db_)), ::testing::IsEmpty());
    EXPECT_GT(made.likes, 0);
    EXPECT_GT(made.replies, 0);
}

// Rows that were there before posts and members had counts.
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
        co_await add_members(db, counted_members);
        co_await db.exec(
            "insert into posts (id, created_at, author, parent, body)"
            " values (1, ?, 1, null, 'a'), (2, ?, 2, 1, 'b'), (3, ?, 3, 1, 'c'), (4, ?, 1, 3, 'd')",
            Time{}, Time{}, Time{}, Time{});
        co_await db.exec(
            "insert into likes (member, post, created_at)"
            " values (1, 1, ?), (2, 1, ?), (3, 1, ?), (1, 3, ?)",
            Time{}, Time{}, Time{}, Time{});
        co_await db.exec("insert into blocks (blocker, blocked, created_at) values (1, 2, ?)",
                         Time{});
        co_await db.exec(
            "insert into notifications (created_at, member, kind, actor, post, seen)"
            " values (?, 1, 'like', 2, 1, 0), (?, 1, 'like', 3, 1, 1), (?, 3, 'like', 1, 3, 0)",
            Time{}, Time{}, Time{});
        co_return 0;
    }(old));
    run(prepare(old, std::string(TIDEPOOL_FOLDER) + "/migrations"));
    EXPECT_THAT(run(wrong(old)), ::testing::IsEmpty());
    const auto first = run(PostStore(old).find(0, 1));
    ASSERT_TRUE(first);
    EXPECT_EQ(first->likes, 3);
    EXPECT_EQ(first->replies, 2);
    EXPECT_THAT(run(wrong_for_members(old)), ::testing::IsEmpty());
    EXPECT_FALSE(run(PostStore(old).find(2, 1)));
    EXPECT_TRUE(run(Members(old).block(3, "member1")));
    EXPECT_THAT(run(wrong_for_members(old)), ::testing::IsEmpty());
    EXPECT_FALSE(run(PostStore(old).find(3, 1)));
    EXPECT_TRUE(run(Members(old).unblock(3, "member1")));
    EXPECT_THAT(run(wrong_for_members(old)), ::testing::IsEmpty());
    EXPECT_TRUE(run(PostStore(old).find(3, 1)));
    EXPECT_TRUE(run(PostStore(old).like(2, 3, true)));  // of member 3, with a notice of it
    EXPECT_THAT(run(wrong_for_members(old)), ::testing::IsEmpty());
    EXPECT_EQ(run(Members(old).notifications(3, words_in("en"))).size(), 1u);  // and sees it
    EXPECT_THAT(run(wrong_for_members(old)), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Databases, CountsTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
