#include "tiderace/db/migrations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "tiderace/base/bytes.h"
#include "tiderace/base/keyed_hash.h"
#include "tiderace/base/moment.h"
#include "tiderace/core/whole_file.h"
#include "tiderace/db/execution.h"
#include "tiderace/task/offload.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db {
namespace {

// As long as another process may take over its own migrations.
constexpr Duration lock_wait = 60s;
// A new index on a large table may take hours.
constexpr Duration script_time = 24h;

struct File {
    std::uint32_t number = 0;
    std::string name;
    std::string filename;
    bool special = false;  // for this dialect alone
    std::string text;
    std::string hash;
};

[[noreturn]] void refuse(const std::string& what) {
    throw Error(Fault::configuration, "migrations: " + what);
}

// Against changes by mistake; an attacker that can change the files can do without a collision.
std::string hash_of(std::string_view text) {
    static constexpr SipKey key{0x7469'6465'7261'6365, 0x6d69'6772'6174'6f72};
    std::array<char, 17> room;
    std::snprintf(room.data(), room.size(), "%016llx",
                  static_cast<unsigned long long>(sip_hash<2, 4>(ByteView(text), key)));
    return room.data();
}

// "0002_search.postgres.sql"; nullopt for a file of another dialect, or of another kind.
std::optional<File> named(const std::string& filename, Dialect dialect) {
    constexpr std::string_view ending = ".sql";
    if (!filename.ends_with(ending)) return std::nullopt;
    std::string_view stem(filename);
    stem.remove_suffix(ending.size());
    File file;
    file.filename = filename;
    const auto read = std::from_chars(stem.data(), stem.data() + stem.size(), file.number);
    if (read.ec != std::errc() || read.ptr == stem.data() + stem.size() || *read.ptr != '_') {
        refuse(filename + " is not called NUMBER_NAME.sql");
    }
    stem = stem.substr(stem.find('_') + 1);
    if (const std::size_t point = stem.find('.'); point != stem.npos) {
        const std::string_view named_dialect = stem.substr(point + 1);
        const bool known = named_dialect == name_of(Dialect::sqlite) ||
                           named_dialect == name_of(Dialect::postgres) ||
                           named_dialect == name_of(Dialect::mariadb);
        if (!known) refuse(filename + ": behind the point is sqlite, postgres or mariadb");
        if (named_dialect != name_of(dialect)) return std::nullopt;
        file.special = true;
        stem = stem.substr(0, point);
    }
    file.name = stem;
    return file;
}

std::vector<File> read_files(const std::string& folder, Dialect dialect) {
    // Sorted by number, whatever the folder's order is.
    std::map<std::uint32_t, File> files;
    std::error_code fault;
    // Stepped by hand: ++ throws what is no Error, and a folder that was read in part would leave
    // migrations out.
    for (std::filesystem::directory_iterator at(folder, fault), end; !fault && at != end;
         at.increment(fault)) {
        const std::filesystem::directory_entry& entry = *at;
        auto file = named(entry.path().filename(), dialect);
        if (!file) continue;
        const auto before = files.find(file->number);
        if (before != files.end() && before->second.name != file->name) {
            // Two branches of the program's history may have added one each, and no order is the
            // right one.
            refuse("two files have the number " + std::to_string(file->number));
        }
        // The file for this dialect wins, whichever of the two the folder lists first.
        if (before != files.end() && before->second.special) continue;
        auto text = core::read_file(entry.path(), SIZE_MAX);
        if (!text) refuse("cannot " + text.error().message());
        file->text = std::move(*text);
        file->hash = hash_of(file->text);
        files[file->number] = std::move(*file);
    }
    if (fault) refuse("cannot read " + folder + ": " + fault.message());
    std::vector<File> sorted;
    for (auto& [number, file] : files) sorted.push_back(std::move(file));
    return sorted;
}

using Row = std::tuple<std::uint32_t, std::string, std::string, bool>;

// A connection of its own: its locks end with it.
class Session {
  public:
    explicit Session(Pool& pool) : pool_(&pool) {}

    // Again while the server is starting, or another process makes the file.
    task::Task<> open() {
        const Options& options = pool_->settings().options;
        const Instant until = moment_after(pool_->now(), options.waiting_timeout);
        while (true) {
            connection_ = make_connection(pool_->runner(), pool_->settings(), false);
            std::optional<Error> failure;  // a handler cannot co_await
            try {
                co_await connection_->open(moment_after(pool_->now(), options.connect_timeout));
            } catch (const Error& error) {
                failure = error;
            }
            if (!failure) co_return;
            if (!failure->worth_another() || pool_->now() > until) throw *failure;
            co_await task::sleep(pool_->about(options.reconnect_pause));
        }
    }

    task::Task<Batch> run(std::string sql, std::vector<Value> values = {}) {
        QueryRef query = make_query(dialect(), std::move(sql), std::move(values));
        const Portion portion{.rows_max = 100'000, .bytes_max = 64_MiB};
        std::optional<Error> failure;
        Batch batch;
        try {
            batch = co_await connection_->run(query, portion, pool_->now() + lock_wait);
        } catch (const Error& error) {
            failure = error.with_statement(query->sql());
        }
        if (failure) throw *failure;
        co_return batch;
    }

    task::Task<> script(const File& file) {
        std::optional<Error> failure;
        try {
            co_await connection_->script(file.text, pool_->now() + script_time);
        } catch (const Error& error) {
            failure = Error(error.kind(), "migration " + file.filename + ": " + error.message());
        }
        if (failure) throw *failure;
    }

    task::Task<> lock() {
        switch (dialect()) {
            case Dialect::sqlite:
                co_return co_await lock_sqlite();
            case Dialect::postgres:
                // Any number will do that nothing else in the database locks.
                co_await run("select pg_advisory_lock(8387794211253478249)");
                co_return;
            case Dialect::mariadb:
                break;
        }
        // Less than lock_wait, so that the server answers before our deadline.
        const Batch batch = co_await run("select get_lock('tiderace_migration', 50)");
        if (batch.rows() != 1 || batch.cell(0, 0).integer != 1) {
            throw Error(Fault::busy, "another process migrates this database");
        }
    }

    task::Task<> make_table() {
        const bool is_mariadb = dialect() == Dialect::mariadb;
        co_await run(std::string("create table if not exists tiderace_migration (number integer"
                                 " primary key, name varchar(200) not null, hash varchar(64) not"
                                 " null, done ") +
                     (is_mariadb ? "tinyint" : "boolean") + " not null)");
    }

    // None where there is no table yet.
    task::Task<std::vector<Row>> rows_if_any() {
        try {
            co_return co_await rows();
        } catch (const Error& error) {
            // "No such table" is a fault of syntax in all three.
            if (error.kind() != Fault::syntax) throw;
        }
        co_return std::vector<Row>();
    }

    task::Task<std::vector<Row>> rows() {
        const Batch batch =
            co_await run("select number, name, hash, done from tiderace_migration order by number");
        const RowReader<Row> reader(batch);
        std::vector<Row> found;
        for (std::size_t i = 0; i < batch.rows(); ++i) found.push_back(reader.read(batch, i));
        co_return found;
    }

    Dialect dialect() const { return pool_->settings().url.dialect; }

  private:
    // SQLite has no locks by name: one transaction of all migrations keeps other writers out. The
    // wait for it is here, because a busy_timeout would hold a thread (sqlite/file.cc).
    task::Task<> lock_sqlite() {
        const Instant until = pool_->now() + lock_wait;
        while (true) {
            std::optional<Error> failure;
            try {
                co_await run("begin immediate");
            } catch (const Error& error) {
                failure = error;
            }
            if (!failure) co_return;
            if (failure->kind() != Fault::busy || pool_->now() > until) throw *failure;
            co_await task::sleep(pool_->about(20ms));
        }
    }

    Pool* pool_;
    std::unique_ptr<Connection> connection_;
};

std::vector<Migration> compare(const std::vector<File>& files, const std::vector<Row>& rows) {
    std::map<std::uint32_t, Migration> all;
    for (const auto& [number, name, hash, done] : rows) {
        const auto same = [n = number](const File& file) { return file.number == n; };
        const auto file = std::find_if(files.begin(), files.end(), same);
        MigrationState state = MigrationState::done;
        if (!done) {
            state = MigrationState::half_done;
        } else if (file == files.end()) {
            state = MigrationState::removed;
        } else if (file->hash != hash) {
            state = MigrationState::changed;
        }
        all[number] = {.number = number, .name = name, .state = state};
    }
    for (const File& file : files) {
        if (!all.contains(file.number)) all[file.number] = {file.number, file.name};
    }
    std::vector<Migration> sorted;
    for (auto& [number, migration] : all) sorted.push_back(std::move(migration));
    return sorted;
}

// Without a file, and above all files: done by a newer program.
bool is_newer(const Migration& migration, const std::vector<File>& files) {
    return migration.state == MigrationState::removed && !files.empty() &&
           migration.number > files.back().number;
}

void check(const std::vector<Migration>& all, const std::vector<File>& files,
           MigrateOptions options) {
    const Migration* pending = nullptr;
    for (const Migration& each : all) {
        const std::string name = std::to_string(each.number) + "_" + each.name;
        switch (each.state) {
            case MigrationState::changed:
                refuse(name + " was changed after it was done; write another one");
            case MigrationState::removed:
                if (options.newer_allowed && is_newer(each, files)) break;
                refuse(name + " was done, and its file is not there");
            case MigrationState::half_done:
                refuse(name +
                       " is half done: finish it by hand, then set `done` of its row in"
                       " tiderace_migration");
            case MigrationState::done:
                if (pending != nullptr) {
                    // A migration from another branch, merged late: those behind it were written
                    // without it.
                    refuse(std::to_string(pending->number) + "_" + pending->name +
                           " comes before " + name + ", which was done");
                }
                break;
            case MigrationState::pending:
                if (pending == nullptr) pending = &each;
                break;
        }
    }
}

// PostgreSQL and SQLite roll back a migration that fails, and its row with it. MariaDB commits each
// change of a table at once: there the row comes first, as not done, so that the next run finds a
// half-done migration and does not repeat it.
task::Task<> apply(Session& session, const File& file) {
    // Named: temporaries in a co_await are not safe with g++ 12 (task.h).
    const std::vector<Value> row = {file.number, file.name, file.hash,
                                    session.dialect() != Dialect::mariadb};
    const std::string insert =
        "insert into tiderace_migration (number, name, hash, done) values (?, ?, ?, ?)";
    if (session.dialect() == Dialect::postgres) co_await session.run("begin");
    if (session.dialect() == Dialect::mariadb) co_await session.run(insert, row);
    co_await session.script(file);
    if (session.dialect() == Dialect::mariadb) {
        const std::vector<Value> number = {file.number};
        co_await session.run("update tiderace_migration set done = 1 where number = ?", number);
    } else {
        co_await session.run(insert, row);
    }
    if (session.dialect() == Dialect::postgres) co_await session.run("commit");
}

task::Task<std::vector<File>> files_of(const Database& database, std::string folder) {
    const auto read = [folder = std::move(folder), dialect = database.dialect()] {
        return read_files(folder, dialect);
    };
    co_return co_await task::offload(read);
}

// False: a file of SQLite that opening would make.
bool is_there(const Url& url) {
    std::error_code fault;
    return url.dialect != Dialect::sqlite || url.path == ":memory:" ||
           std::filesystem::exists(url.path, fault);
}

}  // namespace

task::Task<std::vector<Migration>> migrate(Database database, std::string folder,
                                           MigrateOptions options) {
    const std::vector<File> files = co_await files_of(database, folder);
    // Almost certainly the wrong folder. Migrations that were done are named first, because their
    // missing files explain more.
    if (files.empty()) {
        check(co_await migration_states(database, folder), files, options);
        refuse("no file in " + folder + " is called NUMBER_NAME.sql");
    }
    Session session(pool_of(database.settings()));
    co_await session.open();
    // Before the table is read: another process may be at it.
    co_await session.lock();
    co_await session.make_table();
    std::vector<Migration> all = compare(files, co_await session.rows());
    check(all, files, options);
    for (Migration& each : all) {
        if (each.state != MigrationState::pending) continue;
        const auto same = [&](const File& file) { return file.number == each.number; };
        co_await apply(session, *std::find_if(files.begin(), files.end(), same));
        each.state = MigrationState::done;
        each.done_now = true;
    }
    if (session.dialect() == Dialect::sqlite) co_await session.run("commit");
    co_return all;
}

task::Task<std::vector<Migration>> migration_states(Database database, std::string folder) {
    const std::vector<File> files = co_await files_of(database, std::move(folder));
    if (const Url& url = database.settings()->url; !is_there(url)) {
        co_return compare(files, std::vector<Row>());
    }
    Session session(pool_of(database.settings()));
    co_await session.open();
    co_return compare(files, co_await session.rows_if_any());
}

}  // namespace tiderace::db
