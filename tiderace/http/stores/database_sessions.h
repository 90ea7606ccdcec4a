// DatabaseSessions: sessions in a table of a database, so that they outlive the program and several
// programs share them.
//
//   const auto db = db::open("postgres://…");
//   app.use(sessions(std::make_shared<DatabaseSessions>(db)));
//
//   create table sessions (id …, expires_at …, data …);     -- schema() has it for each database
//
// Link tiderace::http_stores.
//
// Owner    A shared_ptr of the App's; one for all loops.
// Thread   Any loop's, several at once. The tasks run on the loop that awaits them.
// Errors   db::Error, thrown. A database that is away is answered 503 (error.h), and no session
//          ends by it.
// Limits   As SessionStore. Expired rows stay until they are swept: every sweep_every new sessions,
//          the save() of the last one removes up to sweep_rows_max of them.
// Keywords: session, SQLite, PostgreSQL, MariaDB
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/db/database.h"
#include "tiderace/http/app/session_store.h"

namespace tiderace::http {

struct DatabaseSessionsOptions {
    // Letters, digits, `_` and `.`, as in all names here.
    std::string table = "sessions";
    // The value of a session that also stands in a column of that name, null where it is not set:
    // statements can join it. "": none. schema() has no such column.
    std::string column = {};
};

class DatabaseSessions : public SessionStore {
  public:
    static constexpr unsigned sweep_every = 100;
    static constexpr unsigned sweep_rows_max = 1'000;

    explicit DatabaseSessions(db::Database database, DatabaseSessionsOptions options = {});

    // Makes the table and its index where they are not there: for a migration, or
    // Database::script().
    static std::string schema(db::Dialect dialect, std::string_view table = "sessions");

    // A class of the application's own may read more in this statement (Found::attached).
    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override;
    task::Task<> save(std::string key, std::string data, UnixSeconds expires) final;
    task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                 UnixSeconds expires) final;
    task::Task<bool> prolong(std::string key, UnixSeconds expires) final;
    task::Task<std::optional<std::string>> take(std::string key) final;
    // Removes up to sweep_rows_max sessions that expired before `now`; returns how many.
    task::Task<std::uint64_t> sweep(UnixSeconds now);

  protected:
    const db::Database& database() const { return database_; }

  private:
    const db::Database database_;
    const DatabaseSessionsOptions options_;
    std::string load_sql_;
    std::string save_sql_;
    std::string replace_sql_;
    std::string there_sql_;
    std::string prolong_sql_;
    std::string take_sql_;
    std::string sweep_sql_;
    std::atomic<unsigned> saves_ = 0;  // on all loops
};

}  // namespace tiderace::http
