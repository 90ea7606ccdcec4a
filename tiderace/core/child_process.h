// ChildProcess: another program, started in a process group of its own, watched, and ended with all
// that it started.
//
//   start() -> running -> ended by itself, or by end(): TERM to the group, after a while KILL
//
// Owner    Whoever started it. Its destructor kills what still runs.
// Thread   One at a time. Linux kills the child with the *thread* that started it, so that no child
//          outlives a program that crashed: start it on a thread that stays.
// Errors   start() fails when there is no such program, or it cannot be executed; what the program
//          does later is a ChildExit.
// Signals  The child begins with none blocked and none ignored, and catches none of ours.
// Memory   Descriptors above 2 are not inherited, whoever opened them.
#pragma once

#include <sys/types.h>

#include <optional>
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
    // The first is the program: a path, or a name that is looked for as find_program() does.
    std::vector<std::string> arguments;
    // Beside ours, or in place of what has the same name.
    std::vector<std::pair<std::string, std::string>> environment;
    std::string folder;  // it starts there; empty: where we are
    // Its standard output and error, borrowed during start(). -1: nowhere. It has no input.
    int output = -1;
    int errors = -1;
    std::vector<unsigned> cpus;  // it and its children run only there (Linux); empty: anywhere
    // What it gets when we die without ending it (Linux); 0: nothing. SIGTERM for a program that
    // has to end children of its own.
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
    // end(Duration::zero()).
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&& other) noexcept;

    // Its process and its group have this number.
    pid_t pid() const { return pid_; }

    // How it ended, if it has. What it left behind in its group is killed then.
    std::optional<ChildExit> exit();
    // The same, after waiting up to `wait_max` (negative: for ever).
    std::optional<ChildExit> wait(Duration wait_max);
    // To every process of its group; nothing once it has ended.
    void signal(int number);
    // TERM to its group; whoever is left after `patience` is killed. Returns when it is gone.
    ChildExit end(Duration patience);

  private:
    explicit ChildProcess(pid_t pid) : pid_(pid) {}

    void reap();

    pid_t pid_ = -1;  // -1: moved away
    std::optional<ChildExit> exit_;
};

// Where a program is: `name` itself if it holds a slash, otherwise the first of that name in PATH
// or, for servers are often there, in /usr/local/sbin, /usr/sbin and /sbin. It can be executed.
std::optional<std::string> find_program(std::string_view name);
// Where the program is that runs; nothing where the system does not say.
std::optional<std::string> own_folder();

}  // namespace tiderace::core
