// ProcessUse: what a set of processes has used so far: CPU time to the nanosecond, memory without
// counting shared pages twice.
//
// CPU time is that of the process, with its threads that have ended: an engine that makes a thread
// for each connection would otherwise look cheap. Linux; elsewhere zeros.
//
// Thread   Any; each call reads anew.
// Errors   A process that is not there any more counts as nothing.
#pragma once

#include <cstdint>
#include <span>

#include "tiderace/base/units.h"

namespace tiderace::lab::run {

Duration cpu_of(std::span<const int> pids);
// Proportional set size; where that cannot be read, resident size.
std::uint64_t memory_of(std::span<const int> pids);

}  // namespace tiderace::lab::run
