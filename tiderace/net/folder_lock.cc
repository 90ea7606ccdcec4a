#include "tiderace/net/folder_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <thread>

namespace tiderace::net {
namespace {

constexpr Duration asked_every = 10ms;

}  // namespace

FolderLock lock_folder(int folder, Duration wait_max) {
    for (Duration waited{}; ::flock(folder, LOCK_EX | LOCK_NB) != 0; waited += asked_every) {
        if (errno != EWOULDBLOCK) return FolderLock::unavailable;
        if (waited >= wait_max) return FolderLock::held_by_another;
        std::this_thread::sleep_for(asked_every);
    }
    return FolderLock::taken;
}

}  // namespace tiderace::net
