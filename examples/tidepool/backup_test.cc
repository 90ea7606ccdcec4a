#include "examples/tidepool/backup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/inotify.h>
#endif

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "examples/tidepool/tidepool_fixture.h"

namespace tidepool {
namespace {

using namespace tiderace;
using ::testing::HasSubstr;
using ::testing::Not;

class BackupTest : public TidepoolTest {
  protected:
    std::string file() const { return folder_ / "all.jsonl"; }
    std::string text() const {
        std::ifstream stream(file());
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    db::Database another(db::Dialect kind) {
        auto db = db::open(kind == db::Dialect::sqlite
                               ? "sqlite:" + folder_.string() + "/other.db"
                               : tiderace::testing::DatabaseServer::shared(kind).fresh("other"));
        run(prepare(db, std::string(TIDEPOOL_FOLDER) + "/migrations"));
        return db;
    }
    std::string complaint(const db::Database& db) {
        try {
            run(restore(db, folder_ / "others", file()));
        } catch (const std::exception& error) {
            return error.what();
        }
        return "none";
    }
};

TEST_P(BackupTest, AllComesBackInAnotherDatabase) {
    auto ann = member("ann", "Ann");
    auto bob = member("bob", "Bob");
    const std::string post = ann->write("a crab #shore 潮水 @bob");
    bob->write("indeed", post);
    bob->send("/posts/" + post + "/like", {});
    bob->send("/members/ann/follow", {});
    ann->send("/members/bob/follow", {});
    bob->send("/posts/" + post + "/report", {});
    const std::string gone = ann->write("gone soon");
    bob->write("still here", gone);
    ann->send("/posts/" + gone + "/delete", {});
    if (pictures_are_built()) {
        ann->send_file("/settings/face", {{"csrf", ann->token()}}, bytes_of(small_png));
    }
    const std::size_t lines = run(back_up(*db_, pictures(), file()));
    EXPECT_GT(lines, 12U);
    EXPECT_THAT(text(), HasSubstr("{\"tidepool\":{\"version\":1}}\n"));
    EXPECT_THAT(text(), Not(HasSubstr("\"session")));
    EXPECT_EQ(std::filesystem::status(file()).permissions() & std::filesystem::perms::others_all,
              std::filesystem::perms::none);
    // One of each kind: a site that grows moves from SQLite to a server.
    for (const auto kind : {db::Dialect::sqlite, db::Dialect::postgres, db::Dialect::mariadb}) {
        SCOPED_TRACE(name_of(kind));
        if (kind != db::Dialect::sqlite &&
            !tiderace::testing::DatabaseServer::missing(kind).empty()) {
            continue;  // this machine has no such server
        }
        db::Database other = another(kind);
        EXPECT_EQ(run(restore(other, folder_ / "others", file())), lines);
        const http::App app = make_app(other, TIDEPOOL_FOLDER, folder_ / "others");
        Browser again(app, "ann");
        EXPECT_EQ(again.log_in().status, 303) << "with the same password";
        const std::string page = again.get("/posts/" + post).text();
        EXPECT_THAT(page, HasSubstr("indeed"));
        EXPECT_THAT(page, HasSubstr("<span data-likes>1</span>"));
        EXPECT_THAT(again.get("/posts/" + gone).text(), HasSubstr("still here"));
        EXPECT_THAT(again.get("/members/ann").text(), HasSubstr("<b>1</b> followers"));
        EXPECT_EQ(count(again.get("/tags/shore").text(), "<article"), 1U);
        EXPECT_EQ(count(again.get("/search?q=%E6%BD%AE%E6%B0%B4").text(), "<article"), 1U);
        EXPECT_THAT(again.get("/notifications").text(), HasSubstr("likes your post"));
        const std::string mine = again.write("after the restore");
        EXPECT_GT(std::stoi(mine), std::stoi(post)) << "ids go on";
        EXPECT_THAT(complaint(other), HasSubstr("restore into an empty one"));
        // A second backup equals the first, except for what came since.
        EXPECT_EQ(run(back_up(other, folder_ / "others", folder_ / "again.jsonl")), lines + 1);
    }
}

// It holds passwords' hashes and e-mail addresses.
TEST_P(BackupTest, NobodyElseCanOpenItAtAnyMoment) {
    member("ann");
    const std::string unfinished = file() + ".new";
    // An earlier backup left it behind, and another program has it open.
    std::ofstream(unfinished) << "left";
    std::ifstream reader(unfinished);
    const mode_t before = ::umask(0);
#if defined(__linux__)
    // A mode that is set after the file was made would be a change of attributes.
    const int notices = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ASSERT_GE(::inotify_add_watch(notices, folder_.c_str(), IN_ATTRIB | IN_MOVED_TO), 0);
#endif
    run(back_up(*db_, pictures(), file()));
    ::umask(before);
    EXPECT_EQ(std::filesystem::status(file()).permissions(), std::filesystem::perms{0600});
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "left");
#if defined(__linux__)
    alignas(inotify_event) std::array<char, 4096> events;
    const ssize_t bytes = ::read(notices, events.data(), events.size());
    ::close(notices);
    ASSERT_GT(bytes, 0) << "the rename";
    for (ssize_t at = 0; at < bytes;) {
        const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
        const std::string name(event->len > 0 ? event->name : "");
        EXPECT_FALSE((event->mask & IN_ATTRIB) != 0 && name.starts_with("all.jsonl")) << name;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
#endif
    // A link in its place is not followed.
    std::filesystem::create_symlink(folder_ / "elsewhere", unfinished);
    run(back_up(*db_, pictures(), file()));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_P(BackupTest, AFileThatIsCutOrChangedRestoresNothing) {
    auto ann = member("ann");
    ann->write("one");
    run(back_up(*db_, pictures(), file()));
    const std::string whole = text();
    db::Database other = another(GetParam());
    const auto write = [&](const std::string& changed) { std::ofstream(file()) << changed; };
    const std::size_t last = whole.rfind("{\"end\"");
    write(whole.substr(0, last));
    EXPECT_THAT(complaint(other), HasSubstr("it was cut off"));
    const std::size_t second = whole.find("{\"member\"");
    const std::size_t third = whole.find('\n', second) + 1;
    write(whole.substr(0, second) + whole.substr(third));
    EXPECT_THAT(complaint(other), HasSubstr("all.jsonl, line "));
    write("{\"hello\":1}\n");
    EXPECT_THAT(complaint(other), HasSubstr("line 1: "));
    write(whole.substr(0, last) +
          "{\"picture\":{\"name\":\"../x.webp\",\"base64\":\"UklGRg==\"}}\n" + whole.substr(last));
    EXPECT_THAT(complaint(other), HasSubstr("none of Tidepool's pictures"));
    EXPECT_EQ(run(other.one<std::int64_t>("select count(*) from members")), 0);
    std::filesystem::remove(file());
    EXPECT_THAT(complaint(other), HasSubstr("cannot read"));
    write(whole);
    EXPECT_EQ(complaint(other), "none");
}

INSTANTIATE_TEST_SUITE_P(Databases, BackupTest, each_database, name_of_database);

}  // namespace
}  // namespace tidepool
