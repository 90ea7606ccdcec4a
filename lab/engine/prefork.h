// The engine `prefork`: processes of one epoll loop each, which share the listening sockets, and
// one process that watches over them.
//
//   the process that was started: fork, fork, …   waits, and replaces one that ends, after a pause
//     SIGTERM, SIGINT            passed on; it ends when all have, or kills them
//     SIGUSR1                    passed on
//   a process that serves        ends in order when the one that watches dies
//
// Owner    server::serve(). Thread: the only one there is.
// Errors   Processes that end at once, or that the machine refuses, again and again, before one has
//          served: the watching one gives up with status 1. Every event is printed to standard
//          error.
// Limits   A pause of 100 ms before a replacement, doubling to 10 s.
#pragma once

#include <memory>

#include "lab/engine/threading_model.h"

namespace tiderace::lab::engine {

std::unique_ptr<ThreadingModel> arrange_prefork();

}  // namespace tiderace::lab::engine
