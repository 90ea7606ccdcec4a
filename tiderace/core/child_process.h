// Internal. ChildProcess: another program, started in a process group of its own, watched, and
// ended with all that it started.
//
//   start() -> running -> ended by itself, or by end(): TERM to the group, after a while KILL
//
// Owner    The caller. Its destructor kills the processes that still run.
// Thread   One at a time. Linux kills the child with the *thread* that started it, so that no child
//          outlives a program that crashed: start it on a thread that stays.
// Errors   start() fails when there is no such program, or it cannot be executed; its later fate is
//          a ChildExit.
// Signals  The child begins with none blocked and none ignored, and catches none of ours.
// Memory   A pidfd on Linux. Descriptors above 2 are never inherited. On Linux our page tables are
//          not copied (CLONE_VM and CLONE_VFORK, as posix_spawn does), because that is most of the
//          cost of a small program.
// Keywords: fork, exec, process group, SIGKILL
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/kernel.h"

namespace tiderace::core {

// Closed in a program that is started, unless given to it as its output.
struct Pipe {
    static Result<Pipe> open();

    Descriptor reading;
    Descriptor writing;
};

struct ChildOptions {
    // The first is the program: a path, or a name that find_program() resolves.
    std::vector<std::string> arguments;
    // Added to our environment, or in place of variables of the same name.
    std::vector<std::pair<std::string, std::string>> environment;
    // Its standard output and error, borrowed during start(). -1: nowhere. It has no input.
    int output = -1;
    int errors = -1;
    std::vector<unsigned> cpus;  // it and its children run only there (Linux); empty: anywhere
    // The signal it gets when we die without ending it (Linux); 0: none. SIGTERM for a program that
    // has to end children of its own.
    int death_signal = SIGKILL;
};

struct ChildLimit {
    int resource;  // of setrlimit(2)
    rlimit limit;
};

// For one that knows all of it: descriptors, limits, words as execve(2) takes them. Borrowed.
struct ChildLaunch {
    const char* path = "";
    int program = -1;  // the open file, executed whatever has its name now (Linux); -1: by its path
    char* const* arguments = nullptr;
    char* const* environment = nullptr;
    int folder = -1;  // it starts there; -1: where we are
    int input = -1;
    int output = -1;
    int errors = -1;
    std::span<const ChildLimit> limits = {};
    std::span<const unsigned> cpus = {};
    int death_signal = SIGKILL;
};

struct ChildExit {
    bool by_signal = false;
    int number = 0;  // the exit status, or the signal

    bool ok() const { return !by_signal && number == 0; }
    // "ended with status 3", "was ended by signal 9".
    std::string text() const;

    bool operator==(const ChildExit&) const = default;
};

class ChildProcess final {
  public:
    static Result<ChildProcess> start(const ChildOptions& options);
    static Result<ChildProcess> start(const ChildLaunch& launch);
    // end(Duration::zero()).
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&& other) noexcept;

    // Its process and its group have this number.
    pid_t pid() const { return pid_; }
    // Readable when it has ended; -1 where the system has no such thing, or it is reaped.
    int end_descriptor() const { return pidfd_.get(); }

    // How it ended, if it has. The rest of its process group is killed then.
    std::optional<ChildExit> exit();
    // The same, after waiting up to `wait_max` (negative: for ever).
    std::optional<ChildExit> wait(Duration wait_max);
    // To every process of its group; nothing once it has ended.
    void signal(int number);
    // SIGTERM to its group and, after `patience`, SIGKILL. Returns when the child has ended.
    ChildExit end(Duration patience);

  private:
    ChildProcess(pid_t pid, int pidfd) : pid_(pid), pidfd_(system_kernel(), pidfd) {}

    void reap();
    void wait_for_end(Duration wait_max);

    pid_t pid_ = -1;  // -1: moved away
    Descriptor pidfd_;
    std::optional<ChildExit> exit_;
};

// The path of a program: `name` itself if it holds a slash, otherwise the first of that name in
// PATH or in /usr/local/sbin, /usr/sbin and /sbin, where servers often are. It can be executed.
std::optional<std::string> find_program(std::string_view name);
// The folder of the running program; empty if the system does not report it.
std::optional<std::string> own_folder();

}  // namespace tiderace::core
