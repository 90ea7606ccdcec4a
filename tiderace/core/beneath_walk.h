// open_by_walking: opens a path that never leaves a directory, on systems without a call for it
// (openat2 with RESOLVE_BENEATH): BSD, macOS, old Linux.
//
//   one component at a time, each by O_NOFOLLOW; what turns out to be a symbolic link is read and
//   walked from where it stands; ".." goes back to the directory and walks down again
//
// So every step begins at the directory or at one that was reached from it by names alone, even
// while others rename and link. The rules are RESOLVE_BENEATH's: an absolute link, or a ".."
// above the directory, is EXDEV.
//
// Thread   Any.
// Errors   -errno, as openat2 would: EXDEV, ELOOP (also where `links` forbids the link), ENOENT, …
// Limits   walk_links_max links and walk_steps_max components in one path (ELOOP), PATH_MAX bytes
//          with its links (ENAMETOOLONG). Two descriptors at a time.
// Keywords: path traversal, symlinks, openat2, RESOLVE_BENEATH
#pragma once

#include "tiderace/core/kernel.h"

namespace tiderace::core {

inline constexpr int walk_links_max = 40;  // as Linux
inline constexpr int walk_steps_max = 1'000;

int open_by_walking(int directory, const char* path, int flags, Links links);

}  // namespace tiderace::core
