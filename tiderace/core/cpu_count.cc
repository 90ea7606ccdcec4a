#include "tiderace/core/cpu_count.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#if defined(__linux__)
#include <sched.h>
#elif defined(__FreeBSD__)
#include <sys/cpuset.h>
#include <sys/param.h>
#endif

#include "tiderace/base/ascii.h"

namespace tiderace::core {
namespace {

namespace fs = std::filesystem;
using Quota = std::optional<double>;

// The smaller of two quotas; an absent one is no limit.
Quota tighter(Quota a, Quota b) {
    if (!a || !b) return a ? a : b;
    return std::min(*a, *b);
}

std::string first_line(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

std::optional<double> parse_positive(std::string_view text) {
    const auto number = parse_number<long long>(text);
    if (!number || *number <= 0) return std::nullopt;
    return static_cast<double>(*number);
}

// Microseconds of CPU time per period. "max" and "-1" are not positive: no quota.
Quota share(std::string_view quota_us, std::string_view period_us) {
    const auto quota = parse_positive(quota_us);
    const auto period = parse_positive(period_us);
    if (!quota || !period) return std::nullopt;
    return *quota / *period;
}

// cgroup v2: "200000 100000" or "max 100000".
Quota quota_v2(const fs::path& group) {
    const std::string line = first_line(group / "cpu.max");
    const std::size_t space = line.find(' ');
    if (space == line.npos) return std::nullopt;
    return share(std::string_view(line).substr(0, space), std::string_view(line).substr(space + 1));
}

// v1 has a file for each number; -1 stands for no quota.
Quota quota_v1(const fs::path& group) {
    return share(first_line(group / "cpu.cfs_quota_us"), first_line(group / "cpu.cfs_period_us"));
}

// Every group from `group` up to the mount imposes its own quota. In a container, the mount often
// is our group itself and `group` a path of the host's, which does not exist here.
Quota tightest_on_the_way_up(const fs::path& mount, const fs::path& group,
                             Quota (*read)(const fs::path&)) {
    Quota quota = read(mount);
    fs::path reached = mount;
    for (const fs::path& part : group.relative_path()) {
        if (part == "..") break;  // our group is outside of what is mounted here
        reached /= part;
        quota = tighter(quota, read(reached));
    }
    return quota;
}

bool lists_cpu(std::string_view controllers) {
    while (!controllers.empty()) {
        const std::size_t comma = std::min(controllers.find(','), controllers.size());
        if (controllers.substr(0, comma) == "cpu") return true;
        controllers.remove_prefix(std::min(comma + 1, controllers.size()));
    }
    return false;
}

// Lines of proc/self/cgroup: "0::/group" (v2), "4:cpu,cpuacct:/group" (v1).
Quota cgroup_quota(const fs::path& root) {
    const fs::path mounts = root / "sys/fs/cgroup";
    std::ifstream in(root / "proc/self/cgroup");
    Quota quota;
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const fs::path group = line.substr(second + 1);
        if (controllers.empty()) {
            quota = tighter(quota, tightest_on_the_way_up(mounts, group, quota_v2));
            // A hybrid system has v2 there, beside the controllers of v1.
            quota = tighter(quota, tightest_on_the_way_up(mounts / "unified", group, quota_v2));
        } else if (lists_cpu(controllers)) {
            // Mounted by its list of controllers, or under one of its names.
            quota = tighter(quota, tightest_on_the_way_up(mounts / controllers, group, quota_v1));
            quota = tighter(quota, tightest_on_the_way_up(mounts / "cpu", group, quota_v1));
        }
    }
    return quota;
}

std::size_t affinity() {
#if defined(__linux__)
    // The kernel refuses a mask smaller than its own, so we try larger ones.
    for (std::size_t cpus = 1'024; cpus <= 1'024 * 1'024; cpus *= 2) {
        std::vector<cpu_set_t> mask((cpus + CPU_SETSIZE - 1) / CPU_SETSIZE);
        const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
        if (::sched_getaffinity(0, bytes, mask.data()) == 0) {
            return static_cast<std::size_t>(std::max(CPU_COUNT_S(bytes, mask.data()), 1));
        }
    }
#elif defined(__FreeBSD__)
    cpuset_t mask;
    if (::cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_PID, -1, sizeof mask, &mask) == 0) {
        return static_cast<std::size_t>(std::max(CPU_COUNT(&mask), 1));
    }
#endif
    return std::max(std::thread::hardware_concurrency(), 1U);
}

}  // namespace

CpuCount count_cpus(const fs::path& root) {
    CpuCount count;
    count.affinity = affinity();
    count.usable = count.affinity;
    count.quota = cgroup_quota(root);
    if (count.quota && *count.quota < static_cast<double>(count.affinity)) {
        // Rounded up, because an idle half of a CPU is a waste; the quota itself still limits us.
        count.usable = std::max<std::size_t>(static_cast<std::size_t>(std::ceil(*count.quota)), 1);
    }
    return count;
}

}  // namespace tiderace::core
