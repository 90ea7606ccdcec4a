// Server watch: which processes of this machine listen at an address, and what they use. From /proc
// (Linux); elsewhere nothing is found.
//
// Thread   Any; each call reads anew.
// Errors   What cannot be read (another user's process) counts as not there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/core/address.h"

namespace tiderace::lab {

struct ServerUse {
    Duration cpu = Duration::zero();  // user and system, since each process began; 10 ms steps
    std::uint64_t memory_bytes = 0;   // resident; shared pages count in each process
    std::size_t processes = 0;        // that could be read
};

// In order. `proc`: where the system tells of its processes; a test has a folder of its own.
std::vector<int> find_listeners(const core::Address& address, const std::string& proc = "/proc");
// The processes of a process group, in order.
std::vector<int> find_group(int group, const std::string& proc = "/proc");
ServerUse read_use(std::span<const int> pids, const std::string& proc = "/proc");

}  // namespace tiderace::lab
