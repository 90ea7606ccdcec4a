// ViewerSessions: the library's sessions in the database, each with the member that is logged in.
#pragma once

#include <tiderace/db.h>
#include <tiderace/http/stores/database_sessions.h>

#include <optional>
#include <string>

namespace tidepool {

// load() reads the member of the session's log-in in the same statement, and attaches it as a
// Viewer. The row names the log-in in a column of its own, which a program of an older version does
// not write, so a reader compares Viewer::login with the session's.
class ViewerSessions final : public tiderace::http::DatabaseSessions {
  public:
    explicit ViewerSessions(tiderace::db::Database db);

    tiderace::Task<std::optional<Found>> load(std::string key, tiderace::UnixSeconds now) override;

  private:
    const std::string load_sql_;
};

}  // namespace tidepool
