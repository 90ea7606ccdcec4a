#include "examples/tidepool/sessions.h"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
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

std::optional<std::string> login_in(const std::string& data) {
    return http::SessionStore::value_in(data, "login");
}

}  // namespace

DbSessions::DbSessions(db::Database db)
    : db_(std::move(db)),
      load_sql_("select s.data, s.expires_at, " + Accounts::viewer_columns(db_.dialect()) +
                " from sessions s left join logins l on l.id = s.login"
                " left join members m on m.id = l.member where s.id = ? and s.expires_at > ?") {}

Task<std::optional<DbSessions::Found>> DbSessions::load(std::string key, UnixSeconds now) {
    auto row = co_await db_.one<SessionRow>(load_sql_, key, now);
    // Expired: no request came with them in time.
    if (++loads_ % sweep_every == 0) {
        co_await db_.exec("delete from sessions where expires_at <= ?", now);
    }
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

Task<> DbSessions::save(std::string key, std::string data, UnixSeconds expires) {
    std::string sql = "insert into sessions (id, data, expires_at, login) values (?, ?, ?, ?) ";
    sql += db_.dialect() == db::Dialect::mariadb
               ? "on duplicate key update data = values(data), expires_at = values(expires_at),"
                 " login = values(login)"
               : "on conflict (id) do update set data = excluded.data,"
                 " expires_at = excluded.expires_at, login = excluded.login";
    co_await db_.exec(sql, key, data, expires, login_in(data));
}

// Only where it is still there: a session that was ended meanwhile does not come back by a request
// that was under way.
Task<bool> DbSessions::replace(std::string key, std::string data, UnixSeconds expires) {
    const auto done =
        co_await db_.exec("update sessions set data = ?, expires_at = ?, login = ? where id = ?",
                          data, expires, login_in(data), key);
    co_return done.rows > 0;
}

Task<bool> DbSessions::erase(std::string key) {
    const auto done = co_await db_.exec("delete from sessions where id = ?", key);
    co_return done.rows > 0;
}

namespace {

std::string name_of(const std::string& key) {
    return "tidepool:session:" + key;
}

}  // namespace

// "1764000000 DATA": the end in seconds since 1970.
Task<std::optional<RedisSessions::Found>> RedisSessions::load(std::string key, UnixSeconds now) {
    const std::string name = name_of(key);
    auto text = co_await redis_.get(name);
    if (!text) co_return std::nullopt;
    Found found;
    const char* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, found.expires);
    // The key expires by Redis's clock and the session by ours, so the end is compared here, too.
    if (read.ec != std::errc() || read.ptr == end || found.expires <= now) co_return std::nullopt;
    found.text.assign(read.ptr + 1, end);
    co_return found;
}

Task<> RedisSessions::save(std::string key, std::string data, UnixSeconds expires) {
    // Redis itself removes what has expired (PX), so nothing is swept.
    co_await set(std::move(key), std::move(data), expires, redis::SetOptions::If::always);
}

Task<bool> RedisSessions::replace(std::string key, std::string data, UnixSeconds expires) {
    return set(std::move(key), std::move(data), expires, redis::SetOptions::If::present);
}

// False: the condition was not met.
Task<bool> RedisSessions::set(std::string key, std::string data, UnixSeconds expires,
                              redis::SetOptions::If only_if) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto left = std::chrono::seconds(expires) - now;
    // Redis rejects a key that expires at once.
    if (left <= Duration::zero()) {
        const bool was_there = co_await erase(std::move(key));
        co_return was_there;
    }
    const std::string name = name_of(key);
    const std::string text = std::to_string(expires) + " " + data;
    const redis::SetOptions options{.expires = std::chrono::duration_cast<Duration>(left),
                                    .only_if = only_if};
    const bool done = co_await redis_.set(name, text, options);
    co_return done;
}

Task<bool> RedisSessions::erase(std::string key) {
    const std::string name = name_of(key);
    const bool was_there = co_await redis_.remove(name);
    co_return was_there;
}

}  // namespace tidepool
