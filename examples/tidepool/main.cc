// Tidepool: a small social network, in one program.
//
//   tidepool [--listen ADDRESS] [--demo N] [--drain-notice SECONDS] [--database-timeout SECONDS]
//   tidepool migrate
//   tidepool backup FILE
//   tidepool restore FILE
//
// Any number of them may share a database: TIDEPOOL_REDIS (redis://…) then keeps sessions and rate
// limits and carries live notices between them; without it PostgreSQL does.
//
// TIDEPOOL_DB names the database (sqlite:tidepool.db when it is not set), TIDEPOOL_PICTURES the
// folder of pictures (tidepool-pictures beside a database file, or here; "" for none),
// TIDEPOOL_FOLDER where templates, static files and migrations lie, and TIDEPOOL_PROXIES the
// networks of balancers that are believed about the client's address: "10.0.0.0/8,unix".
// TIDEPOOL_MODERATORS names the members who see reported posts: "ada_1,brook_2".

#include <fcntl.h>
#include <tiderace/app.h>
#include <tiderace/db.h>
#include <tiderace/redis.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tidepool/backup.h"
#include "examples/tidepool/demo.h"
#include "examples/tidepool/site.h"

namespace {

using namespace tiderace;

constexpr const char* help =
    "usage: tidepool [--listen ADDRESS] [--demo N] [--drain-notice SECONDS]\n"
    "                [--database-timeout SECONDS]\n"
    "       tidepool migrate\n"
    "       tidepool backup FILE\n"
    "       tidepool restore FILE\n"
    "\n"
    "  --listen ADDRESS            127.0.0.1:8080; :80 for all addresses; unix:PATH\n"
    "  --demo N                    adds N made-up members to a database that has none\n"
    "  --drain-notice SECONDS      keeps answering after SIGTERM, with /readyz at 503 (0)\n"
    "  --database-timeout SECONDS  ends a statement that takes longer (5)\n"
    "\n"
    "  TIDEPOOL_DB                 sqlite:tidepool.db; postgres://…, mysql://…\n"
    "  TIDEPOOL_REDIS              redis://… for sessions, limits and notices of several nodes\n"
    "  TIDEPOOL_PICTURES           the folder of pictures; empty: no pictures\n"
    "  TIDEPOOL_FOLDER             where templates, static and migrations are\n"
    "  TIDEPOOL_PROXIES            networks whose X-Forwarded-For is believed: 10.0.0.0/8,unix\n"
    "  TIDEPOOL_MODERATORS         user names of members who see reported posts: ada_1,brook_2\n";

struct Options {
    enum class Work : std::uint8_t { serve, migrate, backup, restore };

    Work work = Work::serve;
    std::string file = {};
    std::string listen = "127.0.0.1:8080";
    std::size_t demo = 0;
    std::size_t drain_notice_seconds = 0;
    std::size_t database_timeout_seconds = 5;
    std::string fault = {};
};

// A whole number up to `most`; otherwise the fault that the program ends with.
std::string read_number(std::string_view value, std::size_t most, std::string_view expects,
                        std::size_t& number) {
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = read.ec == std::errc() && read.ptr == value.data() + value.size();
    return whole && number <= most ? "" : std::string(expects);
}

// The sentence for a word that does not belong where it stands.
std::string fault_of(std::string_view word, std::string_view value) {
    std::string fault = "unknown argument " + std::string(word);
    const bool needs_value = word == "--listen" || word == "backup" || word == "restore";
    if (word == "migrate" || (needs_value && !value.empty())) {
        fault = std::string(word) + " takes no other arguments";
    } else if (needs_value) {
        fault =
            std::string(word) + (word == "--listen" ? " expects an address" : " expects a file");
    }
    return fault + "; tidepool --help lists what there is";
}

Options read_options(std::span<char*> words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const std::string_view word = words[i];
        const std::string_view value = i + 1 < words.size() ? words[i + 1] : "";
        const bool alone = words.size() == 2 && !value.empty();
        if (!options.fault.empty()) break;  // the first fault is reported
        if (word == "--listen" && !value.empty()) {
            options.listen = value;
        } else if (word == "--demo") {
            options.fault =
                read_number(value, SIZE_MAX, "--demo expects a number of members", options.demo);
        } else if (word == "--drain-notice") {
            options.fault = read_number(value, 3600, "--drain-notice expects seconds, up to 3600",
                                        options.drain_notice_seconds);
        } else if (word == "--database-timeout") {
            constexpr std::string_view expects = "--database-timeout expects seconds, 1 to 3600";
            std::size_t& seconds = options.database_timeout_seconds;
            options.fault = read_number(value, 3600, expects, seconds);
            if (seconds == 0) options.fault = expects;
        } else if (word == "migrate" && words.size() == 1) {
            options.work = Options::Work::migrate;
        } else if ((word == "backup" || word == "restore") && alone) {
            options.work = word == "backup" ? Options::Work::backup : Options::Work::restore;
            options.file = value;
        } else {
            options.fault = fault_of(word, value);
        }
    }
    return options;
}

std::string setting(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

std::vector<std::string> names_in(std::string_view list) {
    std::vector<std::string> names;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (comma > 0) names.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return names;
}

std::string pictures_beside(const std::string& database) {
    constexpr std::string_view file = "sqlite:";
    std::filesystem::path place;
    if (database.starts_with(file)) place = database.substr(file.size());
    return place.parent_path() / "tidepool-pictures";
}

// A new database file is its owner's alone, because it holds hashes of passwords and e-mail
// addresses. SQLite gives the files beside it the same mode. One that exists keeps its mode.
void make_private(const std::string& database) {
    constexpr std::string_view file = "sqlite:";
    if (!database.starts_with(file) || database.ends_with(":memory:")) return;
    const std::string path = database.substr(file.size());
    // Where it cannot be made, opening the database reports why.
    const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (made >= 0) ::close(made);
}

// Every request of a member needs its session, so that one that waits long only keeps a person from
// seeing that Redis is away.
redis::Options redis_options() {
    redis::Options options;
    options.waiting_timeout = std::chrono::seconds(2);
    options.command_timeout = std::chrono::seconds(2);
    options.reconnect_pause_max = std::chrono::seconds(1);
    return options;
}

// For a node that serves: if the database does not answer, this node is cut off from it.
db::Options database_options(const Options& words) {
    db::Options options;
    options.statement_timeout = std::chrono::seconds(words.database_timeout_seconds);
    options.waiting_timeout =
        std::min<Duration>(options.waiting_timeout, options.statement_timeout);
    options.reconnect_pause_max = std::chrono::seconds(1);
    return options;
}

// Nodes are replaced one by one, and a version may be rolled back: a database that a newer one has
// migrated is good enough for this one (README.md, "A new version").
Task<> make_tables(db::Database db, std::string folder) {
    const db::MigrateOptions options{.newer_allowed = true};
    for (const db::Migration& one : co_await db::migrate(db, folder, options)) {
        if (one.done_now) std::printf("migrated: %04u %s\n", one.number, one.name.c_str());
        if (one.state != db::MigrationState::removed) continue;
        std::fprintf(stderr, "tidepool: a newer version has done migration %04u %s\n", one.number,
                     one.name.c_str());
    }
}

// Carries live notices to the programs that share this database.
tidepool::Bus bus_of(const std::string& redis, const db::Database& db) {
    tidepool::Bus bus;
    if (!redis.empty()) {
        bus.redis = redis::open(redis, redis_options());
    } else if (db.dialect() == db::Dialect::postgres) {
        bus.postgres = db;
    } else if (db.dialect() == db::Dialect::mariadb) {
        std::fprintf(stderr,
                     "tidepool: live notices stay on this node, because MariaDB cannot carry them "
                     "to others; if there are others, set TIDEPOOL_REDIS=redis://HOST\n");
    }
    return bus;
}

Task<int> prepare(db::Database db, std::string migrations, std::size_t demo) {
    co_await make_tables(db, migrations);
    const std::size_t added = co_await tidepool::add_demo(db, demo);
    if (added > 0) {
        std::printf("%zu members of a demo were added: log in as ada_1, password tidepool\n",
                    added);
    }
    co_return 0;
}

Task<int> migrate_only(db::Database db, std::string migrations) {
    co_await make_tables(db, migrations);
    co_return 0;
}

Task<int> keep(db::Database db, std::string migrations, std::string pictures, Options options) {
    co_await make_tables(db, migrations);
    const bool saves = options.work == Options::Work::backup;
    Task<std::size_t> work = saves ? tidepool::back_up(db, pictures, options.file)
                                   : tidepool::restore(db, pictures, options.file);
    const std::size_t lines = co_await std::move(work);
    std::printf("%zu lines %s %s\n", lines, saves ? "written to" : "restored from",
                options.file.c_str());
    co_return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count == 2 && std::string_view(words[1]) == "--help") {
        std::fputs(help, stdout);
        return 0;
    }
    const Options options =
        read_options(std::span(words, static_cast<std::size_t>(count)).subspan(1));
    if (!options.fault.empty()) {
        std::fprintf(stderr, "tidepool: %s\n", options.fault.c_str());
        return 2;
    }
    const std::string folder = setting("TIDEPOOL_FOLDER", TIDEPOOL_FOLDER);
    db::leave_sqlite_memory_uncounted();
    try {
        const std::string database = setting("TIDEPOOL_DB", "sqlite:tidepool.db");
        const std::string beside = pictures_beside(database);
        const std::string pictures = setting("TIDEPOOL_PICTURES", beside.c_str());
        make_private(database);
        db::Database db = db::open(database);
        if (options.work == Options::Work::migrate)
            return run(migrate_only(db, folder + "/migrations"));
        if (options.work != Options::Work::serve) {
            return run(keep(db, folder + "/migrations", pictures, options));
        }
        if (const int status = run(prepare(db, folder + "/migrations", options.demo)))
            return status;
        const auto judges = names_in(setting("TIDEPOOL_MODERATORS", ""));
        // Apart from `db`: migrations and a demo may take longer than a page may wait.
        const db::Database serving = db::open(database, database_options(options));
        http::App app = tidepool::make_app(serving, folder, pictures,
                                           bus_of(setting("TIDEPOOL_REDIS", ""), serving),
                                           {judges.begin(), judges.end()});
        const std::vector<std::string> proxies = names_in(setting("TIDEPOOL_PROXIES", ""));
        if (!proxies.empty()) app.trusted_proxies({.networks = proxies});
        return app.serve({.listen = options.listen,
                          .drain_notice = std::chrono::seconds(options.drain_notice_seconds)});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tidepool: %s\n", error.what());
        return 1;
    }
}
