// The flags of `tiderace lab run`, as data (flags.h).
//
// Thread   Constants; any.
#pragma once

#include <span>

#include "lab/run/run_options.h"
#include "server/command_line/flags.h"

namespace tiderace::server {

using RunFlag = Flag<lab::run::RunOptions>;

std::span<const RunFlag> run_flags();

}  // namespace tiderace::server
