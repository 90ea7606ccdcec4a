// Program: one CGI program, started in a process group of its own, with pipes, limits and a clean
// environment.
//
//   start() -> running -> has_ended(): all of its group is killed, and it is reaped
//                      -> signal(SIGTERM), later kill_and_reap()
//
// Beside core::ChildProcess: it is started from a descriptor, with an input, with limits, and
// without copying our page tables (CLONE_VM and CLONE_VFORK on Linux, as posix_spawn does), because
// that is most of the cost of a small program.
//
// Owner    The caller. The destructor kills the processes that still run.
// Thread   One at a time. Linux kills the program when the *thread* that started it ends.
// Errors   start() fails when it cannot be executed, or for lack of descriptors or processes.
// Signals  It begins with none blocked and none ignored.
// Memory   Three pipes and a pidfd. Descriptors above 2 are not inherited.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/child_process.h"
#include "tiderace/core/kernel.h"

namespace tiderace::http::cgi {

// Limits that the kernel enforces (setrlimit). 0: not limited by us.
struct ProgramLimits {
    std::uint64_t memory_bytes_max = 512_MiB;  // of address space, of each process
    std::uint64_t cpu_seconds_max = 60;        // of each process
    std::uint64_t processes_max = 0;           // of the user, the server's included
    std::uint64_t file_bytes_max = 1_GiB;      // of a file that it writes
    std::uint64_t descriptors_max = 256;       // of each process
};

struct ProgramStart {
    int program = -1;        // the open file; borrowed
    int folder = -1;         // where it lies and starts; borrowed
    const char* name = "";   // in that folder
    bool is_script = false;  // begins with "#!": its interpreter opens it again, by its name
    char* const* arguments = nullptr;    // as execve takes them
    char* const* environment = nullptr;  // as execve takes them
    ProgramLimits limits;
};

class Program final {
  public:
    static Result<Program> start(const ProgramStart& start);
    ~Program();
    Program(Program&& other) noexcept;
    Program& operator=(Program&&) = delete;

    pid_t pid() const { return pid_; }
    // Readable when the program has ended; -1 where the system has no such thing, or it is reaped.
    int end_descriptor() const { return pidfd_.get(); }

    // Our ends of its pipes; they do not block. Reset to close one.
    core::Descriptor input;
    core::Descriptor output;
    core::Descriptor errors;

    // How it ended, if it has; the rest of its group is killed then.
    std::optional<core::ChildExit> has_ended();
    // To every process of its group; nothing once it has ended.
    void signal(int number);
    // SIGKILL to the group; returns when the program is reaped.
    void kill_and_reap();

  private:
    Program() = default;

    pid_t pid_ = -1;  // -1: moved away
    core::Descriptor pidfd_;
    std::optional<core::ChildExit> exit_;
};

}  // namespace tiderace::http::cgi
