#include "tiderace/http/cgi/program.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tiderace::http::cgi {
namespace {

using Limits = std::vector<core::ChildLimit>;

void add_limit(Limits& limits, int resource, std::uint64_t most) {
    rlimit limit{};
    if (most == 0 || ::getrlimit(static_cast<decltype(RLIMIT_CORE)>(resource), &limit) != 0) return;
    // Never above what we have ourselves: raising a hard limit needs rights.
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most) limit.rlim_max = most;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most) limit.rlim_cur = most;
    limits.push_back({resource, limit});
}

Limits limits_of(const ProgramLimits& wanted) {
    Limits limits;
    add_limit(limits, RLIMIT_AS, wanted.memory_bytes_max);
    add_limit(limits, RLIMIT_CPU, wanted.cpu_seconds_max);
#if defined(RLIMIT_NPROC)
    add_limit(limits, RLIMIT_NPROC, wanted.processes_max);
#endif
    add_limit(limits, RLIMIT_FSIZE, wanted.file_bytes_max);
    add_limit(limits, RLIMIT_NOFILE, wanted.descriptors_max);
    // A dump would hold the request, with its passwords.
    limits.push_back({RLIMIT_CORE, {0, 0}});
    return limits;
}

bool stop_blocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

Result<Program> Program::start(const ProgramStart& start) {
    Result<core::Pipe> in = core::Pipe::open();
    if (!in) return fail(in.error());
    Result<core::Pipe> out = core::Pipe::open();
    if (!out) return fail(out.error());
    Result<core::Pipe> err = core::Pipe::open();
    if (!err) return fail(err.error());
    // Our ends only: a program expects its standard streams to block.
    for (const int fd : {in->writing.get(), out->reading.get(), err->reading.get()}) {
        if (!stop_blocking(fd)) return fail(Error::last("make", "a pipe"));
    }
    const Limits limits = limits_of(start.limits);
    // The file that was opened and checked, not whatever has its name now. A script needs its name,
    // which its interpreter opens.
    auto process = core::ChildProcess::start({.path = start.arguments[0],
                                              .program = start.is_script ? -1 : start.program,
                                              .arguments = start.arguments,
                                              .environment = start.environment,
                                              .folder = start.folder,
                                              .input = in->reading.get(),
                                              .output = out->writing.get(),
                                              .errors = err->writing.get(),
                                              .limits = limits});
    if (!process) return fail(Error(process.error().code(), "start", start.name));
    return Program{.process = std::move(*process),
                   .input = std::move(in->writing),
                   .output = std::move(out->reading),
                   .errors = std::move(err->reading)};
}

}  // namespace tiderace::http::cgi
