// Server watch: which processes of this machine listen at an address, and what they use. From /proc
// (Linux); elsewhere nothing is found.
//
// Thread   Any; each call reads anew.
// Errors   What cannot be read (another user's process) counts as not there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/core/address.h"

namespace tiderace::load {

struct ServerUse {
    Duration cpu = Duration::zero();  // user and system, since each process began
    std::uint64_t memory_bytes = 0;   // PSS: a page that n processes share is 1/n in each; where
                                      // that cannot be read, all that is resident
    std::size_t processes = 0;        // that could be read
};

// In order. `proc`: the system's process information; a test passes a folder of its own.
std::vector<int> find_listeners(const core::Address& address, const std::string& proc = "/proc");
// The processes of a process group and their descendants, which may have left it; in order.
std::vector<int> find_group(int group, const std::string& proc = "/proc");

// One process; nothing when it is not there (any more). CPU is exact in the system's own /proc, in
// steps of 10 ms elsewhere.
std::optional<ServerUse> read_use(int pid, const std::string& proc = "/proc");
// The sum over the processes that still run.
ServerUse read_use(std::span<const int> pids, const std::string& proc = "/proc");
// Their exact CPU time only. Reading memory stops a process for a moment: not while it is measured.
// Includes threads that have ended, because a server with a thread for each connection would
// otherwise look cheap.
Duration read_cpu(std::span<const int> pids);

// The processes of one server over a run. Some may end meanwhile and others begin.
class ServerWatch {
  public:
    // Watches `pid` or, when it is 0, all processes that listen at `address`: a master and its
    // workers hold the same listener, or one each.
    ServerWatch(const core::Address& address, int pid, std::string proc = "/proc");

    // CPU time counts from here on, and not from the construction.
    void begin();
    // As often as one likes: what ended between two looks is counted up to the last one.
    void look();
    // Looks once more. CPU since the construction or begin(), the most memory seen at one time,
    // processes at the end. Nothing: there was no server to be seen.
    std::optional<ServerUse> finish();
    // All processes found at the start have ended.
    bool ended() const { return ended_; }

  private:
    struct Seen {
        Duration before = Duration::zero();
        Duration now = Duration::zero();
        bool alive = true;
        bool first = false;  // it was there at the beginning
    };

    std::vector<int> find() const;
    void read(std::vector<int> pids);

    core::Address address_;
    int pid_;
    std::string proc_;
    std::map<int, Seen> seen_;
    std::uint64_t memory_max_ = 0;
    std::size_t alive_ = 0;
    bool begun_ = false;
    bool ended_ = false;
};

}  // namespace tiderace::load
