// Migrations: numbered files of SQL that make a database what the program expects, each done once.
//
//   migrations/0001_members.sql
//   migrations/0002_search.sql             every database
//   migrations/0002_search.postgres.sql    this one instead, on PostgreSQL
//
//   const auto states = co_await db::migrate(db, "migrations");
//
// One process at a time: SQLite's write lock, an advisory lock of PostgreSQL, get_lock of MariaDB.
// The table tiderace_migration lists what was done, with a hash of the file. SQLite does all that
// is pending as a whole and PostgreSQL each file; MariaDB commits at each change of a table, so a
// file that fails there may be half done, and is reported as such from then on.
//
// Thread   A loop's, in a task; files are read on the worker pool.
// Errors   Error{configuration}: a file that was changed or removed after it was done (unless the
//          options allow newer ones), that comes before one that was done, that is half done, or a
//          name or number twice. The database's message about a file, with its name and, where that
//          is known, the line.
// Keywords: migrations, schema
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/db/database.h"

namespace tiderace::db {

enum class MigrationState : std::uint8_t { done, pending, changed, removed, half_done };

struct MigrateOptions {
    // True: migrations above the newest file are a newer program's, and this one runs beside it or
    // after it was rolled back. Set it only where every migration leaves the tables usable for the
    // program before it (docs/databases.md). Their state stays `removed`.
    bool newer_allowed = false;
};

struct Migration {
    std::uint32_t number = 0;
    std::string name;  // "members"
    MigrationState state = MigrationState::pending;
    bool done_now = false;  // by this call
};

// Does the pending ones; a folder without any files is an error. Returns all, by number, with
// their states afterwards.
task::Task<std::vector<Migration>> migrate(Database database, std::string folder,
                                           MigrateOptions options = {});
// Changes nothing, and makes no file.
task::Task<std::vector<Migration>> migration_states(Database database, std::string folder);

}  // namespace tiderace::db
