// Memory of SQLite for a program that does not count it (leave_sqlite_memory_uncounted()).
//
// A statement makes and frees a dozen small blocks each time that it runs. They come from the pool
// of coroutine frames (task/frame_pool.h) instead of malloc: Debian builds SQLite without a pool of
// its own (SQLITE_OMIT_LOOKASIDE).
//
// Thread   Any, once set.
// Limits   The pool's: larger blocks are the allocator's.
#pragma once

namespace tiderace::db::sqlite {

// False: SQLite was in use before, and nothing has changed.
bool leave_memory_uncounted();

}  // namespace tiderace::db::sqlite
