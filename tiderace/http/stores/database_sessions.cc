#include "tiderace/http/stores/database_sessions.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"
#include "tiderace/task/context.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {
namespace {

struct Row {
    std::string data;
    std::int64_t expires_at;
};

void check_name(std::string_view name) {
    const bool good = std::ranges::all_of(
        name, [](char c) { return is_letter_or_digit(c) || std::string_view("_.").contains(c); });
    TR_CHECK(good, "the name of a table or a column has letters, digits, `_` and `.`");
}

// No name has a brace, so that a name is never taken for a mark.
void put_names(std::string& sql, const DatabaseSessionsOptions& options) {
    for (const auto& [mark, name] :
         {std::pair<std::string_view, std::string_view>("{table}", options.table),
          {"{column}", options.column}}) {
        for (std::size_t at; (at = sql.find(mark)) != std::string::npos;) {
            sql.replace(at, mark.size(), name);
        }
    }
}

}  // namespace

DatabaseSessions::DatabaseSessions(db::Database database, DatabaseSessionsOptions options)
    : database_(std::move(database)), options_(std::move(options)) {
    TR_CHECK(!options_.table.empty(), "sessions have a table");
    check_name(options_.table);
    check_name(options_.column);
    const bool is_mariadb = database_.dialect() == db::Dialect::mariadb;
    const bool has_column = !options_.column.empty();
    const auto statement = [&](std::string sql) {
        put_names(sql, options_);
        return sql;
    };
    load_sql_ = statement("select data, expires_at from {table} where id = ? and expires_at > ?");
    std::string save = "insert into {table} (id, data, expires_at";
    save += has_column ? ", {column}) values (?, ?, ?, ?)" : ") values (?, ?, ?)";
    if (is_mariadb) {
        save += " on duplicate key update data = values(data), expires_at = values(expires_at)";
        if (has_column) save += ", {column} = values({column})";
    } else {
        save +=
            " on conflict (id) do update set data = excluded.data,"
            " expires_at = excluded.expires_at";
        if (has_column) save += ", {column} = excluded.{column}";
    }
    save_sql_ = statement(std::move(save));
    std::string replace = "update {table} set data = ?, expires_at = ?";
    if (has_column) replace += ", {column} = ?";
    // The collation of MariaDB's column may take two texts for the same.
    replace += is_mariadb ? " where id = ? and binary data = ?" : " where id = ? and data = ?";
    replace_sql_ = statement(std::move(replace));
    there_sql_ = statement("select expires_at from {table} where id = ?");
    prolong_sql_ = statement("update {table} set expires_at = ? where id = ?");
    take_sql_ = statement("delete from {table} where id = ? returning data");
    const std::string some = " limit " + std::to_string(sweep_rows_max);
    // The end is compared twice, because a row may be prolonged between the two.
    sweep_sql_ = statement(
        "delete from {table} where expires_at <= ?" +
        (is_mariadb ? some
                    : " and id in (select id from {table} where expires_at <= ?" + some + ")"));
}

std::string DatabaseSessions::schema(db::Dialect dialect, std::string_view table) {
    check_name(table);
    const bool is_mariadb = dialect == db::Dialect::mariadb;
    std::string sql = "create table if not exists {table} (id varchar(64) primary key,";
    sql += " expires_at bigint not null, data text not null)";
    if (is_mariadb) sql += " engine = InnoDB default character set utf8mb4 collate utf8mb4_bin";
    std::string index(table);
    std::ranges::replace(index, '.', '_');
    sql += ";\ncreate index if not exists " + index + "_by_end on {table} (expires_at);\n";
    put_names(sql, {.table = std::string(table)});
    return sql;
}

task::Task<std::optional<SessionStore::Found>> DatabaseSessions::load(std::string key,
                                                                      UnixSeconds now) {
    auto row = co_await database_.one<Row>(load_sql_, key, now);
    if (!row) co_return std::nullopt;
    co_return Found{.text = std::move(row->data), .expires = row->expires_at};
}

task::Task<> DatabaseSessions::save(std::string key, std::string data, UnixSeconds expires) {
    if (options_.column.empty()) {
        co_await database_.exec(save_sql_, key, data, expires);
    } else {
        co_await database_.exec(save_sql_, key, data, expires, value_in(data, options_.column));
    }
    if (++saves_ % sweep_every != 0) co_return;
    try {
        co_await sweep(task::Context::here().runner->loop().unix_now());
    } catch (const db::Error&) {
        // The session is saved. A later one tries again.
    }
}

task::Task<SessionStore::Replaced> DatabaseSessions::replace(std::string key, std::string before,
                                                             std::string data,
                                                             UnixSeconds expires) {
    db::Done done;
    if (options_.column.empty()) {
        done = co_await database_.exec(replace_sql_, data, expires, key, before);
    } else {
        done = co_await database_.exec(replace_sql_, data, expires, value_in(data, options_.column),
                                       key, before);
    }
    if (done.rows > 0) co_return Replaced::done;
    const auto there = co_await database_.one<std::int64_t>(there_sql_, key);
    co_return there ? Replaced::changed : Replaced::gone;
}

task::Task<bool> DatabaseSessions::prolong(std::string key, UnixSeconds expires) {
    const db::Done done = co_await database_.exec(prolong_sql_, expires, key);
    co_return done.rows > 0;
}

task::Task<std::optional<std::string>> DatabaseSessions::take(std::string key) {
    auto taken = co_await database_.one<std::string>(take_sql_, key);
    co_return taken;
}

task::Task<std::uint64_t> DatabaseSessions::sweep(UnixSeconds now) {
    db::Done done;
    if (database_.dialect() == db::Dialect::mariadb) {
        done = co_await database_.exec(sweep_sql_, now);
    } else {
        done = co_await database_.exec(sweep_sql_, now, now);
    }
    co_return done.rows;
}

}  // namespace tiderace::http
