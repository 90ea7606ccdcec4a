#include "tiderace/core/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <thread>
#if defined(__APPLE__)
#include <limits.h>
#include <mach-o/dyld.h>
#elif defined(__FreeBSD__)
#include <limits.h>
#include <sys/sysctl.h>
#elif defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/base/signals_blocked.h"
#include "tiderace/core/backend/poller.h"

extern char** environ;

namespace tiderace::core {
namespace {

using std::chrono::steady_clock;

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> out;
    out.reserve(words.size() + 1);
    for (std::string& word : words) out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

// Ours, with the added variables in place of others of the same name.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& added) {
    std::vector<std::string> all;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view entry = *at;
        const std::string_view name = entry.substr(0, entry.find('='));
        if (std::ranges::find(added, name, [](const auto& pair) { return pair.first; }) ==
            added.end()) {
            all.emplace_back(entry);
        }
    }
    for (const auto& [name, value] : added) all.push_back(name + '=' + value);
    return all;
}

// Everything the child needs, made before the fork: after it another thread's lock may be held for
// ever (malloc's, say), so the child only makes system calls.
//
//   parent                              child, alone with its one thread
//   fork  ---------------------------> group of its own, bound to the parent, 0 to 2 put in place,
//   reads the complaint pipe           folder, close-on-exec for the rest, clean signals, exec
//     its end: the exec closed it       `-- any step fails: errno into the pipe, exit 127
//     an errno: start() fails with it
//
struct Launch {
    const char* program;
    char* const* arguments;
    char* const* environment;
    const char* folder;  // or null
    int output;
    int errors;
    int nowhere;
    int complaint;  // the writing end of a pipe that closes when the program has begun
    int death_signal;
    pid_t parent;
#if defined(__linux__)
    cpu_set_t cpus;
    bool pinned;
#endif
};

// The child must not inherit ignored signals (SIGPIPE) or blocked ones: exec keeps both.
void start_with_clean_signals() {
    struct sigaction defaults{};
    defaults.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) ::sigaction(number, &defaults, nullptr);
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// dup2() of a descriptor onto itself would leave the close-on-exec mark, so each goes through a
// fresh number first.
bool put_in_place(const Launch& launch) {
    const int out = ::fcntl(launch.output >= 0 ? launch.output : launch.nowhere, F_DUPFD, 3);
    const int err = ::fcntl(launch.errors >= 0 ? launch.errors : launch.nowhere, F_DUPFD, 3);
    const int in = ::fcntl(launch.nowhere, F_DUPFD, 3);
    if (out < 0 || err < 0 || in < 0) return false;
    if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) return false;
    for (const int spare : {in, out, err}) ::close(spare);
    return true;
}

void keep_no_descriptor() {
#if defined(SYS_close_range) && defined(__linux__)
    constexpr unsigned on_exec = 4;  // CLOSE_RANGE_CLOEXEC: the complaint is still needed
    if (::syscall(SYS_close_range, 3U, ~0U, on_exec) == 0) return;
#endif
    // Without close_range(): each possible number, up to a bound that keeps the start fast.
    const long limit = ::sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < std::min(limit, 65'536L); ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// In the child, because prctl() speaks of its caller only. The exec keeps the death signal, except
// where the program is set-user-ID (prctl(2)).
bool bind_to_parent(const Launch& launch) {
#if defined(__linux__)
    if (launch.pinned && ::sched_setaffinity(0, sizeof launch.cpus, &launch.cpus) != 0)
        return false;
    if (launch.death_signal == 0) return true;
    if (::prctl(PR_SET_PDEATHSIG, launch.death_signal) != 0) return false;
    if (::getppid() != launch.parent) ::_exit(0);  // it died before this call
#endif
    return launch.parent > 0;
}

// In the child. A failure is written to the pipe as its errno, because only exec could report it
// otherwise.
[[noreturn]] void become(const Launch& launch) {
    // A group of its own, so that end() also reaches its children, and Ctrl-C in our terminal does
    // not.
    ::setpgid(0, 0);
    if (bind_to_parent(launch) && put_in_place(launch) &&
        (launch.folder == nullptr || ::chdir(launch.folder) == 0)) {
        keep_no_descriptor();
        start_with_clean_signals();
        // Returns only on failure.
        ::execve(launch.program, launch.arguments, launch.environment);
    }
    // The failed call's: the chain of conditions stops there.
    const int error = errno;
    static_cast<void>(::write(launch.complaint, &error, sizeof error) < 0);
    ::_exit(127);
}

pid_t fork_quietly(const Launch& launch) {
    // A signal that comes between fork and exec must not run a handler of ours in the child.
    const SignalsBlocked blocked;
    const pid_t pid = ::fork();
    if (pid == 0) become(launch);
    return pid;
}

void pin(Launch& launch, const std::vector<unsigned>& cpus) {
#if defined(__linux__)
    CPU_ZERO(&launch.cpus);
    for (const unsigned cpu : cpus) CPU_SET(cpu, &launch.cpus);
    launch.pinned = !cpus.empty();
#else
    static_cast<void>(launch);
    static_cast<void>(cpus);
#endif
}

// A folder also passes access(X_OK), and exec of one would report "permission denied".
bool can_be_executed(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

// Waits until the process has ended, without taking its status; up to `until`.
void wait_for_end(pid_t pid, std::optional<steady_clock::time_point> until) {
    const auto left = [&] {
        return until ? std::max(*until - steady_clock::now(), Duration::zero()) : Duration(-1);
    };
#if defined(SYS_pidfd_open)
    const int watched = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (watched >= 0) {
        pollfd asked{.fd = watched, .events = POLLIN, .revents = 0};
        int outcome = 0;
        do {
            outcome = ::poll(&asked, 1, timeout_ms(left()));
        } while (outcome == 0 ? left() != Duration::zero() : outcome < 0 && errno == EINTR);
        ::close(watched);
        return;
    }
// Without pidfd_open() (Linux before 5.3, other systems) we poll.
#endif
    while (left() != Duration::zero()) {
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
            info.si_pid == pid) {
            return;
        }
        std::this_thread::sleep_for(2ms);
    }
}

}  // namespace

std::string ChildExit::text() const {
    return (by_signal ? "was ended by signal " : "ended with status ") + std::to_string(number);
}

std::optional<std::string> find_program(std::string_view name) {
    if (name.empty()) return std::nullopt;
    if (name.find('/') != std::string_view::npos) {
        std::string path(name);
        return can_be_executed(path) ? std::optional(std::move(path)) : std::nullopt;
    }
    const char* path = std::getenv("PATH");
    std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    // Servers live in sbin, which is not in every user's PATH.
    folders += ":/usr/local/sbin:/usr/sbin:/sbin";
    for (const auto part : std::views::split(folders, ':')) {
        const std::string_view folder(part.begin(), part.end());
        std::string candidate(folder.empty() ? "." : folder);
        candidate.append("/").append(name);
        if (can_be_executed(candidate)) return candidate;
    }
    return std::nullopt;
}

std::optional<std::string> own_folder() {
    std::error_code fault;
#if defined(__APPLE__)
    char path[PATH_MAX];
    std::uint32_t bytes = sizeof path;
    if (::_NSGetExecutablePath(path, &bytes) != 0) return std::nullopt;
    const auto program = std::filesystem::canonical(path, fault);
#elif defined(__FreeBSD__)
    char path[PATH_MAX];
    std::size_t bytes = sizeof path;
    const int question[] = {CTL_KERN, KERN_PROC, KERN_PROC_PATHNAME, -1};
    if (::sysctl(question, 4, path, &bytes, nullptr, 0) != 0) return std::nullopt;
    const std::filesystem::path program(path);
#else
    const auto program = std::filesystem::read_symlink("/proc/self/exe", fault);
#endif
    return fault ? std::nullopt : std::optional(program.parent_path().string());
}

Result<Pipe> Pipe::open() {
    int ends[2];
#if defined(__APPLE__)
    if (::pipe(ends) != 0) return fail(Error::last("make", "a pipe"));
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#else
    // In one step: a program that another thread starts meanwhile must not inherit it.
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::last("make", "a pipe"));
#endif
    Pipe made{Descriptor(system_kernel(), ends[0]), Descriptor(system_kernel(), ends[1])};
    for (Descriptor* end : {&made.reading, &made.writing}) {
        if (end->get() > 2) continue;
        // Out of the way of 0 to 2, should those be closed in this process.
        const int moved = ::fcntl(end->get(), F_DUPFD_CLOEXEC, 3);
        if (moved < 0) return fail(Error::last("make", "a pipe"));
        *end = Descriptor(system_kernel(), moved);
    }
    return made;
}

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
    TR_CHECK(!options.arguments.empty(), "a child without a program");
    std::vector<std::string> words = options.arguments;
    const auto program = find_program(words.front());
    if (!program) return fail(Error(ENOENT, "start", words.front(), "is it installed?"));
    std::vector<std::string> settings = environment_with(options.environment);
    const std::vector<char*> arguments = pointers_to(words);
    const std::vector<char*> environment = pointers_to(settings);

    Result<Pipe> complaint = Pipe::open();
    if (!complaint) return fail(complaint.error());
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) return fail(Error::last("open", "/dev/null"));
    Launch launch{};
    launch.program = program->c_str();
    launch.arguments = arguments.data();
    launch.environment = environment.data();
    launch.folder = options.folder.empty() ? nullptr : options.folder.c_str();
    launch.output = options.output;
    launch.errors = options.errors;
    launch.nowhere = nowhere;
    launch.complaint = complaint->writing.get();
    launch.death_signal = options.death_signal;
    launch.parent = ::getpid();
    pin(launch, options.cpus);

    const pid_t pid = fork_quietly(launch);
    const int fork_error = errno;
    ::close(nowhere);
    if (pid < 0) return fail(Error(fork_error, "fork", *program));
    // In both, so that the group exists before either of them goes on: end() signals the group.
    ::setpgid(pid, pid);  // parent or child, whichever is first; fails after the exec
    // Our copy of the writing end must be closed, or the read below would wait for ever. The
    // child's closes with its exec: no bytes mean that the program runs.
    complaint->writing.reset();
    int error = 0;
    ssize_t told = 0;
    do {
        told = ::read(complaint->reading.get(), &error, sizeof error);
    } while (told < 0 && errno == EINTR);
    ChildProcess child(pid);
    if (told == static_cast<ssize_t>(sizeof error)) return fail(Error(error, "start", *program));
    return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_(other.exit_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
    if (this != &other) {
        if (pid_ > 0) end(Duration::zero());
        pid_ = std::exchange(other.pid_, -1);
        exit_ = other.exit_;
    }
    return *this;
}

ChildProcess::~ChildProcess() {
    if (pid_ > 0) end(Duration::zero());
}

// The group is killed before its leader is reaped, because until then its number cannot be reused.
void ChildProcess::reap() {
    // Also after a program that ended in order, because its own children may still run.
    ::kill(-pid_, SIGKILL);
    int status = 0;
    pid_t got = 0;
    do {
        got = ::waitpid(pid_, &status, 0);
    } while (got < 0 && errno == EINTR);
    if (got == pid_ && WIFSIGNALED(status)) {
        exit_ = ChildExit{.by_signal = true, .number = WTERMSIG(status)};
    } else {
        exit_ = ChildExit{.number = got == pid_ ? WEXITSTATUS(status) : 0};
    }
}

std::optional<ChildExit> ChildProcess::exit() {
    TR_CHECK(pid_ > 0, "a child that was moved away");
    if (exit_) return exit_;
    siginfo_t info{};
    const int outcome =
        ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG);
    if (outcome == 0 && info.si_pid == pid_) reap();
    return exit_;
}

std::optional<ChildExit> ChildProcess::wait(Duration wait_max) {
    if (exit() || wait_max == Duration::zero()) return exit_;
    std::optional<steady_clock::time_point> until;
    if (wait_max > Duration::zero()) until = moment_after(steady_clock::now(), wait_max);
    wait_for_end(pid_, until);
    return exit();
}

void ChildProcess::signal(int number) {
    if (!exit()) ::kill(-pid_, number);
}

ChildExit ChildProcess::end(Duration patience) {
    if (exit()) return *exit_;
    if (patience > Duration::zero()) {
        signal(SIGTERM);
        if (wait(patience)) return *exit_;
    }
    reap();
    return *exit_;
}

}  // namespace tiderace::core
