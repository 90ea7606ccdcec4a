// The engines that tests run on: this machine's, kqueue over the stand-in where the system
// has none of its own, and io_uring-together: io_uring with every small answer by the ring, also
// the only one of its turn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/core/backend.h"

namespace tiderace::testing {

std::vector<std::string> engine_names();
// Whether it is io_uring, in one way or the other.
bool is_io_uring(std::string_view name);
// Whether this machine has none of its own, so that a stand-in is the kernel.
bool is_stand_in(std::string_view name);
Result<std::unique_ptr<core::Backend>> make_engine(std::string_view name,
                                                   const core::BackendOptions& options);

}  // namespace tiderace::testing
