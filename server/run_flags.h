// The flags of `tiderace lab run`, as data; rendered and read as those of every command (flags.h).
//
// Thread   Constants; any.
#pragma once

#include <span>

#include "server/flags.h"

namespace tiderace::server {

std::span<const Flag> run_flags();

}  // namespace tiderace::server
