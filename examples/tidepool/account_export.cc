#include "examples/tidepool/account_export.h"

#include <tiderace/json.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "examples/tidepool/posts.h"

namespace tidepool {

using namespace tiderace;

namespace {

struct ExportedPost {
    std::int64_t id;
    Time created_at;
    std::optional<Time> edited_at;
    std::optional<std::int64_t> in_reply_to;
    std::string body;
    std::optional<std::string> picture;
    std::string picture_alt;
};
struct ExportedNotice {
    std::int64_t id;
    Time created_at;
    std::string kind;
    std::string who;
    std::optional<std::int64_t> post;
};
struct ExportedLogin {
    std::string agent;
    Time created_at;
    Time used_at;
};
struct ExportedMember {
    std::string username;
    std::string name;
    std::string email;
    std::string about;
    std::optional<std::string> face;
    Time created_at;
};
struct KeptLogin {
    std::string agent;
    Time created_at;
    std::int64_t used_at;
};

// The order of a list, and where its next piece begins.
std::int64_t key_of(const ExportedPost& post) {
    return post.id;
}
std::int64_t key_of(const ExportedNotice& notice) {
    return notice.id;
}
std::int64_t key_of(std::int64_t post) {
    return post;
}
std::string key_of(const std::string& username) {
    return username;
}

// One list of the export. Parameters of the statement: the member, the last key, the rows.
template <typename Row, typename Key>
Generator<std::string> listed(db::Database db, std::string name, std::string sql,
                              std::int64_t member, Key last) {
    std::string text = ",\"" + name + "\":[";
    bool first = true;
    while (true) {
        const auto rows = co_await db.all<Row>(sql, member, last, export_rows);
        for (const Row& row : rows) {
            if (!first) text += ',';
            first = false;
            text += json::write(row);
        }
        // By its key and not by an offset: an offset would read all rows before it once more for
        // each piece, and shift where rows come or go meanwhile.
        if (std::ssize(rows) < export_rows) break;
        last = key_of(rows.back());
        // A piece at a time, so that a member of ten years' posts costs no more memory than one of
        // today.
        co_yield std::exchange(text, {});
    }
    co_yield text + "]";
}

std::vector<Generator<std::string>> lists_of(const db::Database& db, std::int64_t member) {
    const std::string nobody;
    std::vector<Generator<std::string>> lists;
    lists.push_back(
        listed<ExportedPost>(db, "posts",
                             "select id, created_at, edited_at, coalesce(parent, gone_parent) as "
                             "in_reply_to, body, picture, picture_alt"
                             " from posts where author = ? and id < ? order by id desc limit ?",
                             member, newest));
    lists.push_back(
        listed<std::string>(db, "following",
                            "select m.username from follows f join members m on m.id = f.followee"
                            " where f.follower = ? and m.username > ? order by m.username limit ?",
                            member, nobody));
    lists.push_back(
        listed<std::string>(db, "followers",
                            "select m.username from follows f join members m on m.id = f.follower"
                            " where f.followee = ? and m.username > ? order by m.username limit ?",
                            member, nobody));
    lists.push_back(
        listed<std::string>(db, "muted",
                            "select m.username from mutes u join members m on m.id = u.muted"
                            " where u.muter = ? and m.username > ? order by m.username limit ?",
                            member, nobody));
    lists.push_back(
        listed<std::string>(db, "blocked",
                            "select m.username from blocks b join members m on m.id = b.blocked"
                            " where b.blocker = ? and m.username > ? order by m.username limit ?",
                            member, nobody));
    lists.push_back(listed<std::int64_t>(
        db, "liked_posts",
        "select post from likes where member = ? and post > ? order by post limit ?", member,
        std::int64_t{0}));
    lists.push_back(listed<std::int64_t>(
        db, "reported_posts",
        "select post from reports where reporter = ? and post > ? order by post limit ?", member,
        std::int64_t{0}));
    lists.push_back(listed<ExportedNotice>(
        db, "notices",
        "select n.id, n.created_at, n.kind, m.username as who, n.post from notifications n"
        " join members m on m.id = n.actor where n.member = ? and n.id < ?"
        " order by n.id desc limit ?",
        member, newest));
    return lists;
}

}  // namespace

Generator<std::string> exported(db::Database db, std::int64_t member) {
    const auto about = co_await db.one<ExportedMember>(
        "select username, name, email, about, face, created_at from members where id = ?", member);
    // The account was deleted between the visitor's request and this.
    if (!about) {
        co_yield "{}";
        co_return;
    }
    co_yield "{\"member\":" + json::write(*about);
    for (Generator<std::string>& list : lists_of(db, member)) {
        while (auto piece = co_await list.next()) co_yield std::move(*piece);
    }
    // At most logins_max, and without their ids, by which pages end them.
    const auto rows = co_await db.all<KeptLogin>(
        "select agent, created_at, used_at from logins where member = ? order by used_at desc",
        member);
    std::vector<ExportedLogin> logins;
    for (const KeptLogin& row : rows) {
        logins.push_back({.agent = row.agent,
                          .created_at = row.created_at,
                          .used_at = Time(std::chrono::seconds(row.used_at))});
    }
    co_yield ",\"logins\":" + json::write(logins) + "}";
}

}  // namespace tidepool
