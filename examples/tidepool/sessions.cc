#include "examples/tidepool/sessions.h"

#include <cstdint>
#include <utility>

namespace tidepool {

using namespace tiderace;

namespace {

struct Row {
    std::string data;
    std::int64_t expires_at;
};

}  // namespace

Task<std::optional<DbSessions::Found>> DbSessions::load(std::string key, UnixSeconds now) {
    auto row = co_await db_.one<Row>(
        "select data, expires_at from sessions where id = ? and expires_at > ?", key, now);
    // Expired: no request came with them in time.
    if (++loads_ % sweep_every == 0) {
        co_await db_.exec("delete from sessions where expires_at <= ?", now);
    }
    if (!row) co_return std::nullopt;
    Found found{std::move(row->data), row->expires_at};
    co_return found;
}

Task<> DbSessions::save(std::string key, std::string data, UnixSeconds expires) {
    std::string sql = "insert into sessions (id, data, expires_at) values (?, ?, ?) ";
    sql += db_.dialect() == db::Dialect::mariadb
               ? "on duplicate key update data = values(data), expires_at = values(expires_at)"
               : "on conflict (id) do update set data = excluded.data,"
                 " expires_at = excluded.expires_at";
    co_await db_.exec(sql, key, data, expires);
}

Task<> DbSessions::erase(std::string key) {
    co_await db_.exec("delete from sessions where id = ?", key);
}

}  // namespace tidepool
