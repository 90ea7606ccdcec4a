// The engines that tests run on: those of this machine, and kqueue over the stand-in where the
// system has none of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/core/backend.h"

namespace tiderace::testing {

std::vector<std::string> engine_names();
// Whether this machine has none of its own, so that a stand-in is the kernel.
bool is_stand_in(std::string_view name);
Result<std::unique_ptr<core::Backend>> make_engine(std::string_view name,
                                                   const core::BackendOptions& options);

}  // namespace tiderace::testing
