#include "examples/tidepool/backup.h"

#include <fcntl.h>
#include <tiderace/json.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "examples/tidepool/pages.h"
#include "examples/tidepool/posts.h"
#include "examples/tidepool/timelines.h"
#include "tiderace/base/base64.h"

namespace tidepool {

using namespace tiderace;

namespace {

constexpr std::int64_t version_now = 1;
constexpr std::size_t line_bytes_max = std::size_t{16} * 1024 * 1024;

struct Head {
    std::int64_t version;
};
struct MemberRow {
    std::int64_t id;
    Time created_at;
    std::string username;
    std::string name;
    std::string email;
    std::string password;
    std::string about;
    std::optional<std::string> face;
};
struct PostRow {
    std::int64_t id;
    Time created_at;
    std::optional<Time> edited_at;
    std::int64_t author;
    std::optional<std::int64_t> parent;
    std::optional<std::int64_t> gone_parent;
    std::int64_t depth;
    std::string body;
    std::optional<std::string> picture;
    std::string picture_alt;
    std::int64_t picture_width;
    std::int64_t picture_height;
};
struct LikeRow {
    std::int64_t member;
    std::int64_t post;
    Time created_at;
};
struct FollowRow {
    std::int64_t follower;
    std::int64_t followee;
    Time created_at;
};
struct BlockRow {
    std::int64_t blocker;
    std::int64_t blocked;
    Time created_at;
};
struct MuteRow {
    std::int64_t muter;
    std::int64_t muted;
};
struct TagRow {
    std::string tag;
    std::int64_t post;
};
struct NoticeRow {
    std::int64_t id;
    Time created_at;
    std::int64_t member;
    std::string kind;
    std::int64_t actor;
    std::optional<std::int64_t> post;
    std::int64_t seen;
};
struct ReportRow {
    std::int64_t id;
    Time created_at;
    std::int64_t reporter;
    std::int64_t post;
    std::string reason;
};
struct PictureFile {
    std::string name;
    std::string base64;
};
struct End {
    std::int64_t lines;
};

// One of them.
struct Line {
    std::optional<Head> tidepool = {};
    std::optional<MemberRow> member = {};
    std::optional<PostRow> post = {};
    std::optional<LikeRow> like = {};
    std::optional<FollowRow> follow = {};
    std::optional<BlockRow> block = {};
    std::optional<MuteRow> mute = {};
    std::optional<TagRow> tag = {};
    std::optional<NoticeRow> notice = {};
    std::optional<ReportRow> report = {};
    std::optional<PictureFile> picture = {};
    std::optional<End> end = {};
};

// Beside its place until it is whole.
class Output {
  public:
    explicit Output(std::string place) : place_(std::move(place)), unfinished_(place_ + ".new") {
        // An earlier backup may have left it, with another mode or open elsewhere; or it is a link.
        ::unlink(unfinished_.c_str());
        // Private from the first byte: a mode that is set later comes too late.
        const int made = ::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (made < 0) fail(errno);
        file_ = ::fdopen(made, "wb");
        if (file_ == nullptr) {
            const int code = errno;
            ::close(made);
            ::unlink(unfinished_.c_str());
            fail(code);
        }
    }
    ~Output() {
        if (file_ != nullptr) std::fclose(file_);
        ::unlink(unfinished_.c_str());  // finish() has left none of this name
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    void write(const Line& line) {
        const std::string text = json::write(line) + '\n';
        if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail(errno);
        ++lines_;
    }
    std::size_t finish() {
        Line line;
        line.end = End{static_cast<std::int64_t>(lines_)};
        write(line);
        // Before the rename, so that a crash leaves no file that looks whole and is not.
        if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail(errno);
        if (std::fclose(std::exchange(file_, nullptr)) != 0) fail(errno);
        std::filesystem::rename(unfinished_, place_);
        sync_folder();
        return lines_;
    }

  private:
    // The new name is in the folder, so that a crash could lose it after the backup was reported.
    void sync_folder() const {
        const std::string folder = std::filesystem::path(place_).parent_path();
        const int opened =
            ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const bool synced = opened >= 0 && ::fsync(opened) == 0;
        const int code = errno;
        if (opened >= 0) ::close(opened);
        // EINVAL: a file system that cannot sync folders.
        if (!synced && code != EINVAL) fail(code);
    }
    [[noreturn]] void fail(int code) const {
        throw std::runtime_error("cannot write " + unfinished_ + ": " +
                                 std::generic_category().message(code));
    }

    std::string place_;
    std::string unfinished_;
    std::FILE* file_ = nullptr;
    std::size_t lines_ = 0;
};

template <typename Row>
Task<> save(db::Transaction& tx, Output& out, std::string sql, std::optional<Row> Line::* member) {
    auto rows = tx.stream<Row>(sql);
    while (auto row = co_await rows.next()) {
        Line line;
        line.*member = std::move(*row);
        out.write(line);
    }
}

// Sessions, logins, rate limits and timelines are left out: they are of this machine, or follow
// from the rest. In this order no row refers to a later one.
Task<std::vector<std::string>> save_tables(db::Transaction& tx, Output& out) {
    co_await save<MemberRow>(tx, out,
                             "select id, created_at, username, name, email, password, about, face"
                             " from members order by id",
                             &Line::member);
    // A reply is younger than its parent.
    co_await save<PostRow>(
        tx, out,
        "select id, created_at, edited_at, author, parent, gone_parent, depth, body,"
        " picture, picture_alt, picture_width, picture_height from posts order by id",
        &Line::post);
    co_await save<LikeRow>(tx, out, "select member, post, created_at from likes", &Line::like);
    co_await save<FollowRow>(tx, out, "select follower, followee, created_at from follows",
                             &Line::follow);
    co_await save<BlockRow>(tx, out, "select blocker, blocked, created_at from blocks",
                            &Line::block);
    co_await save<MuteRow>(tx, out, "select muter, muted from mutes", &Line::mute);
    co_await save<TagRow>(tx, out, "select tag, post from tags", &Line::tag);
    co_await save<NoticeRow>(tx, out,
                             "select id, created_at, member, kind, actor, post, seen"
                             " from notifications order by id",
                             &Line::notice);
    co_await save<ReportRow>(
        tx, out, "select id, created_at, reporter, post, reason from reports order by id",
        &Line::report);
    co_return co_await tx.all<std::string>(
        "select picture from posts where picture is not null"
        " union select face from members where face is not null");
}

// A backup comes from outside, so nothing in it is believed.
void restore_picture(const std::string& folder, const PictureFile& picture) {
    // Without a folder Tidepool has no pictures, and its posts are shown without them.
    if (folder.empty()) return;
    const auto bytes = tiderace::read_base64(picture.base64);
    if (!is_picture_name(picture.name) || !bytes || !bytes->starts_with("RIFF") ||
        !std::string_view(*bytes).substr(0, 12).ends_with("WEBP")) {
        throw std::runtime_error("picture: this is none of Tidepool's pictures");
    }
    std::filesystem::create_directories(folder);
    std::ofstream file(folder + "/" + picture.name, std::ios::binary);
    file.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + folder + "/" + picture.name);
}

Task<> restore_content(db::Transaction& tx, db::Dialect dialect, const Line& line) {
    if (const auto& m = line.member) {
        co_await tx.exec(
            "insert into members (id, created_at, username, name, email, password, about, face)"
            " values (?, ?, ?, ?, ?, ?, ?, ?)",
            m->id, m->created_at, m->username, m->name, m->email, m->password, m->about, m->face);
    } else if (const auto& p = line.post) {
        co_await tx.exec(
            "insert into posts (id, created_at, edited_at, author, parent, gone_parent, depth, "
            "body,"
            " picture, picture_alt, picture_width, picture_height)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            p->id, p->created_at, p->edited_at, p->author, p->parent, p->gone_parent, p->depth,
            p->body, p->picture, p->picture_alt, p->picture_width, p->picture_height);
        co_await index_words(tx, dialect, p->id, p->body);
    } else if (const auto& t = line.tag) {
        co_await tx.exec("insert into tags (tag, post) values (?, ?)", t->tag, t->post);
    }
}

Task<> restore_relation(db::Transaction& tx, const Line& line) {
    if (const auto& l = line.like) {
        co_await tx.exec("insert into likes (member, post, created_at) values (?, ?, ?)", l->member,
                         l->post, l->created_at);
    } else if (const auto& f = line.follow) {
        co_await tx.exec("insert into follows (follower, followee, created_at) values (?, ?, ?)",
                         f->follower, f->followee, f->created_at);
    } else if (const auto& b = line.block) {
        co_await tx.exec("insert into blocks (blocker, blocked, created_at) values (?, ?, ?)",
                         b->blocker, b->blocked, b->created_at);
    } else if (const auto& u = line.mute) {
        co_await tx.exec("insert into mutes (muter, muted) values (?, ?)", u->muter, u->muted);
    } else if (const auto& n = line.notice) {
        co_await tx.exec(
            "insert into notifications (id, created_at, member, kind, actor, post, seen)"
            " values (?, ?, ?, ?, ?, ?, ?)",
            n->id, n->created_at, n->member, n->kind, n->actor, n->post, n->seen);
    } else if (const auto& r = line.report) {
        co_await tx.exec(
            "insert into reports (id, created_at, reporter, post, reason) values (?, ?, ?, ?, ?)",
            r->id, r->created_at, r->reporter, r->post, r->reason);
    }
}

// PostgreSQL does not count ids that it did not give itself.
Task<> count_on(db::Transaction& tx, db::Dialect dialect) {
    if (dialect != db::Dialect::postgres) co_return;
    for (const std::string table : {"members", "posts", "notifications", "reports"}) {
        co_await tx.one<std::int64_t>(
            "select setval(pg_get_serial_sequence(?, 'id'),"
            " (select coalesce(max(id), 1) from " +
                table + "))",
            table);
    }
}

class Input {
  public:
    explicit Input(const std::string& place) : place_(place), file_(place, std::ios::binary) {
        if (!file_) throw std::runtime_error("cannot read " + place);
    }
    // Throws where there is none.
    Line next() {
        ++lines_;
        std::string text;
        if (!std::getline(file_, text)) refuse("the file ends here; it was cut off");
        if (text.size() > line_bytes_max) refuse("the line is too long");
        auto line = json::read<Line>(text, {.size_bytes_max = line_bytes_max});
        if (!line) refuse(line.error().faults().front().message());
        return std::move(*line);
    }
    [[noreturn]] void refuse(const std::string& why) const {
        throw std::runtime_error(place_ + ", line " + std::to_string(lines_) + ": " + why);
    }
    std::size_t lines() const { return lines_; }

  private:
    std::string place_;
    std::ifstream file_;
    std::size_t lines_ = 0;
};

Task<> restore_lines(db::Transaction& tx, db::Dialect dialect, Input& input,
                     const std::string& pictures) {
    const Line head = input.next();
    if (!head.tidepool || head.tidepool->version != version_now) {
        input.refuse("this is no backup of Tidepool that this program can read");
    }
    while (true) {
        const Line line = input.next();
        if (line.end) {
            // The last line counts the others, so that a file that lost some in the middle is
            // noticed as well.
            if (line.end->lines + 1 != static_cast<std::int64_t>(input.lines())) {
                input.refuse("lines are missing before this one");
            }
            break;
        }
        std::string why;
        try {
            if (line.picture) restore_picture(pictures, *line.picture);
            co_await restore_content(tx, dialect, line);
            co_await restore_relation(tx, line);
        } catch (const std::exception& error) {
            why = error.what();
        }
        if (!why.empty()) input.refuse(why);
    }
    // They follow from posts and follows, so a backup has none.
    co_await rebuild_timelines(tx);
    co_await count_on(tx, dialect);
}

}  // namespace

Task<std::size_t> back_up(db::Database db, std::string pictures, std::string file) {
    Output out(std::move(file));
    Line head;
    head.tidepool = Head{version_now};
    out.write(head);
    std::vector<std::string> names;
    auto read = [&](db::Transaction& tx) -> Task<> { names = co_await save_tables(tx, out); };
    // PostgreSQL sees one moment in these alone.
    const bool serializable = db.dialect() == db::Dialect::postgres;
    co_await db.transaction(read, {.reads_only = true, .serializable = serializable});
    // After the transaction, which would otherwise stay open for as long as gigabytes are copied.
    for (const std::string& name : names) {
        std::ifstream picture(pictures + "/" + name, std::ios::binary);
        if (!picture) continue;  // its post went meanwhile
        const std::string bytes{std::istreambuf_iterator<char>(picture), {}};
        Line line;
        line.picture = PictureFile{name, tiderace::base64_of(bytes)};
        out.write(line);
    }
    co_return out.finish();
}

Task<std::size_t> restore(db::Database db, std::string pictures, std::string file) {
    const auto members = co_await db.one<std::int64_t>("select count(*) from members");
    // A restore never merges: ids of two databases mean different members.
    if (*members > 0) {
        throw std::runtime_error("the database has members; restore into an empty one");
    }
    Input input(file);
    // All or nothing: a file that is cut off in the middle leaves an empty database, to try again.
    auto write = [&](db::Transaction& tx) -> Task<> {
        co_await restore_lines(tx, db.dialect(), input, pictures);
    };
    co_await db.transaction(write);
    co_return input.lines();
}

}  // namespace tidepool
