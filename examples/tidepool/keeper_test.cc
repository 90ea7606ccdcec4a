// A node tidies up timelines, well-known members' posts, and pictures that nothing names.

#include "examples/tidepool/keeper.h"

#include <fstream>
#include <string>

#include "examples/tidepool/tidepool_fixture.h"
#include "examples/tidepool/timelines.h"

namespace tidepool {
namespace {

using namespace tiderace;

class KeeperTest : public TidepoolTest {
  protected:
    Task<std::int64_t> posts_of(std::string table, std::string column) {
        co_return *co_await db_->one<std::int64_t>("select count(*) from " + table + " where " +
                                                   column + " = 1");
    }
};

INSTANTIATE_TEST_SUITE_P(On, KeeperTest, each_database, name_of_database);

TEST_P(KeeperTest, ATimelineKeepsItsNewestPosts) {
    auto ann = member("ann");
    for (int i = 0; i < 7; ++i) ann->write("post " + std::to_string(i));
    EXPECT_EQ(run(trim_timelines(*db_, 0, 3)), 0);
    EXPECT_EQ(run(posts_of("timelines", "member")), 3);
    const std::string feed = ann->get("/").text();
    EXPECT_EQ(count(feed, "post 6"), 1U);
    EXPECT_EQ(count(feed, "post 4"), 1U);
    EXPECT_EQ(count(feed, "post 3"), 0U);
}

TEST_P(KeeperTest, AWellKnownMemberHasABoundedNumberOfPostsInFeeds) {
    member("ann");
    auto write = [](db::Database db) -> Task<std::int64_t> {
        PostStore posts(db);
        for (int i = 0; i < wide_kept + 5; ++i) {
            Draft draft{.body = "post"};
            const auto added = co_await posts.add(1, std::move(draft));
            auto wide = [&](db::Transaction& tx) -> Task<> {
                co_await tx.exec("delete from timelines where post = ?", added->id);
                co_await put_into_timelines(tx, 1, added->id, -1);
            };
            co_await db.transaction(wide);
        }
        co_return *co_await db.one<std::int64_t>("select min(post) from wide_posts");
    };
    EXPECT_EQ(run(write(*db_)), 6);
    EXPECT_EQ(run(posts_of("wide_posts", "author")), wide_kept);
}

TEST_P(KeeperTest, PicturesThatNoRowNamesGo) {
    if (!pictures_are_built()) GTEST_SKIP() << "Tidepool is built without libvips";
    auto ann = member("ann");
    ann->send_file("/posts/with-picture", {{"csrf", ann->token()}, {"body", "kept"}},
                   bytes_of(small_png));
    ASSERT_EQ(files(), 1U);
    for (const std::string name :
         {"0123456789abcdef0123456789abcdef-01234567.webp", ".in-0123", ".new-x", "readme.txt"}) {
        std::ofstream(pictures() + "/" + name) << "x";
    }
    Pictures folder(pictures());
    EXPECT_EQ(run(sweep_pictures(*db_, folder, std::chrono::hours(1))), 0U);
    EXPECT_EQ(run(sweep_pictures(*db_, folder, std::chrono::seconds(-5))), 3U);
    EXPECT_EQ(files(), 2U);  // the post's, and what is none of ours
}

}  // namespace
}  // namespace tidepool
