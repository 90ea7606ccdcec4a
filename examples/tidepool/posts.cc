#include "examples/tidepool/posts.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tidepool/names.h"
#include "examples/tidepool/timelines.h"
#include "examples/tidepool/wakes.h"

namespace tidepool {

using namespace tiderace;

namespace {

constexpr std::int64_t hues = 8;

struct ShownRow {
    std::int64_t id;
    Time created_at;
    std::optional<Time> edited_at;
    std::optional<std::int64_t> parent;
    std::int64_t author;
    std::string username;
    std::string name;
    std::string face;
    std::string body;
    std::string picture;
    std::string picture_alt;
    std::int64_t picture_width;
    std::int64_t picture_height;
    std::int64_t likes;
    std::int64_t replies;
    bool liked;
};

struct Counted {
    std::int64_t post;
    std::int64_t times;
};

// The post that a reply answers.
struct Answered {
    std::int64_t author;
    std::optional<std::int64_t> parent;
    std::int64_t depth;
};

// Parameters: the viewer.
std::string columns_of(db::Dialect dialect) {
    // The other databases have the counts in the post's row, by triggers (migration 0008).
    const std::string_view counts =
        dialect == db::Dialect::mariadb
            ? " (select count(*) from likes l where l.post = p.id) as likes,"
              " (select count(*) from posts r where r.parent = p.id) as replies,"
            : " p.like_count as likes, p.reply_count as replies,";
    return "select p.id, p.created_at, p.edited_at, coalesce(p.parent, p.gone_parent) as parent, "
           "p.author, m.username, m.name,"
           " coalesce(m.face, '') as face, p.body, coalesce(p.picture, '') as picture,"
           " p.picture_alt, p.picture_width, p.picture_height," +
           std::string(counts) +
           " exists (select 1 from likes l where l.post = p.id and l.member = ?) as liked"
           " from posts p join members m on m.id = p.author where ";
}

// Parameters: the viewer, twice. Two conditions, because for an "or" SQLite makes a table to have
// each row once.
constexpr std::string_view not_blocked =
    " and not exists (select 1 from blocks b where b.blocker = ? and b.blocked = p.author)"
    " and not exists (select 1 from blocks b where b.blocker = p.author and b.blocked = ?)";

// The same where `m` is the author. On SQLite, triggers count the blocks in the member's row
// (migration 0009), and most members have none to look for.
std::string not_blocked_author(db::Dialect dialect) {
    if (dialect != db::Dialect::sqlite) return std::string(not_blocked);
    return " and (m.block_count = 0 or (true" + std::string(not_blocked) + "))";
}

// Parameter: the viewer.
constexpr std::string_view not_muted =
    " and not exists (select 1 from mutes u where u.muter = ? and u.muted = p.author)";

PostView view_of(ShownRow&& row, std::int64_t viewer) {
    return {.id = row.id,
            .created_at = row.created_at,
            .edited = row.edited_at.has_value(),
            .parent = row.parent,
            .username = std::move(row.username),
            .name = row.name,
            .initial = initial_of(row.name),
            .hue = hue_of(row.author),
            .face = std::move(row.face),
            .parts = parts_of(row.body),
            .picture = std::move(row.picture),
            .picture_alt = std::move(row.picture_alt),
            .picture_width = row.picture_width,
            .picture_height = row.picture_height,
            .likes = row.likes,
            .replies = row.replies,
            .liked = row.liked,
            .own = row.author == viewer};
}

// Each word in quotes, so that it has no other meaning there.
std::string quoted_words(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) {
        out += out.empty() ? "\"" : " \"";
        for (const char c : word) {
            if (c == '"') out += '"';
            out += c;
        }
        out += '"';
    }
    return out;
}

std::string joined(const std::vector<std::string>& words, std::string_view before,
                   std::string_view between) {
    std::string out;
    for (const std::string& word : words) {
        if (!out.empty()) out += between;
        out += before;
        out += word;
    }
    return out;
}

// A post that a form made.
struct Made {
    std::int64_t id;
    std::optional<std::int64_t> parent;
};

// Together about a second: a visitor waits for it.
constexpr int attempts_max = 4;
constexpr Duration retry_pause = std::chrono::milliseconds(150);

// The same form with another text is another post: after Back, browsers show the old form again.
std::optional<std::string> key_of(const Draft& draft) {
    if (draft.form.empty()) return std::nullopt;
    const std::string_view picture(draft.picture.name);
    return hash_of(draft.form + "\n" + std::to_string(draft.parent.value_or(0)) + "\n" +
                   std::string(picture.substr(0, picture.find('-'))) + "\n" + draft.body);
}

// A lost connection may have taken the commit with it or not; the form's key decides, as it does
// where the same form came twice at a time.
bool is_safe_again(const db::Error& error) {
    return error.worth_another() || error.kind() == db::Fault::unknown_outcome ||
           error.kind() == db::Fault::unique;
}

// A condition of a statement, with what is bound to it.
struct Condition {
    std::string sql;
    std::vector<db::Value> values;
};

// SQLite's index holds runs of three characters; shorter words are then searched in the rows found.
Condition condition_in_sqlite(const std::vector<std::string>& words) {
    Condition condition{"p.id < ?", {}};
    std::vector<std::string> indexed;
    for (const std::string& word : words) {
        if (count_characters(word) >= 3) {
            indexed.push_back(word);
        } else {
            condition.sql += " and p.body like ? escape '!'";
            condition.values.emplace_back(containing(word));
        }
    }
    if (!indexed.empty()) {
        condition.sql += " and p.id in (select rowid from post_words where post_words match ?)";
        condition.values.emplace_back(quoted_words(indexed));
    }
    return condition;
}

// The index of pairs of characters finds few posts, and their text decides.
Condition condition_by_grams(const std::vector<std::string>& words, db::Dialect dialect) {
    Condition condition{"p.id < ? and p.id in (select w.post from post_words w where ", {}};
    const auto grams = grams_of(folded(joined(words, "", " ")));
    // Words of one character only: the texts decide alone.
    if (grams.empty()) {
        condition.sql += "1 = 1";
    } else if (dialect == db::Dialect::postgres) {
        condition.sql += "string_to_array(w.grams, ' ') @> string_to_array(?, ' ')";
        condition.values.emplace_back(joined(grams, "", " "));
    } else {
        condition.sql += "match (w.grams) against (? in boolean mode)";
        condition.values.emplace_back(joined(grams, "+", " "));
    }
    for (const std::string& word : words) {
        condition.sql += " and w.folded like ? escape '!'";
        condition.values.emplace_back(containing(folded(word)));
    }
    condition.sql += ")";
    return condition;
}

// To a member that exists and is not the actor, and only if neither blocked the other.
Task<> notify(db::Transaction& tx, std::int64_t member, std::string kind, std::int64_t actor,
              std::int64_t post, std::vector<std::int64_t>& told) {
    const db::Done done = co_await tx.exec(
        "insert into notifications (created_at, member, kind, actor, post)"
        " select ?, m.id, ?, ?, ? from members m where m.id = ? and m.id <> ?"
        " and not exists (select 1 from blocks b where (b.blocker = m.id and b.blocked = ?)"
        " or (b.blocker = ? and b.blocked = m.id))"
        " and not exists (select 1 from mutes u where u.muter = m.id and u.muted = ?)"
        " and not exists (select 1 from notifications n where n.member = m.id and n.kind = ?"
        " and n.actor = ? and n.post = ?)",
        now(), kind, actor, post, member, actor, actor, actor, actor, kind, actor, post);
    if (done.rows > 0) told.push_back(member);
}

// Tags, mentions and words of a text that is new, or changed.
Task<> index(db::Transaction& tx, db::Dialect dialect, std::int64_t author, std::int64_t id,
             const std::string& body, std::vector<std::int64_t>& told) {
    co_await index_words(tx, dialect, id, body);
    co_await tx.exec("delete from tags where post = ?", id);
    for (const std::string& tag : tags_of(body)) {
        co_await tx.exec("insert into tags (tag, post) values (?, ?)", tag, id);
    }
    for (const std::string& username : mentions_of(body)) {
        const auto member =
            co_await tx.one<std::int64_t>("select id from members where username = ?", username);
        if (member) co_await notify(tx, *member, "mention", author, id, told);
    }
}

}  // namespace

Task<> index_words(db::Transaction& tx, db::Dialect dialect, std::int64_t post,
                   const std::string& body) {
    if (dialect == db::Dialect::sqlite) co_return;  // by triggers
    const std::string text = folded(body);
    const std::string grams = joined(grams_of(text), "", " ");
    co_await tx.exec("delete from post_words where post = ?", post);
    co_await tx.exec("insert into post_words (post, folded, grams) values (?, ?, ?)", post, text,
                     grams);
}

std::string once(db::Dialect dialect, std::string_view key) {
    if (dialect != db::Dialect::mariadb) return " on conflict do nothing";
    return " on duplicate key update " + std::string(key) + " = " + std::string(key);
}

NewId new_id(db::Dialect dialect, std::string_view table) {
    if (dialect != db::Dialect::sqlite) return {};
    const std::string name(table);
    return {.column = "id, ",
            .value = "1 + max(coalesce((select max(id) from " + name +
                     "), 0), coalesce((select id from last_ids where name = '" + name +
                     "'), 0)), "};
}

std::string initial_of(std::string_view name) {
    std::string first = shortened(name, 1);
    // shortened() marks that something was cut off.
    if (first.ends_with("…")) first.resize(first.size() - std::string_view("…").size());
    if (first.size() == 1 && first[0] >= 'a' && first[0] <= 'z') {
        first[0] = static_cast<char>(first[0] - 'a' + 'A');
    }
    return first;
}

std::int64_t hue_of(std::int64_t id) {
    return id % hues;
}

PostStore::PostStore(db::Database db, Wakes* wakes)
    : db_(std::move(db)),
      wakes_(wakes),
      columns_(columns_of(db_.dialect())),
      not_blocked_(not_blocked_author(db_.dialect())),
      find_sql_(columns_ + "p.id = ?" + not_blocked_) {}

void PostStore::wake(const std::vector<std::int64_t>& members) const {
    if (wakes_ == nullptr) return;
    for (const std::int64_t member : members) wakes_->member(member);
}

Task<std::optional<Added>> PostStore::write(std::int64_t author, const Draft& draft,
                                            const std::optional<std::string>& form,
                                            std::vector<std::int64_t>& told) {
    auto write = [&](db::Transaction& tx) -> Task<std::optional<Added>> {
        // The transaction may run again after a deadlock, and what it counted before was undone.
        told.clear();
        // Against a follow at the same moment: one of the two has to see the other, or the post
        // would be missing in the follower's timeline. Replies are in none.
        if (!draft.parent) co_await lock_author(tx, db_.dialect(), author);
        if (form) {
            const auto made = co_await tx.one<Made>(
                "select id, parent from posts where author = ? and form = ?", author, *form);
            // The form came twice (a double click, a repetition after a lost answer): the first
            // post is shown.
            if (made) co_return Added{.id = made->id, .parent = made->parent, .again = true};
        }
        std::optional<Answered> answered;
        if (draft.parent) {
            // The one that gets the reply, as below.
            const std::vector<db::Value> post{db::Value(depth_max), db::Value(*draft.parent)};
            co_await lock_posts(tx, db_.dialect(),
                                "select case when depth < ? or parent is null then id else parent"
                                " end from posts where id = ?",
                                post);
            answered = co_await tx.one<Answered>(
                "select p.author, p.parent, p.depth from posts p where p.id = ?" +
                    std::string(not_blocked),
                *draft.parent, author, author);
            if (!answered) co_return std::nullopt;
        }
        std::optional<std::int64_t> parent = draft.parent;
        std::int64_t depth = answered ? answered->depth + 1 : 0;
        // As a sibling of the one it answers: when a member leaves, a delete cascades through
        // replies, and databases bound how deep. One whose parent was removed begins a new chain.
        if (depth > depth_max) {
            if (answered->parent) parent = answered->parent;
            depth = depth_max;
        }
        std::optional<std::string> picture;
        if (!draft.picture.name.empty()) picture = draft.picture.name;
        const NewId number = new_id(db_.dialect(), "posts");
        const auto id = co_await tx.one<std::int64_t>(
            "insert into posts (" + number.column +
                "created_at, author, parent, depth, body, picture, picture_alt,"
                " picture_width, picture_height, form) values (" +
                number.value + "?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id",
            now(), author, parent, depth, draft.body, picture, draft.picture_alt,
            draft.picture.width, draft.picture.height, form);
        co_await index(tx, db_.dialect(), author, *id, draft.body, told);
        // Replies are shown below their post, and in no feed.
        if (!parent) co_await put_into_timelines(tx, author, *id);
        if (answered) co_await notify(tx, answered->author, "reply", author, *id, told);
        co_return Added{.id = *id, .parent = parent};
    };
    co_return co_await unless_gone(db_.transaction(write, retried));
}

Task<std::optional<Added>> PostStore::add(std::int64_t author, Draft draft) {
    const std::optional<std::string> form = key_of(draft);
    std::optional<Added> added;
    std::vector<std::int64_t> told;
    for (int attempt = 1;; ++attempt) {
        bool once_more = false;
        try {
            added = co_await write(author, draft, form, told);
        } catch (const db::Error& error) {
            if (!form || attempt == attempts_max || !is_safe_again(error)) throw;
            once_more = true;  // a catch may not co_await: the pause comes behind it
        }
        if (!once_more) break;
        co_await sleep(attempt * retry_pause);
    }
    if (added && !added->again) {
        wake(told);
        if (!added->parent && wakes_ != nullptr) wakes_->author(author);
    }
    co_return added;
}

Task<bool> PostStore::edit(std::int64_t author, std::int64_t id, std::string body) {
    std::vector<std::int64_t> told;
    auto write = [&](db::Transaction& tx) -> Task<bool> {
        told.clear();
        const db::Done done =
            co_await tx.exec("update posts set body = ?, edited_at = ? where id = ? and author = ?",
                             body, now(), id, author);
        if (done.rows == 0) co_return false;
        co_await index(tx, db_.dialect(), author, id, body, told);
        co_return true;
    };
    const bool edited = co_await db_.transaction(write, retried);
    // After the commit: a page that looks before it would find nothing new, and wait for the next
    // wake.
    wake(told);
    co_return edited;
}

Task<std::optional<std::vector<std::string>>> PostStore::remove(std::int64_t author,
                                                                std::int64_t id) {
    return remove_where(id, "author = ?", {author});
}

Task<std::optional<std::vector<std::string>>> PostStore::remove_reported(std::int64_t id) {
    return remove_where(id, "exists (select 1 from reports r where r.post = posts.id)", {});
}

// Replies are others' words: they stay, under the number of what is gone.
Task<std::optional<std::vector<std::string>>> PostStore::remove_where(
    std::int64_t id, std::string allowed, std::vector<db::Value> values) {
    using Gone = std::optional<std::vector<std::string>>;
    const std::vector<db::Value> locked(3, db::Value(id));
    // Against a reply at the same moment. PostgreSQL has locked it by then.
    const std::string_view alone = db_.dialect() == db::Dialect::mariadb ? " for update" : "";
    const std::string find = "select coalesce(picture, '') from posts where id = ? and " + allowed;
    auto write = [&](db::Transaction& tx) -> Task<Gone> {
        co_await lock_posts(tx, db_.dialect(),
                            "select id from posts where id = ? or parent = ?"
                            " union select parent from posts where id = ?",
                            locked);
        auto picture = co_await tx.one<std::string>(find + std::string(alone), id, values);
        if (!picture) co_return std::nullopt;
        co_await tx.exec("update posts set gone_parent = parent, parent = null where parent = ?",
                         id);
        co_await tx.exec("delete from posts where id = ?", id);
        std::vector<std::string> pictures;
        if (!picture->empty()) pictures.push_back(std::move(*picture));
        co_return pictures;
    };
    co_return co_await db_.transaction(write, retried);
}

Task<std::optional<std::string>> PostStore::text(std::int64_t author, std::int64_t id) {
    co_return co_await db_.one<std::string>("select body from posts where id = ? and author = ?",
                                            id, author);
}

Task<std::optional<Liked>> PostStore::like(std::int64_t member, std::int64_t id, bool liked) {
    std::vector<std::int64_t> told;
    auto write = [&](db::Transaction& tx) -> Task<std::optional<Liked>> {
        told.clear();
        std::string sql = "select p.author from posts p where p.id = ?" + std::string(not_blocked);
        // As lock_posts(), in one round trip.
        if (db_.dialect() == db::Dialect::postgres) sql += " for no key update of p";
        const auto author = co_await tx.one<std::int64_t>(sql, id, member, member);
        if (!author) co_return std::nullopt;
        if (liked) {
            co_await tx.exec("insert into likes (member, post, created_at) values (?, ?, ?)" +
                                 once(db_.dialect(), "member"),
                             member, id, now());
            co_await notify(tx, *author, "like", member, id, told);
        } else {
            co_await tx.exec("delete from likes where member = ? and post = ?", member, id);
        }
        const auto likes =
            co_await tx.one<std::int64_t>("select count(*) from likes where post = ?", id);
        co_return Liked{*likes, liked};
    };
    const auto now = co_await unless_gone(db_.transaction(write, retried));
    wake(told);
    co_return now;
}

Task<bool> PostStore::report(std::int64_t member, std::int64_t id) {
    // A second report changes nothing, and is none that failed.
    auto write = [&](db::Transaction& tx) -> Task<bool> {
        co_await tx.exec(
            "insert into reports (created_at, reporter, post, reason) select ?, ?, id, ? from posts"
            " where id = ?" +
                once(db_.dialect(), "reporter"),
            now(), member, "reader", id);
        const auto there = co_await tx.one<bool>(
            "select exists (select 1 from reports where reporter = ? and post = ?)", member, id);
        co_return *there;
    };
    co_return co_await unless_gone(db_.transaction(write, retried));
}

Task<bool> PostStore::dismiss_reports(std::int64_t id) {
    const db::Done done = co_await db_.exec("delete from reports where post = ?", id);
    co_return done.rows > 0;
}

Task<Posts> PostStore::reported(std::int64_t before) {
    constexpr std::int64_t guest = 0;  // blocks no member, and no member blocks it
    std::vector<db::Value> values{before};
    Posts posts =
        co_await list(Order::newest_first, guest, "p.id in (select post from reports) and p.id < ?",
                      std::move(values));
    if (posts.posts.empty()) co_return posts;
    const auto counted = co_await db_.all<Counted>(
        "select post, count(*) as times from reports where post between ? and ? group by post",
        posts.posts.back().id, posts.posts.front().id);
    for (PostView& post : posts.posts) {
        const auto found = std::ranges::find(counted, post.id, &Counted::post);
        if (found != counted.end()) post.reports = found->times;
    }
    co_return posts;
}

// `where` takes `values`; the viewer of the columns comes before them and the blocks after.
Task<Posts> PostStore::list(Order order, std::int64_t viewer, std::string where,
                            std::vector<db::Value> values) {
    std::string sql = columns_;
    sql += where;
    sql += not_blocked_;
    sql += order == Order::oldest_first ? " order by p.id limit ?" : " order by p.id desc limit ?";
    auto rows = co_await db_.all<ShownRow>(sql, viewer, values, viewer, viewer, page_size + 1);
    Posts posts;
    const bool has_more = rows.size() > static_cast<std::size_t>(page_size);
    // One row more than a page has was read, to see whether there is a next page.
    if (has_more) rows.pop_back();
    if (has_more) posts.next = std::to_string(rows.back().id);
    for (ShownRow& row : rows) posts.posts.push_back(view_of(std::move(row), viewer));
    co_return posts;
}

Task<Posts> PostStore::feed(std::int64_t viewer, std::int64_t before) {
    auto values = in_feed_values(viewer, before, page_size + 1);
    values.emplace_back(viewer);
    return list(Order::newest_first, viewer, in_feed(db_.dialect()) + std::string(not_muted),
                std::move(values));
}

Task<std::int64_t> PostStore::newest_in_feed(std::int64_t viewer) {
    // One's own posts are no news to oneself.
    const std::string sql = "select coalesce(max(p.id), 0) from posts p where p.author <> ? and " +
                            in_feed(db_.dialect()) + std::string(not_muted);
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    const auto id = co_await db_.one<std::int64_t>(
        sql, viewer, in_feed_values(viewer, any, page_size + 1), viewer);
    co_return *id;
}

Task<Posts> PostStore::of_member(std::int64_t viewer, std::int64_t author, std::int64_t before) {
    return list(Order::newest_first, viewer, "p.author = ? and p.id < ?", {author, before});
}

Task<Posts> PostStore::with_tag(std::int64_t viewer, std::string tag, std::int64_t before) {
    return list(Order::newest_first, viewer,
                "p.id in (select post from tags where tag = ?) and p.id < ?",
                {std::move(tag), before});
}

Task<Posts> PostStore::with_words(std::int64_t viewer, std::string words, std::int64_t before) {
    const std::vector<std::string> each = words_of(words);
    Condition condition = db_.dialect() == db::Dialect::sqlite
                              ? condition_in_sqlite(each)
                              : condition_by_grams(each, db_.dialect());
    condition.values.insert(condition.values.begin(), before);
    return list(Order::newest_first, viewer, std::move(condition.sql), std::move(condition.values));
}

Task<Posts> PostStore::replies(std::int64_t viewer, std::int64_t parent, std::int64_t after) {
    return list(Order::oldest_first, viewer, "p.parent = ? and p.id > ?", {parent, after});
}

Task<Posts> PostStore::replies_to_gone(std::int64_t viewer, std::int64_t gone, std::int64_t after) {
    return list(Order::oldest_first, viewer, "p.gone_parent = ? and p.id > ?", {gone, after});
}

Task<std::optional<PostView>> PostStore::find(std::int64_t viewer, std::int64_t id) {
    auto row = co_await db_.one<ShownRow>(find_sql_, viewer, id, viewer, viewer);
    if (!row) co_return std::nullopt;
    co_return view_of(std::move(*row), viewer);
}

}  // namespace tidepool
