// The one place that knows every part of the server and puts them together.
//
// Thread   The main one, before there is any other.
// Errors   Startup failures are printed to standard error; the exit status is 1.
#pragma once

#include "server/options.h"
#include "tiderace/net/threading_model.h"

namespace tiderace::server {

// Serves until a signal ends it. Returns the exit status of the program.
int serve(ServeOptions options);
// The same with loops and threads arranged in another way: the lab's.
int serve(ServeOptions options, net::ThreadingModel& threading_model);

}  // namespace tiderace::server
