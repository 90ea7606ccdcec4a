// listen: what PostgreSQL's NOTIFY sends to a channel, awaited.
//
//   auto notes = db::listen(db, "posts");
//   while (auto note = co_await notes.next()) show(note->payload);      // "": look again, below
//
// It has a connection of its own, outside of the pool. After each connect it gives one Notification
// without payload: what was sent before that was missed, so read what you keep from the database.
//
// Thread   A loop's, in a task.
// Errors   Error{configuration}: another database, a channel that is not of a-z, 0-9 and _. A lost
//          connection is made again after a pause and is no error.
// Keywords: LISTEN, NOTIFY
#pragma once

#include <string>

#include "tiderace/db/connection.h"
#include "tiderace/db/database.h"
#include "tiderace/task/generator.h"

namespace tiderace::db {

task::Generator<Notification> listen(Database database, std::string channel);

}  // namespace tiderace::db
