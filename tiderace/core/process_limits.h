// The process's limits on open descriptors: a connection is one, so the soft limit of 1,024 that
// most systems start with is raised to the hard one; and how many connections that is.
//
// Thread   Any; the limit is the whole process's. Call it once, at start.
// Errors   The system tells no limit, or refuses the raise.
#pragma once

#include <cstdint>

#include "tiderace/base/result.h"

namespace tiderace::core {

struct DescriptorLimit {
    std::uint64_t before = 0;  // descriptors; UINT64_MAX: unlimited
    std::uint64_t after = 0;
};

// What a server keeps for what is no connection: the log, the sockets that listen, its folders; and
// for each loop its own and the files that it has open.
inline constexpr std::uint64_t descriptors_kept = 64;
inline constexpr std::uint64_t descriptors_kept_per_loop = 300;

// How many connections `descriptors` leave room for, with so many loops. Where there are less than
// twice as many as are to be kept, half are kept. At least one.
std::uint64_t room_for_connections(std::uint64_t descriptors, std::uint64_t loops,
                                   std::uint64_t kept_per_loop = descriptors_kept_per_loop);

// Raises the soft limit to the hard one and says what it was and is.
Result<DescriptorLimit> raise_descriptor_limit();

}  // namespace tiderace::core
