// Opens the user's browser, without a shell and without a child left to wait for.
//
// Thread   Any; best before the loops start, since it forks.
// Errors   What could not be started. What the browser makes of the address is not known.
#pragma once

#include <string>

#include "tiderace/base/result.h"

namespace tiderace::server {

// By the desktop's own way: xdg-open, or open on macOS.
Result<> open_browser(const std::string& url);

// Runs `program` (looked up in PATH) with `argument`, detached: its own session, its standard
// streams at /dev/null, its parent not us. Returns once the program has started or could not.
Result<> start_detached(const std::string& program, const std::string& argument);

}  // namespace tiderace::server
