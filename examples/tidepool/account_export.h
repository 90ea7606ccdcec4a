// All that is kept about a member, for that member: JSON, made while it is sent.
//
// Thread   Any loop's.
// Errors   db::Error, thrown; the answer then breaks off, so that it is not taken for a whole one.
// Limits   Memory of one piece (export_rows rows), and a connection of the database only while a
//          piece is read: however much a member wrote, and however slowly it is fetched.
#pragma once

#include <tiderace/db.h>
#include <tiderace/task.h>

#include <cstdint>
#include <string>

namespace tidepool {

inline constexpr std::int64_t export_rows = 100;

// "{}" for a member that is gone. Each list is read piece by piece, so what changes meanwhile may
// be in it or not.
tiderace::Generator<std::string> exported(tiderace::db::Database db, std::int64_t member);

}  // namespace tidepool
