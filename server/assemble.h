// The one place that knows every part of the server and puts them together.
//
// Thread   The main one, before there is any other.
// Errors   What keeps it from serving is said on standard error, with status 1.
#pragma once

#include "server/options.h"
#include "tiderace/net/arrangement.h"

namespace tiderace::server {

// Serves until a signal ends it. Returns the exit status of the program.
int serve(const ServeOptions& options);
// The same with loops and threads arranged in another way: the lab's.
int serve(const ServeOptions& options, net::Arrangement& arrangement);

}  // namespace tiderace::server
