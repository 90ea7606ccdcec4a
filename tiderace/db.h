// Databases: SQLite, PostgreSQL and MariaDB behind one small interface, awaited.
//
//     #include <tiderace/db.h>
//     #include <tiderace/task.h>
//
//     using namespace tiderace;
//
//     struct Member {
//         std::int64_t id;
//         std::string name;
//         std::optional<std::string> motto;
//     };
//
//     Task<std::string> motto_of(db::Database db, std::int64_t id) {
//         const auto member =
//             co_await db.one<Member>("select id, name, motto from member where id = ?", id);
//         co_return member && member->motto ? *member->motto : "none";
//     }
//
//     Task<> follow(db::Database db, std::int64_t who, std::int64_t whom) {
//         co_await db.transaction([&](db::Transaction& tx) -> Task<> {
//             co_await tx.exec("insert into follow (who, whom) values (?, ?)", who, whom);
//             co_await tx.exec("update member set followers = followers + 1 where id = ?", whom);
//         });
//     }
//
// `auto db = db::open("sqlite:tidepool.db")`, or "postgres://…", "mariadb://…". Link
// `tiderace::db`. Values are always bound; no text of a value is ever part of a statement.
//
// Each header below says more: owner, thread, errors, limits. docs/databases.md is the guide.
// Metrics: db/database_metrics.h.
#pragma once

#include "tiderace/db/database.h"
#include "tiderace/db/error.h"
#include "tiderace/db/listen.h"
#include "tiderace/db/migrations.h"
#include "tiderace/db/options.h"
#include "tiderace/db/row.h"
#include "tiderace/db/transaction.h"
#include "tiderace/db/value.h"
