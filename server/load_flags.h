// The flags of `tiderace load`, as data. Defaults are lab::LoadOptions'.
#pragma once

#include <span>

#include "server/flags.h"

namespace tiderace::server {

std::span<const Flag> load_flags();

}  // namespace tiderace::server
