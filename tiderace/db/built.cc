// Which databases this build has: the one source that knows them all.
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/db/database.h"
#include "tiderace/db/error.h"
#include "tiderace/db/pool.h"

#ifdef TIDERACE_SQLITE
#include "tiderace/db/sqlite/connection.h"
#include "tiderace/db/sqlite/file.h"
#include "tiderace/db/sqlite/memory.h"
#endif
#ifdef TIDERACE_POSTGRES
#include "tiderace/db/postgres/connection.h"
#endif
#ifdef TIDERACE_MARIADB
#include "tiderace/db/mariadb/connection.h"
#endif

namespace tiderace::db {
namespace {

bool is_built(Dialect dialect) {
    switch (dialect) {
#ifdef TIDERACE_SQLITE
        case Dialect::sqlite:
            return true;
#endif
#ifdef TIDERACE_POSTGRES
        case Dialect::postgres:
            return true;
#endif
#ifdef TIDERACE_MARIADB
        case Dialect::mariadb:
            return true;
#endif
        default:
            return false;
    }
}

[[noreturn]] void refuse(const Url& url) {
    struct Absent {
        std::string_view database, package, option;
    };
    Absent absent = {"MariaDB", "libmariadb-dev", "TIDERACE_MARIADB"};
    if (url.dialect == Dialect::sqlite) absent = {"SQLite", "libsqlite3-dev", "TIDERACE_SQLITE"};
    if (url.dialect == Dialect::postgres) {
        absent = {"PostgreSQL", "libpq-dev", "TIDERACE_POSTGRES"};
    }
    std::string text = "cannot open " + url.shown();
    text.append(": this build has no ").append(absent.database);
    text.append("; install ").append(absent.package);
    text.append(" and build Tiderace again with -D").append(absent.option).append("=ON");
    throw Error(Fault::configuration, text);
}

}  // namespace

void check_built(const Url& url) {
    if (!is_built(url.dialect)) refuse(url);
}

bool leave_sqlite_memory_uncounted() {
#ifdef TIDERACE_SQLITE
    return sqlite::leave_memory_uncounted();
#else
    return false;
#endif
}

std::unique_ptr<Connection> make_connection([[maybe_unused]] task::Runner& runner,
                                            const Settings& settings,
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
            refuse(settings.url);
    }
}

}  // namespace tiderace::db
