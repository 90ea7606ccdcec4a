#include "lab/run/process_use.h"

#include <time.h>

#include <fstream>
#include <string>

#include "lab/server_watch.h"

namespace tiderace::lab::run {

Duration cpu_of(std::span<const int> pids) {
    Duration sum = Duration::zero();
#if defined(__linux__)
    for (const int pid : pids) {
        clockid_t clock{};
        timespec used{};
        if (pid <= 0) continue;  // the clock of 0 is ours
        if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) continue;
        sum += std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
    }
#else
    (void)pids;
#endif
    return sum;
}

std::uint64_t memory_of(std::span<const int> pids) {
    std::uint64_t bytes = 0;
    for (const int pid : pids) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
        std::string word;
        std::uint64_t kibibytes = 0;
        while (file >> word) {
            if (word == "Pss:" && file >> kibibytes) break;
        }
        bytes +=
            kibibytes > 0 ? kibibytes * 1024 : read_use(std::span<const int>(&pid, 1)).memory_bytes;
    }
    return bytes;
}

}  // namespace tiderace::lab::run
