// DbSessions, RedisSessions: the library's sessions in the database or in Redis, so that they
// outlive the program and any number of programs share them.
#pragma once

#include <tiderace/app.h>
#include <tiderace/db.h>
#include <tiderace/redis.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

namespace tidepool {

// load() reads the member of the session's log-in in the same statement, and attaches it as a
// Viewer. The row names the log-in in a column of its own, which a program of an older version does
// not write, so a reader compares Viewer::login with the session's.
class DbSessions final : public tiderace::http::SessionStore {
  public:
    explicit DbSessions(tiderace::db::Database db);

    tiderace::Task<std::optional<Found>> load(std::string key, tiderace::UnixSeconds now) override;
    tiderace::Task<> save(std::string key, std::string data,
                          tiderace::UnixSeconds expires) override;
    tiderace::Task<bool> replace(std::string key, std::string data,
                                 tiderace::UnixSeconds expires) override;
    tiderace::Task<bool> erase(std::string key) override;

  private:
    static constexpr unsigned sweep_every = 1'000;  // loads

    tiderace::db::Database db_;
    const std::string load_sql_;
    std::atomic<unsigned> loads_ = 0;  // all loops
};

// They end by themselves when they expire.
class RedisSessions final : public tiderace::http::SessionStore {
  public:
    explicit RedisSessions(tiderace::redis::Client redis) : redis_(std::move(redis)) {}

    tiderace::Task<std::optional<Found>> load(std::string key, tiderace::UnixSeconds now) override;
    tiderace::Task<> save(std::string key, std::string data,
                          tiderace::UnixSeconds expires) override;
    tiderace::Task<bool> replace(std::string key, std::string data,
                                 tiderace::UnixSeconds expires) override;
    tiderace::Task<bool> erase(std::string key) override;

  private:
    tiderace::Task<bool> set(std::string key, std::string data, tiderace::UnixSeconds expires,
                             tiderace::redis::SetOptions::If only_if);

    tiderace::redis::Client redis_;
};

}  // namespace tidepool
