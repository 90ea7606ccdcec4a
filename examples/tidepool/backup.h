// Backup: all of a Tidepool as JSON lines, which any of the databases takes back.
//
//   {"tidepool":{"version":1}}
//   {"member":{"id":1,"username":"ann", …}}     members, posts, likes, follows, blocks, tags,
//   {"post":{"id":1, …}}                        notifications, reports
//   {"picture":{"name":"….webp","base64":"…"}}
//   {"end":{"lines":412}}
//
// Sessions are left out: everybody logs in again. Passwords are in it as hashes, e-mail addresses
// as they are: the file has mode 0600 from its first moment.
//
// Thread   A loop's, in a task. Files are read and written in between: for a program of its own.
// Errors   std::runtime_error with a sentence: the file, its line, what is wrong. A restore that
//          fails changes nothing in the database. db::Error.
#pragma once

#include <tiderace/db.h>
#include <tiderace/task.h>

#include <cstddef>
#include <string>

namespace tidepool {

// As it is at one moment, while the site runs. `file` is replaced once all is written. Its lines.
tiderace::Task<std::size_t> back_up(tiderace::db::Database db, std::string pictures,
                                    std::string file);
// Into a database without members, whose tables are there. Its lines.
tiderace::Task<std::size_t> restore(tiderace::db::Database db, std::string pictures,
                                    std::string file);

}  // namespace tidepool
