// Which keys of a file need a restart: their values are used once, before the first request.
//
// Thread   Any: a pure function.
#pragma once

#include <string>
#include <vector>

#include "server/options.h"

namespace tiderace::server::config {

// A sentence for each such key whose value is another in `now`.
std::vector<std::string> changes_that_need_a_restart(const ServeOptions& before,
                                                     const ServeOptions& now);

}  // namespace tiderace::server::config
