// Program: one CGI program, started in a process group of its own, with pipes, limits and a clean
// environment.
//
//   start() -> running -> process.exit(): all of its group is killed, and it is reaped
//                      -> process.signal(SIGTERM), later process.end()
//
// Owner    The caller. The destructor kills the processes that still run.
// Thread   One at a time. Linux kills the program when the *thread* that started it ends.
// Errors   start() fails when it cannot be executed, or for lack of descriptors or processes.
// Memory   Three pipes and a pidfd.
#pragma once

#include <cstdint>

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

struct Program {
    static Result<Program> start(const ProgramStart& start);

    core::ChildProcess process;
    // Our ends of its pipes; they do not block. Reset to close one.
    core::Descriptor input;
    core::Descriptor output;
    core::Descriptor errors;
};

}  // namespace tiderace::http::cgi
