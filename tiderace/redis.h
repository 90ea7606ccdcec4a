// Redis and Valkey: commands, pipelines, transactions, scripts and subscriptions, awaited.
//
//     #include <tiderace/redis.h>
//     #include <tiderace/task.h>
//
//     using namespace tiderace;
//
//     Task<std::int64_t> visit(redis::Client redis, std::string page) {
//         co_await redis.set("last", page, {.expires = std::chrono::hours(1)});
//         co_return co_await redis.increment("visits:" + page);
//     }
//
//     Task<bool> take_one(redis::Client redis, std::string item) {
//         auto tx = co_await redis.transaction();
//         co_await tx.watch(item);
//         const auto left = co_await tx.command<std::optional<std::string>>("GET", item);
//         if (!left || *left == "0") co_return false;
//         tx.queue("DECR", item);
//         const auto done = co_await tx.exec();   // nullopt: another client changed it meanwhile
//         co_return done.has_value();
//     }
//
// `auto redis = redis::open("redis://localhost")`, or "rediss://…", "unix:…". Link
// `tiderace::db_redis`.
//
// Each header below says more: owner, thread, errors, limits. docs/redis.md is the guide.
#pragma once

#include "tiderace/db/error.h"
#include "tiderace/db/redis/client.h"
#include "tiderace/db/redis/options.h"
#include "tiderace/db/redis/pipeline.h"
#include "tiderace/db/redis/reply.h"
#include "tiderace/db/redis/script.h"
#include "tiderace/db/redis/subscription.h"
#include "tiderace/db/redis/transaction.h"

namespace tiderace {

namespace redis = db::redis;

}  // namespace tiderace
