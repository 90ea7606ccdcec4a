// How many CPUs this process may use: the smaller of its affinity mask and its cgroup's quota; the
// default number of loops.
//
// A container with "2 CPUs" on a machine of 64 has a quota, and 64 loops in it would stand still
// most of each 100 ms.
//
// Thread   Any. Reads files: call it at start.
// Keywords: cgroup, affinity, number of threads
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace tiderace::core {

struct CpuCount {
    std::size_t usable = 1;       // at least 1: the smaller of the two, the quota rounded up
    std::size_t affinity = 1;     // CPUs the scheduler may put us on
    std::optional<double> quota;  // CPUs' worth of time, of cgroup v2 or v1; none: unlimited
};

// `root` stands for "/": proc/self/cgroup and sys/fs/cgroup are read beneath it. Files that are
// missing or unreadable limit nothing.
CpuCount count_cpus(const std::filesystem::path& root = "/");

}  // namespace tiderace::core
