// The flags of `tiderace load`, as data. Defaults are load::LoadOptions'.
#pragma once

#include <span>

#include "load/options.h"
#include "server/command_line/flags.h"

namespace tiderace::server {

using LoadFlag = Flag<load::LoadOptions>;

std::span<const LoadFlag> load_flags();

}  // namespace tiderace::server
