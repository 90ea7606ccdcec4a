#include "examples/tidepool/members.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "examples/tidepool/post_text.h"
#include "examples/tidepool/posts.h"
#include "examples/tidepool/timelines.h"
#include "examples/tidepool/wakes.h"

namespace tidepool {

using namespace tiderace;

namespace {

constexpr std::size_t excerpt_characters = 60;

struct PersonRow {
    std::int64_t id;
    std::string username;
    std::string name;
    std::string face;
};

struct ProfileRow {
    std::int64_t id;
    std::string username;
    std::string name;
    std::string about;
    std::string face;
    Time created_at;
    std::int64_t posts;
    std::int64_t following;
    std::int64_t followers;
    bool followed;
    bool blocked;
    bool muted;
};

struct NotificationRow {
    std::int64_t id;
    Time created_at;
    std::string kind;
    std::int64_t actor;
    std::string username;
    std::string name;
    std::string face;
    std::optional<std::int64_t> post;
    std::optional<std::string> body;
    bool seen;
};

std::vector<Person> people_of(std::vector<PersonRow> rows) {
    std::vector<Person> people;
    for (PersonRow& row : rows) {
        people.push_back({.username = std::move(row.username),
                          .name = row.name,
                          .initial = initial_of(row.name),
                          .hue = hue_of(row.id),
                          .face = std::move(row.face)});
    }
    return people;
}

std::string_view words_for(std::string_view kind, const Words& words) {
    if (kind == "like") return words.notice.liked_your_post;
    if (kind == "reply") return words.notice.replied_to_you;
    if (kind == "mention") return words.notice.mentioned_you;
    return words.notice.follows_you;
}

}  // namespace

// One statement with its counts, because a page waits for each. A profile whose member blocked the
// viewer is not found, as if there were none.
Task<std::optional<Profile>> Members::profile(std::int64_t viewer, std::string username) {
    auto row = co_await db_.one<ProfileRow>(
        "select m.id, m.username, m.name, m.about, coalesce(m.face, '') as face, m.created_at,"
        " (select count(*) from posts p where p.author = m.id) as posts,"
        " (select count(*) from follows f where f.follower = m.id) as following,"
        " (select count(*) from follows f where f.followee = m.id) as followers,"
        " exists (select 1 from follows f where f.follower = ? and f.followee = m.id) as followed,"
        " exists (select 1 from blocks b where b.blocker = ? and b.blocked = m.id) as blocked,"
        " exists (select 1 from mutes u where u.muter = ? and u.muted = m.id) as muted"
        " from members m where m.username = ?"
        " and not exists (select 1 from blocks b where b.blocker = m.id and b.blocked = ?)",
        viewer, viewer, viewer, small_letters(username), viewer);
    if (!row) co_return std::nullopt;
    Profile profile{.id = row->id,
                    .username = std::move(row->username),
                    .name = row->name,
                    .about = std::move(row->about),
                    .created_at = row->created_at,
                    .initial = initial_of(row->name),
                    .hue = hue_of(row->id),
                    .face = std::move(row->face),
                    .posts = row->posts,
                    .following = row->following,
                    .followers = row->followers,
                    .own = row->id == viewer,
                    .followed = row->followed,
                    .blocked = row->blocked,
                    .muted = row->muted};
    co_return profile;
}

// Not the viewer: following, muting or blocking oneself is as impossible as with a member that does
// not exist.
Task<std::optional<std::int64_t>> Members::other(std::int64_t viewer, std::string username) {
    co_return co_await db_.one<std::int64_t>(
        "select id from members where username = ? and id <> ?", small_letters(username), viewer);
}

Task<bool> Members::follow(std::int64_t viewer, std::string username) {
    const auto member = co_await other(viewer, std::move(username));
    if (!member) co_return false;
    auto write = [&](db::Transaction& tx) -> Task<bool> {
        co_await lock_author(tx, db_.dialect(), *member);
        // Looked up under the lock, or a block at the same moment would be followed by a follow.
        const auto blocked = co_await tx.one<bool>(
            "select exists (select 1 from blocks b where (b.blocker = ? and b.blocked = ?)"
            " or (b.blocker = ? and b.blocked = ?))",
            viewer, *member, *member, viewer);
        if (*blocked) co_return false;
        const auto followed = co_await tx.one<bool>(
            "select exists (select 1 from follows where follower = ? and followee = ?)", viewer,
            *member);
        // A second press, or a form that was sent twice: no second notice.
        if (*followed) co_return true;
        co_await tx.exec("insert into follows (follower, followee, created_at) values (?, ?, ?)" +
                             once(db_.dialect(), "follower"),
                         viewer, *member, now());
        // Under the same lock: a post at this moment comes into the timeline by one of the two.
        co_await fill_timeline(tx, db_.dialect(), viewer, *member);
        // Unfollowing and following again gives one notice, the newest.
        co_await tx.exec(
            "delete from notifications where member = ? and kind = 'follow' and actor = ?", *member,
            viewer);
        co_await tx.exec(
            "insert into notifications (created_at, member, kind, actor)"
            " select ?, m.id, 'follow', ? from members m where m.id = ?"
            " and not exists (select 1 from mutes u where u.muter = m.id and u.muted = ?)",
            now(), viewer, *member, viewer);
        co_return true;
    };
    const bool followed = co_await unless_gone(db_.transaction(write, retried));
    if (followed && wakes_ != nullptr) {
        wakes_->member(*member);
        wakes_->member(viewer);  // whose feed is another now
    }
    co_return followed;
}

Task<bool> Members::unfollow(std::int64_t viewer, std::string username) {
    const auto member = co_await other(viewer, std::move(username));
    if (!member) co_return false;
    auto write = [&](db::Transaction& tx) -> Task<> {
        // Or a post of this moment would still find the follow, and stay in the timeline.
        co_await lock_author(tx, db_.dialect(), *member);
        co_await tx.exec("delete from follows where follower = ? and followee = ?", viewer,
                         *member);
        co_await clear_timeline(tx, viewer, *member);
    };
    co_await db_.transaction(write, retried);
    co_return true;
}

Task<bool> Members::block(std::int64_t viewer, std::string username) {
    const auto member = co_await other(viewer, std::move(username));
    if (!member) co_return false;
    auto write = [&](db::Transaction& tx) -> Task<bool> {
        // Both, and always in the same order, so that two members that block each other at once do
        // not wait for each other.
        co_await lock_author(tx, db_.dialect(), std::min(viewer, *member));
        co_await lock_author(tx, db_.dialect(), std::max(viewer, *member));
        co_await tx.exec(
            "delete from follows where (follower = ? and followee = ?)"
            " or (follower = ? and followee = ?)",
            viewer, *member, *member, viewer);
        co_await clear_timeline(tx, viewer, *member);
        co_await clear_timeline(tx, *member, viewer);
        co_await tx.exec(
            "delete from notifications where (member = ? and actor = ?)"
            " or (member = ? and actor = ?)",
            viewer, *member, *member, viewer);
        co_await tx.exec("insert into blocks (blocker, blocked, created_at) values (?, ?, ?)" +
                             once(db_.dialect(), "blocker"),
                         viewer, *member, now());
        co_return true;
    };
    co_return co_await unless_gone(db_.transaction(write, retried));
}

Task<bool> Members::mute(std::int64_t viewer, std::string username) {
    const auto member = co_await other(viewer, std::move(username));
    if (!member) co_return false;
    auto write = [&](db::Transaction& tx) -> Task<bool> {
        co_await tx.exec(
            "insert into mutes (muter, muted) values (?, ?)" + once(db_.dialect(), "muter"), viewer,
            *member);
        co_return true;
    };
    co_return co_await unless_gone(db_.transaction(write, retried));
}

Task<bool> Members::unmute(std::int64_t viewer, std::string username) {
    const auto member = co_await other(viewer, std::move(username));
    if (!member) co_return false;
    co_await db_.exec("delete from mutes where muter = ? and muted = ?", viewer, *member);
    co_return true;
}

Task<bool> Members::unblock(std::int64_t viewer, std::string username) {
    const auto member = co_await other(viewer, std::move(username));
    if (!member) co_return false;
    co_await db_.exec("delete from blocks where blocker = ? and blocked = ?", viewer, *member);
    co_return true;
}

namespace {

struct FollowedRow {
    std::int64_t id;
    std::string username;
    std::string name;
    std::string face;
    Time created_at;
};

// "1764000000-17": a moment in seconds, and the previous member.
struct Cursor {
    Time at = Time(std::chrono::seconds(253'402'300'799));  // the end of the year 9999
    std::int64_t id = 0;

    static Cursor of(std::string_view text) {
        std::int64_t seconds = 0;
        std::int64_t id = 0;
        const char* end = text.data() + text.size();
        const auto first = std::from_chars(text.data(), end, seconds);
        if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return {};
        const auto second = std::from_chars(first.ptr + 1, end, id);
        if (second.ec != std::errc() || second.ptr != end) return {};
        // A time that no database takes would be a 500; a cursor that is wrong begins at the front.
        if (seconds < 0 || seconds > Cursor().at.time_since_epoch().count()) return {};
        return {Time(std::chrono::seconds(seconds)), id};
    }
};

}  // namespace

// `whom`, `of`: columns of follows, and nothing that a visitor sent.
Task<People> Members::people(std::string_view whom, std::string_view of, std::int64_t viewer,
                             std::int64_t member, std::string from) {
    std::string sql =
        "select m.id, m.username, m.name, coalesce(m.face, '') as face, f.created_at"
        " from follows f join members m on m.id = f.";
    sql += whom;
    sql += " where f.";
    sql += of;
    sql +=
        " = ? and f.created_at <= ? and (f.created_at < ? or m.id > ?)"
        " and not exists (select 1 from blocks b where (b.blocker = ? and b.blocked = m.id)"
        " or (b.blocker = m.id and b.blocked = ?))"
        " order by f.created_at desc, m.id limit ?";
    const Cursor cursor = Cursor::of(from);
    auto rows = co_await db_.all<FollowedRow>(sql, member, cursor.at, cursor.at, cursor.id, viewer,
                                              viewer, page_size + 1);
    People page;
    if (rows.size() > static_cast<std::size_t>(page_size)) {
        rows.pop_back();
        // Two parts, because several follows may have the same second.
        page.next = std::to_string(rows.back().created_at.time_since_epoch().count()) + "-" +
                    std::to_string(rows.back().id);
    }
    std::vector<PersonRow> found;
    for (FollowedRow& row : rows) {
        found.push_back(
            {row.id, std::move(row.username), std::move(row.name), std::move(row.face)});
    }
    page.people = people_of(std::move(found));
    co_return page;
}

Task<People> Members::followers(std::int64_t viewer, std::int64_t member, std::string from) {
    return people("follower", "followee", viewer, member, std::move(from));
}

Task<People> Members::following(std::int64_t viewer, std::int64_t member, std::string from) {
    return people("followee", "follower", viewer, member, std::move(from));
}

// `list`: the table with its members, up to the column that is the member's.
Task<People> Members::hidden(std::string_view list, std::int64_t member, std::string from) {
    auto rows = co_await db_.all<PersonRow>(
        "select m.id, m.username, m.name, coalesce(m.face, '') as face from " + std::string(list) +
            " = ? and m.username > ? order by m.username limit ?",
        member, tidied(from), page_size + 1);
    People page;
    if (rows.size() > static_cast<std::size_t>(page_size)) {
        rows.pop_back();
        // Names are in order and never twice, so the last one is the whole cursor.
        page.next = rows.back().username;
    }
    page.people = people_of(std::move(rows));
    co_return page;
}

Task<People> Members::muted(std::int64_t member, std::string from) {
    return hidden("mutes h join members m on m.id = h.muted where h.muter", member,
                  std::move(from));
}

Task<People> Members::blocked(std::int64_t member, std::string from) {
    return hidden("blocks h join members m on m.id = h.blocked where h.blocker", member,
                  std::move(from));
}

Task<std::vector<Person>> Members::search(std::int64_t viewer, std::string words) {
    const std::string pattern = containing(words);
    co_return people_of(co_await db_.all<PersonRow>(
        "select m.id, m.username, m.name, coalesce(m.face, '') as face from members m"
        " where (m.username like ? escape '!' or lower(m.name) like lower(?) escape '!')"
        " and not exists (select 1 from blocks b where b.blocker = m.id and b.blocked = ?)"
        " order by m.id desc limit ?",
        small_letters(pattern), pattern, viewer, page_size));
}

Task<std::vector<Notification>> Members::notifications(std::int64_t member, const Words& words) {
    const auto rows = co_await db_.all<NotificationRow>(
        "select n.id, n.created_at, n.kind, n.actor, m.username, m.name, coalesce(m.face, '') as "
        "face,"
        " n.post, p.body, n.seen"
        " from notifications n join members m on m.id = n.actor"
        " left join posts p on p.id = n.post where n.member = ? order by n.id desc limit ?",
        member, notifications_max);
    std::vector<Notification> notifications;
    for (const NotificationRow& row : rows) {
        notifications.push_back({.created_at = row.created_at,
                                 .username = row.username,
                                 .name = row.name,
                                 .initial = initial_of(row.name),
                                 .hue = hue_of(row.actor),
                                 .face = row.face,
                                 .what = std::string(words_for(row.kind, words)),
                                 .post = row.post,
                                 .excerpt = shortened(row.body.value_or(""), excerpt_characters),
                                 .seen = row.seen});
    }
    if (!rows.empty()) {
        const db::Done done = co_await db_.exec(
            "update notifications set seen = 1 where member = ? and seen = 0 and id <= ?", member,
            rows.front().id);  // not what came since
        // The member's other pages count them no more.
        if (done.rows > 0 && wakes_ != nullptr) wakes_->member(member);
    }
    // Older ones are shown on no page. They go here, where they were just found to be too many.
    if (rows.size() == static_cast<std::size_t>(notifications_max)) {
        co_await db_.exec("delete from notifications where member = ? and id < ?", member,
                          rows.back().id);
    }
    co_return notifications;
}

namespace {

struct LatestRow {
    std::string kind;
    std::string name;
};

}  // namespace

Task<std::string> Members::latest_notice(std::int64_t member, const Words& words) {
    const auto row = co_await db_.one<LatestRow>(
        "select n.kind, m.name from notifications n join members m on m.id = n.actor"
        " where n.member = ? and n.seen = 0 order by n.id desc limit 1",
        member);
    if (!row) co_return "";
    co_return row->name + " " + std::string(words_for(row->kind, words));
}

}  // namespace tidepool
