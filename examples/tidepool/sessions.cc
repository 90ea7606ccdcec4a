#include "examples/tidepool/sessions.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "examples/tidepool/accounts.h"

namespace tidepool {

using namespace tiderace;

namespace {

struct SessionRow {
    std::string data;
    std::int64_t expires_at;
    // The members of a Viewer; null where the session has no log-in.
    std::optional<std::int64_t> id;
    std::optional<std::string> username;
    std::optional<std::string> name;
    std::optional<std::string> login;
    std::optional<std::int64_t> used_at;
    std::int64_t unseen;
};

}  // namespace

ViewerSessions::ViewerSessions(db::Database db)
    : DatabaseSessions(db, {.column = "login"}),
      load_sql_("select s.data, s.expires_at, " + Accounts::viewer_columns(db.dialect()) +
                " from sessions s left join logins l on l.id = s.login"
                " left join members m on m.id = l.member where s.id = ? and s.expires_at > ?") {}

Task<std::optional<ViewerSessions::Found>> ViewerSessions::load(std::string key, UnixSeconds now) {
    auto row = co_await database().one<SessionRow>(load_sql_, key, now);
    if (!row) co_return std::nullopt;
    Found found{.text = std::move(row->data), .expires = row->expires_at};
    if (row->id) {
        found.attached = Viewer{.id = *row->id,
                                .username = std::move(*row->username),
                                .name = std::move(*row->name),
                                .login = std::move(*row->login),
                                .used_at = *row->used_at,
                                .unseen = row->unseen};
    }
    co_return found;
}

}  // namespace tidepool
