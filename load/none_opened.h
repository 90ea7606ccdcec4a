// Why not one connection of a run could be opened: the one cause, and the flag that helps.
//
// Thread   Any: a pure function.
#pragma once

#include <string>

#include "load/options.h"
#include "load/target.h"
#include "load/team.h"

namespace tiderace::load {

// "" when a connection was opened, or none was tried.
std::string why_none_opened(const LoadSum& sum, const LoadTarget& target);

}  // namespace tiderace::load
