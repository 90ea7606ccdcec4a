// The one place that knows every part of the server and puts them together.
#pragma once

#include "server/options.h"

namespace tiderace::server {

// Serves until a signal ends it. Returns the exit status of the program.
int serve(const ServeOptions& options);

}  // namespace tiderace::server
