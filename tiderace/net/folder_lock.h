// lock_folder: a folder's lock (flock), waited for with a limit.
//
// Programs that start at once take turns with it. Every user that may open the folder can hold it
// for ever, and so can a program that hangs: no start waits for that.
//
// Owner    The open folder: the lock ends when the last descriptor of it is closed.
// Thread   Any; it blocks.
#pragma once

#include <cstdint>

#include "tiderace/base/units.h"

namespace tiderace::net {

enum class FolderLock : std::uint8_t {
    taken,
    held_by_another,  // during all of `wait_max`
    unavailable,      // this folder has no locks; see errno
};

inline constexpr Duration folder_lock_wait_default = 5s;

// Asks at least once.
FolderLock lock_folder(int folder, Duration wait_max);

}  // namespace tiderace::net
