#include "tiderace/metrics/process.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "tiderace/metrics/own_cpu.h"

namespace tiderace::metrics {
namespace {

double now(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void add_memory(Page& page) {
    std::uint64_t all = 0, resident = 0;
    if (!(std::ifstream("/proc/self/statm") >> all >> resident)) return;
    const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    page.begin(Type::gauge, "process_resident_memory_bytes", "Resident memory size in bytes.");
    page.value({}, resident * page_bytes);
}

void add_start(Page& page) {
    std::ifstream file("/proc/self/stat");
    std::string text;
    if (!std::getline(file, text)) return;
    // The name in parentheses may have spaces; its time is the 20th word behind it.
    std::istringstream words(text.substr(text.rfind(')') + 1));
    std::string word;
    for (int i = 0; i < 20; ++i) words >> word;
    const double ticks = std::strtod(word.c_str(), nullptr);
    const double since_boot = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
    page.begin(Type::gauge, "process_start_time_seconds",
               "Start time of the process since unix epoch in seconds.");
    page.value({}, now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC) + since_boot);
}

void add_descriptors(Page& page) {
    std::error_code fault;
    std::uint64_t open = 0;
    for (std::filesystem::directory_iterator each("/proc/self/fd", fault), end;
         !fault && each != end; each.increment(fault)) {
        ++open;
    }
    if (open > 0) {
        page.begin(Type::gauge, "process_open_fds", "Number of open file descriptors.");
        page.value({}, open);
    }
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    page.begin(Type::gauge, "process_max_fds", "Maximum number of open file descriptors.");
    page.value({}, static_cast<std::uint64_t>(limit.rlim_cur));
}

}  // namespace

void add_process(Page& page) {
    page.begin(Type::counter, "process_cpu_seconds_total",
               "Total user and system CPU time spent in seconds.");
    page.value({}, std::chrono::duration<double>(own_process_cpu()).count());
    add_memory(page);
    add_start(page);
    add_descriptors(page);
}

}  // namespace tiderace::metrics
