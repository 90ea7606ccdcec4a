// The file that does what flags of `tiderace serve` do: how a service moves from flags to a file.
//
//   tiderace serve site --listen :80 --print-config > tiderace.toml
//
// Thread   Any.
#pragma once

#include <string>

#include "server/options.h"

namespace tiderace::server::config {

// What is as it is by default is left out. Paths of files become absolute, because those in a file
// are relative to it.
std::string print_config(const ServeOptions& options);

}  // namespace tiderace::server::config
