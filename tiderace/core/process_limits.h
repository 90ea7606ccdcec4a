// The process's limits on open descriptors: each connection needs one, so the soft limit of 1,024
// that most systems start with is raised to the hard one; and how many connections fit.
//
// Thread   Any; the limit is the whole process's. Call it once, at start.
// Errors   The system reports no limit, or refuses the raise.
// Keywords: RLIMIT_NOFILE, ulimit, file descriptors, EMFILE
#pragma once

#include <cstdint>

#include "tiderace/base/result.h"

namespace tiderace::core {

struct DescriptorLimit {
    std::uint64_t before = 0;  // descriptors; UINT64_MAX: unlimited
    std::uint64_t after = 0;
};

// Reserved by a server for other uses than connections: the log, listening sockets, its folders;
// and for each loop its own descriptors and open files.
inline constexpr std::uint64_t descriptors_kept = 64;
inline constexpr std::uint64_t descriptors_kept_per_loop = 300;

// How many connections `descriptors` leave room for, with so many loops. With less than twice the
// reserve, half of them are reserved. At least one.
std::uint64_t room_for_connections(std::uint64_t descriptors, std::uint64_t loops,
                                   std::uint64_t kept_per_loop = descriptors_kept_per_loop);

// Raises the soft limit to the hard one and returns the old and new values.
Result<DescriptorLimit> raise_descriptor_limit();

}  // namespace tiderace::core
