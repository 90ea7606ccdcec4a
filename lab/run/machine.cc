#include "lab/run/machine.h"

#include <sys/utsname.h>

#include <fstream>

#if defined(__linux__)
#include <sched.h>
#endif

#include "tiderace/core/process_limits.h"

namespace tiderace::lab::run {
namespace {

// The value of the first line that begins with `name`.
std::string field(const std::string& path, std::string_view name) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with(name)) continue;
        const std::size_t colon = line.find(':');
        const std::size_t value = line.find_first_not_of(" \t", colon + 1);
        return colon == line.npos || value == line.npos ? std::string() : line.substr(value);
    }
    return {};
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace

report::Machine describe_machine(const std::string& root) {
    report::Machine machine;
    machine.cpu = field(root + "/proc/cpuinfo", "model name");
    // Not all that the machine has: a container, or taskset, may have left fewer to this process.
    machine.cpus = usable_cpus().size();
    utsname names{};
    if (::uname(&names) == 0) {
        machine.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
    }
    const std::string total = field(root + "/proc/meminfo", "MemTotal");
    if (!total.empty()) machine.memory_bytes = std::strtoull(total.c_str(), nullptr, 10) * 1024;
    machine.governor = first_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    // Raised here because children inherit it: every server of the run has the same.
    if (const auto limit = core::raise_descriptor_limit()) machine.descriptors_max = limit->after;
    return machine;
}

std::vector<unsigned> usable_cpus() {
    std::vector<unsigned> cpus;
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
#endif
    return cpus;
}

Placing place(const std::vector<unsigned>& cpus) {
    Placing placing;
    if (cpus.size() < 2) return placing;
    // The odd one is the load's: it has to be the faster side, or it is the load that is measured.
    const auto half = static_cast<std::ptrdiff_t>(cpus.size() / 2);
    placing.server.assign(cpus.begin(), cpus.begin() + half);
    placing.load.assign(cpus.begin() + half, cpus.end());
    return placing;
}

bool place_self(const std::vector<unsigned>& cpus) {
    if (cpus.empty()) return false;
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : cpus) CPU_SET(cpu, &set);
    return ::sched_setaffinity(0, sizeof set, &set) == 0;
#else
    return false;
#endif
}

}  // namespace tiderace::lab::run
