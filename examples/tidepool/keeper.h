// Keeper: what a node tidies up while it serves, a little each minute, so that tables and the
// folder of pictures stay bounded. Any number of nodes do it at
// once; each deletes what is to go anyway.
//
//   timelines   what is below the newest `timeline_kept` of a member (timelines.h)
//   pictures    files that no row names: an upload whose program died before its row was written
//   rates       limits of clients that are gone for a while
//
// Owner    The App. It runs once in a process.
// Errors   A database that does not answer: one line in the log, and again after a minute.
#pragma once

#include <tiderace/app.h>
#include <tiderace/db.h>

#include <chrono>
#include <cstdint>

#include "examples/tidepool/pictures/pictures.h"

namespace tidepool {

inline constexpr std::int64_t members_of_round = 200;
// A younger file may belong to a post that is being written.
inline constexpr std::chrono::hours picture_age_min{1};

// Trims the timelines of the members after `member`. Returns the last member it came to, or 0 when
// it reached the end.
tiderace::Task<std::int64_t> trim_timelines(tiderace::db::Database db, std::int64_t member,
                                            std::int64_t kept);
// Removes files that no row names and that are older than `age`; how many.
tiderace::Task<std::size_t> sweep_pictures(tiderace::db::Database db, Pictures& pictures,
                                           std::chrono::seconds age);

void add_keeper(tiderace::http::App& app, const tiderace::db::Database& db);

}  // namespace tidepool
