// The process's limits on open descriptors: a connection is one, so the soft limit of 1,024 that
// most systems start with is raised to the hard one.
//
// Thread   Any; the limit is the whole process's. Call it once, at start.
#pragma once

#include <cstdint>

#include "tiderace/base/result.h"

namespace tiderace::core {

struct DescriptorLimit {
    std::uint64_t before = 0;  // descriptors; UINT64_MAX: unlimited
    std::uint64_t after = 0;
};

// Raises the soft limit to the hard one and says what it was and is.
Result<DescriptorLimit> raise_descriptor_limit();

}  // namespace tiderace::core
