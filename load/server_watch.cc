#include "load/server_watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tiderace/base/ascii.h"

namespace tiderace::load {
namespace {

namespace fs = std::filesystem;

// The IPv4 address as /proc/net/tcp writes it ("0100007F"), "" for another family.
std::string hex_ip4(const core::Address& address) {
    sockaddr_storage storage;
    address.to_sockaddr(storage);
    if (storage.ss_family != AF_INET) return {};
    const core::Address::Ip& ip = address.ip();
    std::array<char, 9> hex;
    // In the byte order of the machine, little-endian here.
    std::snprintf(hex.data(), hex.size(), "%02X%02X%02X%02X", ip[15], ip[14], ip[13], ip[12]);
    return hex.data();
}

void collect_inodes(const std::string& path, const core::Address& address,
                    std::set<std::string>& inodes) {
    const std::string ip4 = hex_ip4(address);
    std::array<char, 5> port;
    std::snprintf(port.data(), port.size(), "%04X", unsigned{address.port()});
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string slot, local, peer, state, queues, timer, retransmits, user, timeout, inode;
        words >> slot >> local >> peer >> state >> queues >> timer >> retransmits >> user >>
            timeout >> inode;
        const std::size_t colon = local.find(':');
        // 0A is TCP_LISTEN; ports and addresses are hexadecimal.
        if (state != "0A" || colon == std::string::npos || local.substr(colon + 1) != port.data()) {
            continue;
        }
        const std::string at = local.substr(0, colon);
        const bool any = at.find_first_not_of('0') == std::string::npos;
        // An IPv6 address is not compared: one port is one server on the machines this is for.
        if (any || at == ip4 || (ip4.empty() && at.size() == 32)) inodes.insert(inode);
    }
}

// Called for the descriptors of all processes: at most one system call for each.
bool holds_one_of(const fs::path& process, const std::set<std::string>& inodes) {
    constexpr std::string_view before = "socket:[";
    std::error_code failure;
    std::array<char, 64> link;
    for (fs::directory_iterator fds(process / "fd", failure), end; !failure && fds != end;
         fds.increment(failure)) {
        const ssize_t bytes = ::readlink(fds->path().c_str(), link.data(), link.size());
        const std::string_view text(link.data(),
                                    static_cast<std::size_t>(std::max<ssize_t>(0, bytes)));
        if (!text.starts_with(before) || !text.ends_with(']')) continue;
        const std::string_view inode = text.substr(before.size(), text.size() - before.size() - 1);
        if (inodes.contains(std::string(inode))) return true;
    }
    return false;
}

std::vector<int> all_pids(const std::string& proc) {
    std::vector<int> pids;
    std::error_code failure;
    for (fs::directory_iterator all(proc, failure), end; !failure && all != end;
         all.increment(failure)) {
        const std::string name = all->path().filename();
        if (const auto pid = parse_number<int>(name)) pids.push_back(*pid);
    }
    std::ranges::sort(pids);
    return pids;
}

// The fields of /proc/PID/stat after the name, which stands in brackets and may hold anything; at
// the state, then. Nothing of a process that is gone.
std::istringstream stat_fields(const std::string& proc, int pid) {
    std::ifstream file(proc + "/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    return std::istringstream(name_end == std::string::npos ? "" : text.substr(name_end + 1));
}

bool is_dead(const std::string& state) {
    return state.empty() || state == "Z" || state == "X";  // not yet fetched by its parent
}

}  // namespace

std::vector<int> find_group(int group, const std::string& proc) {
    std::set<int> found;
    std::map<int, int> others;  // their parents
    for (const int pid : all_pids(proc)) {
        std::istringstream fields = stat_fields(proc, pid);
        std::string state;
        int parent = 0, its_group = 0;
        fields >> state >> parent >> its_group;
        if (is_dead(state)) continue;
        if (its_group == group) {
            found.insert(pid);
        } else {
            others.emplace(pid, parent);
        }
    }
    const auto was_started = [&](const auto& other) { return found.contains(other.second); };
    // Children that left the group still count, and so do theirs. Again from the start after each,
    // because a grandchild may have a lower number than its parent.
    for (auto at = std::ranges::find_if(others, was_started); at != others.end();
         at = std::ranges::find_if(others, was_started)) {
        found.insert(at->first);
        others.erase(at);
    }
    return {found.begin(), found.end()};
}

std::vector<int> find_listeners(const core::Address& address, const std::string& proc) {
    std::vector<int> pids;
    // The tables of TCP have no Unix sockets; --server-pid names the server instead.
    if (address.is_unix()) return pids;
    std::set<std::string> inodes;
    collect_inodes(proc + "/net/tcp", address, inodes);
    collect_inodes(proc + "/net/tcp6", address, inodes);
    // Nothing that we can see listens there (it may be in a container). Without an inode to look
    // for, the descriptors of all processes would be read for nothing.
    if (inodes.empty()) return pids;
    pids = all_pids(proc);
    std::erase_if(
        pids, [&](int pid) { return !holds_one_of(fs::path(proc) / std::to_string(pid), inodes); });
    return pids;
}

namespace {

// smaps_rollup is hidden from other users, and absent before Linux 4.14; any user may read statm.
std::uint64_t memory_of(const std::string& folder) {
    std::ifstream rollup(folder + "/smaps_rollup");
    for (std::string line; std::getline(rollup, line);) {
        // PSS counts a page that processes share once in all; without it, the resident size.
        if (!line.starts_with("Pss:")) continue;
        return std::strtoull(line.c_str() + 4, nullptr, 10) * 1'024;
    }
    std::ifstream statm(folder + "/statm");
    std::uint64_t size = 0, resident = 0;
    statm >> size >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Exact, where the kernel has a clock for each process.
std::optional<Duration> clock_of([[maybe_unused]] int pid) {
#if !defined(__APPLE__)
    clockid_t clock{};
    timespec used{};
    if (pid > 0 &&  // the clock of 0 is our own
        ::clock_getcpuclockid(pid, &clock) == 0 && ::clock_gettime(clock, &used) == 0) {
        return Duration(1s) * used.tv_sec + Duration(used.tv_nsec);
    }
#endif
    return {};
}

}  // namespace

std::optional<ServerUse> read_use(int pid, const std::string& proc) {
    std::istringstream fields = stat_fields(proc, pid);
    std::string state, passed_over;
    fields >> state;
    if (is_dead(state)) return {};
    // utime and stime are fields 14 and 15 of /proc/PID/stat; the state is the third.
    for (int i = 0; i < 10; ++i) fields >> passed_over;
    std::int64_t user = 0, system = 0;
    if (!(fields >> user >> system)) return {};
    ServerUse use{.cpu = Duration(1s) * (user + system) / ::sysconf(_SC_CLK_TCK),
                  .memory_bytes = memory_of(proc + "/" + std::to_string(pid)),
                  .processes = 1};
    // The fields count in ticks, mostly hundredths of a second, which is coarse for a short run.
    // Tests have a /proc of their own, whose numbers belong to no process.
    if (proc == "/proc") use.cpu = clock_of(pid).value_or(use.cpu);
    return use;
}

ServerUse read_use(std::span<const int> pids, const std::string& proc) {
    ServerUse sum;
    for (const int pid : pids) {
        const ServerUse use = read_use(pid, proc).value_or(ServerUse{});
        sum.cpu += use.cpu;
        sum.memory_bytes += use.memory_bytes;
        sum.processes += use.processes;
    }
    return sum;
}

// By the processes' clocks alone: the ticks of utime and stime are coarse for a cell of a second.
Duration read_cpu(std::span<const int> pids) {
    Duration sum = Duration::zero();
    for (const int pid : pids) sum += clock_of(pid).value_or(Duration::zero());
    return sum;
}

ServerWatch::ServerWatch(const core::Address& address, int pid, std::string proc)
    : address_(address), pid_(pid), proc_(std::move(proc)) {
    begin();
    for (auto& [id, seen] : seen_) seen.first = true;
    begun_ = true;
}

void ServerWatch::begin() {
    look();
    // CPU time from before is subtracted at the end.
    for (auto& [id, seen] : seen_) seen.before = seen.now;
}

// Which processes listen is found out once: it reads the descriptors of all processes, which would
// take CPU time from the run.
void ServerWatch::look() {
    read(begun_ ? std::vector<int>{} : find());
}

std::vector<int> ServerWatch::find() const {
    return pid_ > 0 ? std::vector<int>{pid_} : find_listeners(address_, proc_);
}

// Reads these processes and those seen earlier.
// A process that has ended keeps its last known use, because its time was spent for this run.
void ServerWatch::read(std::vector<int> pids) {
    for (const auto& [pid, seen] : seen_) {
        if (seen.alive && std::ranges::find(pids, pid) == pids.end()) pids.push_back(pid);
    }
    std::uint64_t memory = 0;
    alive_ = 0;
    for (const int pid : pids) {
        const auto use = read_use(pid, proc_);
        if (!use) {
            if (const auto gone = seen_.find(pid); gone != seen_.end()) gone->second.alive = false;
            continue;
        }
        seen_[pid].now = use->cpu;
        memory += use->memory_bytes;
        ++alive_;
    }
    // The most that was seen: a server that frees its buffers at the end did need them.
    memory_max_ = std::max(memory_max_, memory);
    // A worker may end and be replaced; the server has ended once all of the first processes have.
    ended_ = begun_ && !seen_.empty() && std::ranges::none_of(seen_, [](const auto& each) {
                 return each.second.alive && each.second.first;
             });
}

std::optional<ServerUse> ServerWatch::finish() {
    look();
    // Going through all processes of a machine costs. Others come only where some have ended.
    if (std::ranges::any_of(seen_, [](const auto& each) { return !each.second.alive; })) {
        read(find());
    }
    if (seen_.empty()) return {};
    ServerUse use{.memory_bytes = memory_max_, .processes = alive_};
    for (const auto& [pid, seen] : seen_) use.cpu += seen.now - seen.before;
    return use;
}

}  // namespace tiderace::load
