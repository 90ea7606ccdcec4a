// Glob: does a path match a pattern such as "*.css", "/assets/**" or "img-?.png"?
//
//   *   any run of characters but '/'       **  any run, '/' too       ?  one character but '/'
//
// A pattern without '/' is matched against the last segment; one with '/' against the whole path,
// which begins with '/' whether the pattern does or not.
//
// Thread   Any; no state. Time is bounded by pattern length times path length.
#pragma once

#include "tiderace/base/bytes.h"

namespace tiderace::http::files {

bool matches_glob(ByteView pattern, ByteView path);
// False: a plain path, which stands for itself.
bool is_glob(ByteView pattern);

}  // namespace tiderace::http::files
