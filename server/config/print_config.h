// The file that does what flags of `tiderace serve` do: how a service moves from flags to a file.
//
//   tiderace serve site --listen :80 --print-config > tiderace.toml
//
// Thread   Any.
#pragma once

#include <string>

#include "server/options.h"

namespace tiderace::server::config {

// Options with their default value are left out. Paths become absolute, because a path in a
// configuration file is relative to that file.
std::string print_config(const ServeOptions& options);

}  // namespace tiderace::server::config
