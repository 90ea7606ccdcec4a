// tiderace load: puts a server under load and reports the result.
//
// Thread   main's; each loop of the load has a thread of its own.
// Errors   One line on standard error. Returns the exit status: 0 all was answered rightly, 1 not
//          so, 2 the command line is wrong.
#pragma once

#include "load/options.h"

namespace tiderace::load {

int run_command(const LoadOptions& options);

}  // namespace tiderace::load
