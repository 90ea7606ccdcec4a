#include "examples/tidepool/timelines.h"

#include <string>
#include <string_view>

#include "examples/tidepool/posts.h"

namespace tidepool {

using namespace tiderace;

namespace {

constexpr std::string_view wide_posts_of_followed =
    "select w.post from follows f join wide_posts w on w.author = f.followee"
    " where f.follower = ? and w.post < ? order by w.post desc limit ?";

// PostgreSQL keeps one plan for all members and expects the few follows of an average one: joined
// as above, it scans all of a small wide_posts for each of 500 follows. It expects more of an
// array, and then hashes wide_posts or uses its index, whichever costs less. `+ 0` keeps it from
// going through all wide posts by age until enough of them are by followed authors.
constexpr std::string_view wide_posts_of_followed_in_postgres =
    "select w.post from unnest(array(select f.followee from follows f where f.follower = ?))"
    " as followed (author) join wide_posts w on w.author = followed.author"
    " where w.post < ? order by w.post + 0 desc limit ?";

}  // namespace

// The first part stops at the limit by its index; the second reads what those few authors whom the
// member follows have in wide_posts. MariaDB takes a limit in a subquery only below another select.
std::string in_feed(db::Dialect dialect) {
    std::string sql =
        "p.id in (select post from ("
        "select post from (select t.post from timelines t where t.member = ? and t.post < ?"
        " order by t.post desc limit ?) narrow union select post from (";
    sql += dialect == db::Dialect::postgres ? wide_posts_of_followed_in_postgres
                                            : wide_posts_of_followed;
    return sql + ") wide) feed)";
}

std::vector<db::Value> in_feed_values(std::int64_t member, std::int64_t before,
                                      std::int64_t limit) {
    return {member, before, limit, member, before, limit};
}

Task<> lock_author(db::Transaction& tx, db::Dialect dialect, std::int64_t author) {
    // SQLite has one writer at a time anyway. In PostgreSQL the weaker lock lets others like and
    // answer meanwhile, whose rows refer to the author's.
    if (dialect == db::Dialect::sqlite) co_return;
    std::string sql = "select id from members where id = ?";
    sql += dialect == db::Dialect::postgres ? " for no key update" : " for update";
    co_await tx.one<std::int64_t>(sql, author);
}

Task<> lock_posts(db::Transaction& tx, db::Dialect dialect, std::string which,
                  std::vector<db::Value> values) {
    if (dialect != db::Dialect::postgres) co_return;
    // The weaker lock lets rows refer to them meanwhile, such as reports.
    co_await tx.one<std::int64_t>("select count(*) from (select id from posts where id in (" +
                                      which + ") order by id for no key update) locked",
                                  values);
}

namespace {

Task<> keep_newest_wide(db::Transaction& tx, std::int64_t author) {
    const auto last = co_await tx.one<std::int64_t>(
        "select post from wide_posts where author = ? order by post desc limit 1 offset ?", author,
        wide_kept);
    if (!last) co_return;
    co_await tx.exec("delete from wide_posts where author = ? and post <= ?", author, *last);
}

}  // namespace

Task<> put_into_timelines(db::Transaction& tx, std::int64_t author, std::int64_t post,
                          std::int64_t followers_max) {
    co_await tx.exec("insert into timelines (member, post) values (?, ?)", author, post);
    const auto followers = co_await tx.one<std::int64_t>(
        // At most one row more than matters is counted, of however many followers.
        "select count(*) from (select follower from follows where followee = ? limit ?) counted",
        author, followers_max + 1);
    if (*followers > followers_max) {
        co_await tx.exec("insert into wide_posts (post, author) values (?, ?)", post, author);
        co_await keep_newest_wide(tx, author);
        co_return;
    }
    co_await tx.exec(
        "insert into timelines (member, post) select follower, ? from follows where followee = ?",
        post, author);
}

Task<> fill_timeline(db::Transaction& tx, db::Dialect dialect, std::int64_t member,
                     std::int64_t followee) {
    co_await tx.exec(
        "insert into timelines (member, post) select ?, n.id from (select p.id from posts p"
        " where p.author = ? and p.parent is null and p.gone_parent is null"
        // Their posts are joined in when the feed is read.
        " and not exists (select 1 from wide_posts w where w.post = p.id)"
        " order by p.id desc limit ?) n where 1 = 1" +
            once(dialect, "member"),
        member, followee, filled);
}

Task<> clear_timeline(db::Transaction& tx, std::int64_t member, std::int64_t author) {
    co_await tx.exec(
        "delete from timelines where member = ? and post in"
        " (select p.id from posts p where p.author = ?)",
        member, author);
}

Task<> rebuild_timelines(db::Transaction& tx, std::int64_t followers_max) {
    co_await tx.exec("delete from timelines");
    co_await tx.exec("delete from wide_posts");
    co_await tx.exec(
        "insert into wide_posts (post, author) select id, author from (select p.id, p.author,"
        " row_number() over (partition by p.author order by p.id desc) as place from posts p"
        " where p.parent is null and p.gone_parent is null and p.author in"
        " (select followee from follows group by followee having count(*) > ?)) newest"
        " where place <= ?",
        followers_max, wide_kept);
    co_await tx.exec(
        "insert into timelines (member, post) select f.follower, p.id from follows f"
        " join posts p on p.author = f.followee where p.parent is null"
        " and p.gone_parent is null and f.followee not in"
        " (select followee from follows group by followee having count(*) > ?)",
        followers_max);
    co_await tx.exec(
        "insert into timelines (member, post)"
        " select p.author, p.id from posts p where p.parent is null"
        " and p.gone_parent is null");
}

}  // namespace tidepool
