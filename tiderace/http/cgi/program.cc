#include "tiderace/http/cgi/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>
#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "tiderace/base/check.h"
#include "tiderace/base/signals_blocked.h"

// The child runs on our memory until it executes: it makes system calls and nothing else, and no
// sanitizer may keep books of its stack. The thread sanitizer does not know such children at all.
#if defined(__clang__)
#define TR_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define TR_IN_CHILD __attribute__((no_sanitize("address,undefined")))
#endif
#if defined(__SANITIZE_THREAD__)
#define TR_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TR_THREAD_SANITIZER
#endif
#endif

namespace tiderace::http::cgi {
namespace {

constexpr std::size_t limits_most = 6;

// All that the child needs, made before it is.
struct Launch {
    const ProgramStart* start;
    int input;
    int output;
    int errors;
    pid_t parent;
    struct {
        int resource;
        rlimit limit;
    } limits[limits_most];
    std::size_t limits_count;
    sigset_t none;
    int error;      // what hindered it; written by a child that shares our memory
    int complaint;  // where it is written otherwise; -1: the memory is shared
};

void add_limit(Launch& launch, int resource, std::uint64_t most) {
    rlimit limit{};
    if (most == 0 || ::getrlimit(static_cast<decltype(RLIMIT_CORE)>(resource), &limit) != 0) return;
    // Never above what we have ourselves: raising a hard limit needs rights.
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most) limit.rlim_max = most;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most) limit.rlim_cur = most;
    launch.limits[launch.limits_count++] = {resource, limit};
}

void add_limits(Launch& launch, const ProgramLimits& limits) {
    add_limit(launch, RLIMIT_AS, limits.memory_bytes_max);
    add_limit(launch, RLIMIT_CPU, limits.cpu_seconds_max);
#if defined(RLIMIT_NPROC)
    add_limit(launch, RLIMIT_NPROC, limits.processes_max);
#endif
    add_limit(launch, RLIMIT_FSIZE, limits.file_bytes_max);
    add_limit(launch, RLIMIT_NOFILE, limits.descriptors_max);
    // A dump would hold the request, with its passwords.
    launch.limits[launch.limits_count++] = {RLIMIT_CORE, {0, 0}};
}

TR_IN_CHILD bool set_up(const Launch& launch) {
    // A group of its own, so that one signal also reaches the processes that it starts.
    ::setpgid(0, 0);
#if defined(__linux__)
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
    if (::getppid() != launch.parent) ::_exit(0);  // it died before this call
#endif
    if (::dup2(launch.input, 0) < 0 || ::dup2(launch.output, 1) < 0 ||
        ::dup2(launch.errors, 2) < 0 || ::fchdir(launch.start->folder) != 0) {
        return false;
    }
    for (std::size_t i = 0; i < launch.limits_count; ++i) {
        const auto resource = static_cast<decltype(RLIMIT_CORE)>(launch.limits[i].resource);
        if (::setrlimit(resource, &launch.limits[i].limit) != 0) return false;
    }
    // Before the mask is lifted: a handler of ours must not run in the child.
    struct sigaction defaults{};
    defaults.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) ::sigaction(number, &defaults, nullptr);
    return ::sigprocmask(SIG_SETMASK, &launch.none, nullptr) == 0;
}

// Marked, not closed: on Linux the program is executed from a descriptor, which must stay open
// until then.
TR_IN_CHILD void keep_no_descriptor() {
#if defined(__linux__) && defined(SYS_close_range)
    constexpr unsigned on_exec = 4;  // CLOSE_RANGE_CLOEXEC
    if (::syscall(SYS_close_range, 3U, ~0U, on_exec) == 0) return;
#endif
    const long limit = ::sysconf(_SC_OPEN_MAX);
    const int end = limit > 0 && limit < 65'536 ? static_cast<int>(limit) : 65'536;
    for (int fd = 3; fd < end; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

TR_IN_CHILD int become(void* with) {
    Launch& launch = *static_cast<Launch*>(with);
    const ProgramStart& start = *launch.start;
    if (set_up(launch)) {
        keep_no_descriptor();
#if defined(__linux__) && defined(SYS_execveat)
        // The file that was opened and checked, not whatever has its name now. A script needs its
        // name, which its interpreter opens.
        if (!start.is_script) {
            ::syscall(SYS_execveat, start.program, "", start.arguments, start.environment,
                      AT_EMPTY_PATH);
        }
        if (start.is_script || errno == ENOSYS)
#endif
            ::execve(start.arguments[0], start.arguments, start.environment);
    }
    launch.error = errno;
    if (launch.complaint >= 0) {
        static_cast<void>(::write(launch.complaint, &launch.error, sizeof launch.error) < 0);
    }
    ::_exit(127);
}

struct Born {
    pid_t pid = -1;
    int pidfd = -1;
};

#if defined(__linux__) && !defined(TR_THREAD_SANITIZER)
// The child's stack; one for each thread, because we sleep until the child has executed.
void* child_stack_top() {
    constexpr std::size_t bytes = 64_KiB;
    struct Stack {
        void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        ~Stack() {
            if (at != MAP_FAILED) ::munmap(at, bytes);
        }
    };
    thread_local Stack stack;
    return stack.at == MAP_FAILED ? nullptr : static_cast<char*>(stack.at) + bytes;
}

Born make_child(Launch& launch) {
    Born born;
    void* const top = child_stack_top();
    if (top == nullptr) return born;
    born.pid =
        ::clone(become, top, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &launch, &born.pidfd);
    return born;
}
#else
// Where the child has memory of its own, it writes to a pipe what hindered it.
Born make_child(Launch& launch) {
    Born born;
    Result<core::Pipe> complaint = core::Pipe::open();
    if (!complaint) return born;
    launch.complaint = complaint->writing.get();
    born.pid = ::fork();
    if (born.pid == 0) become(&launch);
    complaint->writing.reset();
    ssize_t got = 0;
    do {
        got =
            born.pid < 0 ? 0 : ::read(complaint->reading.get(), &launch.error, sizeof launch.error);
    } while (got < 0 && errno == EINTR);
#if defined(__linux__)
    if (born.pid > 0) born.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, born.pid, 0));
#endif
    return born;
}
#endif

// A signal that comes between clone and exec must not run a handler of ours in the child.
Born make_child_quietly(Launch& launch) {
    const SignalsBlocked blocked;
    errno = 0;
    return make_child(launch);
}

bool stop_blocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

pid_t reap(pid_t pid, int& status) {
    pid_t got = 0;
    do {
        got = ::waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    return got;
}

}  // namespace

//   parent  pipes, limits, signals blocked -> clone, sleeps (CLONE_VFORK) -> reads launch.error
//   child   become: group, pipes, limits, signals -> exec, or _exit
//
// With CLONE_VM no page table is copied, so the start costs the same however large the server is.
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
    Launch launch{};
    launch.start = &start;
    launch.input = in->reading.get();
    launch.output = out->writing.get();
    launch.errors = err->writing.get();
    launch.parent = ::getpid();
    launch.complaint = -1;
    sigemptyset(&launch.none);
    add_limits(launch, start.limits);

    const Born born = make_child_quietly(launch);
    if (born.pid < 0) return fail(Error::last("start", start.name));
    Program program;
    program.pid_ = born.pid;
    program.pidfd_ = core::Descriptor(core::system_kernel(), born.pidfd);
    ::setpgid(born.pid, born.pid);  // parent or child, whichever is first; fails after the exec
    // The child has ended; ~Program reaps it.
    if (launch.error != 0) return fail(Error(launch.error, "start", start.name));
    program.input = std::move(in->writing);
    program.output = std::move(out->reading);
    program.errors = std::move(err->reading);
    return program;
}

Program::Program(Program&& other) noexcept
    : input(std::move(other.input)),
      output(std::move(other.output)),
      errors(std::move(other.errors)),
      pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      exit_(other.exit_) {}

Program::~Program() {
    if (pid_ > 0) kill_and_reap();
}

std::optional<core::ChildExit> Program::has_ended() {
    TR_CHECK(pid_ > 0, "a program that was moved away");
    if (exit_) return exit_;
    siginfo_t info{};
    const int outcome =
        ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG);
    if (outcome == 0 && info.si_pid == pid_) kill_and_reap();
    return exit_;
}

void Program::signal(int number) {
    if (!has_ended()) ::kill(-pid_, number);
}

// The group is killed before its leader is reaped: until then no other group can have its number.
void Program::kill_and_reap() {
    if (exit_) return;
    ::kill(-pid_, SIGKILL);
    int status = 0;
    const bool reaped = reap(pid_, status) == pid_;
    if (reaped && WIFSIGNALED(status)) {
        exit_ = core::ChildExit{.by_signal = true, .number = WTERMSIG(status)};
    } else {
        exit_ = core::ChildExit{.number = reaped ? WEXITSTATUS(status) : 0};
    }
    pidfd_.reset();
}

}  // namespace tiderace::http::cgi
