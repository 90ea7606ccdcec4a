// Timelines on each kind of database: whatever members do, a feed holds what a search of all posts
// of those they follow would find.

#include "examples/tidepool/timelines.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t all_posts = std::int64_t{1} << 60;

class TimelinesTest : public TidepoolTest {
  protected:
    // A feed by its definition.
    static Task<Ids> searched(db::Database db, std::int64_t viewer) {
        auto ids = co_await db.all<std::int64_t>(
            "select p.id from posts p where p.parent is null and p.gone_parent is null"
            " and (p.author = ? or p.author in"
            " (select followee from follows where follower = ?)) order by p.id desc limit ?",
            viewer, viewer, page_size);
        co_return ids;
    }
    static Ids ids_of(const Posts& posts) {
        Ids ids;
        for (const PostView& post : posts.posts) ids.push_back(post.id);
        return ids;
    }
};

// Members post, answer, follow, leave, block and delete at random. No member has more posts than a
// follow brings, so the definition holds for all of a feed.
Task<int> act_at_random(db::Database db, unsigned seed) {
    PostStore posts(db);
    Members members(db);
    std::mt19937 random(seed);
    const auto some = [&] { return static_cast<std::int64_t>(random() % 6 + 1); };
    Ids written;
    for (int step = 0; step < 150; ++step) {
        const std::int64_t actor = some();
        const std::string other = "member" + std::to_string(some());
        switch (random() % 8) {
            case 0:
            case 1:
            case 2: {
                Draft draft{.body = "post " + std::to_string(step)};
                if (!written.empty() && random() % 4 == 0) {
                    draft.parent = written[random() % written.size()];
                }
                const auto added = co_await posts.add(actor, draft);
                if (added) written.push_back(added->id);
                break;
            }
            case 3:
            case 4:
                co_await members.follow(actor, other);
                break;
            case 5:
                co_await members.unfollow(actor, other);
                break;
            case 6:
                if (random() % 3 == 0)
                    co_await members.block(actor, other);
                else
                    co_await members.unblock(actor, other);
                break;
            default:
                if (!written.empty()) {
                    co_await posts.remove(actor, written[random() % written.size()]);
                }
        }
    }
    co_return 0;
}

TEST_P(TimelinesTest, WhateverMembersDoAFeedHoldsThePostsOfThoseTheyFollow) {
    const auto check = [](db::Database db) -> Task<int> {
        co_await add_members(db, 6);
        PostStore posts(db);
        for (unsigned seed = 1; seed <= 3; ++seed) {
            co_await act_at_random(db, seed);
            for (std::int64_t viewer = 1; viewer <= 6; ++viewer) {
                const Ids wanted = co_await searched(db, viewer);
                const Posts feed = co_await posts.feed(viewer, all_posts);
                EXPECT_EQ(ids_of(feed), wanted) << "seed " << seed << ", member " << viewer;
            }
        }
        co_return 0;
    };
    EXPECT_EQ(run(check(*db_)), 0);
}

TEST_P(TimelinesTest, APostOfOneWithVeryManyFollowersIsWrittenOnce) {
    const auto check = [](db::Database db) -> Task<int> {
        co_await add_members(db, 5);
        PostStore posts(db);
        Members members(db);
        for (std::int64_t follower = 2; follower <= 4; ++follower) {
            co_await members.follow(follower, "member1");
        }
        Ids ids;
        for (const std::int64_t most : {3, 2}) {  // followers that are not too many, and too many
            auto write = [&](db::Transaction& tx) -> Task<> {
                const auto id = co_await tx.one<std::int64_t>(
                    "insert into posts (created_at, author, body) values (?, 1, 'x') returning id",
                    Time{});
                ids.push_back(*id);
                co_await put_into_timelines(tx, 1, *id, most);
            };
            co_await db.transaction(write);
        }
        const auto rows = co_await db.all<std::int64_t>(
            "select count(*) from timelines group by post order by post");
        EXPECT_EQ(rows, (Ids{4, 1}));  // the author's, and three followers'
        co_await members.follow(5, "member1");
        for (std::int64_t viewer = 1; viewer <= 5; ++viewer) {
            const Posts feed = co_await posts.feed(viewer, all_posts);
            EXPECT_EQ(ids_of(feed), (Ids{ids[1], ids[0]})) << viewer;
        }
        co_await members.unfollow(5, "member1");
        auto rebuild = [](db::Transaction& tx) -> Task<> { co_await rebuild_timelines(tx, 2); };
        co_await db.transaction(rebuild);
        const auto kept = co_await db.one<std::int64_t>("select count(*) from timelines");
        EXPECT_EQ(kept, 2) << "three followers are too many now: the author's own rows";
        const Posts same = co_await posts.feed(2, all_posts);
        EXPECT_EQ(ids_of(same), (Ids{ids[1], ids[0]}));
        const Posts left = co_await posts.feed(5, all_posts);
        EXPECT_TRUE(left.posts.empty());
        const auto newest = co_await posts.newest_in_feed(2);
        EXPECT_EQ(newest, ids[1]);
        const auto own = co_await posts.newest_in_feed(1);
        EXPECT_EQ(own, 0) << "one's own post is not news";
        co_return 0;
    };
    EXPECT_EQ(run(check(*db_)), 0);
}

// A follow and a post at the same moment: one of the two sees the other.
TEST_P(TimelinesTest, APostDuringAFollowIsNotMissed) {
    const auto check = [](db::Database db) -> Task<int> {
        co_await add_members(db, 3);
        PostStore posts(db);
        Members members(db);
        for (int turn = 0; turn < 20; ++turn) {
            auto post = [&]() -> Task<int> {
                const Draft draft{.body = "now"};
                co_await posts.add(1, draft);
                co_return 0;
            };
            auto follow = [&]() -> Task<int> {
                co_await members.follow(2, "member1");
                co_return 0;
            };
            co_await when_all(post(), follow());
            const Ids wanted = co_await searched(db, 2);
            const Posts feed = co_await posts.feed(2, all_posts);
            EXPECT_EQ(ids_of(feed), wanted) << turn;
            co_await members.unfollow(2, "member1");
        }
        co_return 0;
    };
    EXPECT_EQ(run(check(*db_)), 0);
}

// A notice that comes while the others are read: held back by a lock between the two statements.
Task<int> read_notices_while_one_comes(db::Database db) {
    const std::string add =
        "insert into notifications (created_at, member, kind, actor) values (?, ?, 'follow', ?)";
    co_await db.exec(add, Time{}, 1, 2);
    Members members(db);
    auto hold = [&](db::Transaction& tx) -> Task<> {
        if (db.dialect() == db::Dialect::postgres) {
            co_await tx.exec("lock table notifications in share row exclusive mode");
        } else {
            co_await tx.exec("update notifications set actor = 2 where member = ?", 1);
        }
        co_await sleep(std::chrono::milliseconds(300));  // meanwhile the reader waits for us
        co_await tx.exec(add, Time{}, 1, 3);
    };
    auto read = [&]() -> Task<std::size_t> {
        co_await sleep(std::chrono::milliseconds(100));
        const auto shown = co_await members.notifications(1, words_in("en"));
        co_return shown.size();
    };
    Task<> holding = db.transaction(hold);
    Task<std::size_t> reading = read();
    auto both = when_all(std::move(reading), std::move(holding));
    const auto done = co_await std::move(both);
    const auto unseen = co_await db.one<std::int64_t>(
        "select count(*) from notifications where member = ? and seen = 0", 1);
    co_return static_cast<int>(std::get<0>(done)) + static_cast<int>(*unseen);
}

TEST_P(TimelinesTest, ANoticeThatComesWhileOthersAreReadStaysUnseen) {
    run(add_members(*db_, 3));
    EXPECT_EQ(run(read_notices_while_one_comes(*db_)), 2) << "shown, or counted";
}

INSTANTIATE_TEST_SUITE_P(Databases, TimelinesTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
