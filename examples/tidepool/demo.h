// A made-up community to look at: members with posts, likes and follows, from one seed, so that two
// runs make the same.
#pragma once

#include <tiderace/db.h>
#include <tiderace/task.h>

#include <cstddef>

namespace tidepool {

// Adds that many members, ada_1 and others, all with the password "tidepool". Nothing where the
// database has members. How many were added.
tiderace::Task<std::size_t> add_demo(tiderace::db::Database db, std::size_t members);

}  // namespace tidepool
