// Which databases this build has: the one source that knows them all.
#include "tiderace/db/database.h"
#include "tiderace/db/error.h"
#include "tiderace/db/pool.h"

#ifdef TIDERACE_SQLITE
#include "tiderace/db/sqlite/connection.h"
#include "tiderace/db/sqlite/file.h"
#endif
#ifdef TIDERACE_POSTGRES
#include "tiderace/db/postgres/connection.h"
#endif
#ifdef TIDERACE_MARIADB
#include "tiderace/db/mariadb/connection.h"
#endif

namespace tiderace::db {
namespace {

[[noreturn]] void lacking(std::string_view database, std::string_view packages) {
    throw Error(Fault::configuration, "this build has no " + std::string(database) + "; install " +
                                          std::string(packages) + " and build it again");
}

}  // namespace

void check_built([[maybe_unused]] const Url& url) {
#ifndef TIDERACE_SQLITE
    if (url.dialect == Dialect::sqlite) lacking("SQLite", "libsqlite3-dev");
#endif
#ifndef TIDERACE_POSTGRES
    if (url.dialect == Dialect::postgres) lacking("PostgreSQL", "libpq-dev");
#endif
#ifndef TIDERACE_MARIADB
    if (url.dialect == Dialect::mariadb) lacking("MariaDB", "libmariadb-dev");
#endif
}

bool leave_sqlite_memory_uncounted() {
#ifdef TIDERACE_SQLITE
    return sqlite::leave_memory_uncounted();
#else
    return false;
#endif
}

std::unique_ptr<Connection> make_connection(task::Runner& runner, const Settings& settings,
                                            [[maybe_unused]] bool reads_only) {
    // Again, although Database's constructor has checked it: listen() and migrations come here with
    // settings alone.
    check_built(settings.url);
    switch (settings.url.dialect) {
#ifdef TIDERACE_SQLITE
        case Dialect::sqlite: {
            sqlite::FileOptions options{.path = settings.url.path,
                                        .reads_only = reads_only,
                                        .statements_max = settings.options.statements_max};
            return std::make_unique<sqlite::Connection>(runner, std::move(options));
        }
#endif
#ifdef TIDERACE_POSTGRES
        case Dialect::postgres:
            return std::make_unique<postgres::Connection>(runner, settings);
#endif
#ifdef TIDERACE_MARIADB
        case Dialect::mariadb:
            return std::make_unique<mariadb::Connection>(runner, settings);
#endif
        default:
            lacking("such database", "its library");
    }
}

}  // namespace tiderace::db
