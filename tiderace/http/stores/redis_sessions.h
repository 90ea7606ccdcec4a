// RedisSessions: sessions in Redis or Valkey, which several programs share.
//
//   app.use(sessions(std::make_shared<RedisSessions>(redis::open("redis://localhost"))));
//
//   PREFIX KEY  ->  "EXPIRES TEXT"      one key a session; Redis removes it when it expires
//
// Each operation is one round trip. Redis needs version 6.2 for GETDEL, and must not evict sessions
// that are in use (maxmemory-policy noeviction, or volatile-ttl).
//
// Link tiderace::http_stores_redis.
//
// Owner    A shared_ptr of the App's; one for all loops.
// Thread   Any loop's, several at once. The tasks run on the loop that awaits them.
// Errors   db::Error, thrown. A Redis that is away is answered 503 (error.h), and no session ends
//          by it.
// Limits   As SessionStore; the number of sessions is Redis's to bound.
// Keywords: session, Redis, Valkey
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tiderace/db/redis/client.h"
#include "tiderace/http/app/session_store.h"

namespace tiderace::http {

class RedisSessions final : public SessionStore {
  public:
    explicit RedisSessions(db::redis::Client redis, std::string prefix = "session:")
        : redis_(std::move(redis)), prefix_(std::move(prefix)) {}

    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override;
    task::Task<> save(std::string key, std::string data, UnixSeconds expires) override;
    task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                 UnixSeconds expires) override;
    task::Task<bool> prolong(std::string key, UnixSeconds expires) override;
    task::Task<std::optional<std::string>> take(std::string key) override;

  private:
    const db::redis::Client redis_;
    const std::string prefix_;
};

}  // namespace tiderace::http
