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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/base/signals_blocked.h"
#include "tiderace/core/backend/poller.h"

extern char** environ;

// The child runs on our memory until it executes: no sanitizer may keep books of its stack. The
// thread sanitizer does not know such children at all.
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

// All that the child needs, made before it is: it makes system calls and nothing else, because
// another thread's lock (malloc's, say) may be held for ever in it.
//
//   parent  signals blocked -> clone, sleeps until the exec (CLONE_VFORK) -> reads launch.error
//   child   become: group, death signal, 0 to 2, folder, limits, close-on-exec, signals -> exec
//             any step fails: errno into launch.error, exit 127
struct Launch {
    const ChildLaunch& child;
    pid_t parent = ::getpid();
    int error = 0;       // what hindered it; written by a child that shares our memory
    int complaint = -1;  // where it is written otherwise
    const ChildLimit* limits = child.limits.data();
    std::size_t limits_count = child.limits.size();
#if defined(__linux__)
    bool pinned = !child.cpus.empty();
    cpu_set_t cpus = {};
#endif
};

// In the child, because prctl() speaks of its caller only. The exec keeps the death signal, except
// where the program is set-user-ID (prctl(2)).
TR_IN_CHILD bool bind_to_parent(const Launch& launch) {
    // A group of its own, so that one signal also reaches the processes that it starts, and Ctrl-C
    // in our terminal does not.
    ::setpgid(0, 0);
#if defined(__linux__)
    if (launch.pinned && ::sched_setaffinity(0, sizeof launch.cpus, &launch.cpus) != 0)
        return false;
    if (launch.child.death_signal == 0) return true;
    if (::prctl(PR_SET_PDEATHSIG, launch.child.death_signal) != 0) return false;
    if (::getppid() != launch.parent) ::_exit(0);  // it died before this call
#endif
    return launch.parent > 0;
}

// A descriptor of 0 to 2 goes through a fresh number first: dup2() onto itself would leave its
// close-on-exec mark, and onto another one would close what is still needed.
TR_IN_CHILD bool put_in_place(const ChildLaunch& child) {
    int fds[] = {child.input, child.output, child.errors};
    for (int& fd : fds) {
        if (fd <= 2) fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0) return false;
    }
    for (int stream = 0; stream <= 2; ++stream) {
        if (::dup2(fds[stream], stream) < 0) return false;
    }
    return child.folder < 0 || ::fchdir(child.folder) == 0;
}

TR_IN_CHILD bool set_limits(const Launch& launch) {
    for (std::size_t i = 0; i < launch.limits_count; ++i) {
        const ChildLimit& each = launch.limits[i];
        const auto resource = static_cast<decltype(RLIMIT_CORE)>(each.resource);
        if (::setrlimit(resource, &each.limit) != 0) return false;
    }
    return true;
}

// Marked, not closed: on Linux the program may be executed from a descriptor, which must stay open
// until then, and so must the complaint.
TR_IN_CHILD void keep_no_descriptor() {
#if defined(__linux__) && defined(SYS_close_range)
    constexpr unsigned on_exec = 4;  // CLOSE_RANGE_CLOEXEC
    if (::syscall(SYS_close_range, 3U, ~0U, on_exec) == 0) return;
#endif
    // Without close_range(): each possible number, up to a bound that keeps the start fast.
    const long limit = ::sysconf(_SC_OPEN_MAX);
    const int end = limit > 0 && limit < 65'536 ? static_cast<int>(limit) : 65'536;
    for (int fd = 3; fd < end; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// The child must not inherit ignored signals (SIGPIPE) or blocked ones: exec keeps both. The mask
// is lifted last: a handler of ours must not run in the child.
TR_IN_CHILD void start_with_clean_signals() {
    struct sigaction defaults{};
    defaults.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) ::sigaction(number, &defaults, nullptr);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

TR_IN_CHILD int become(void* with) {
    Launch& launch = *static_cast<Launch*>(with);
    const ChildLaunch& child = launch.child;
    if (bind_to_parent(launch) && put_in_place(child) && set_limits(launch)) {
        keep_no_descriptor();
        start_with_clean_signals();
#if defined(__linux__) && defined(SYS_execveat)
        if (child.program >= 0) {
            ::syscall(SYS_execveat, child.program, "", child.arguments, child.environment,
                      AT_EMPTY_PATH);
        }
        if (child.program < 0 || errno == ENOSYS)
#endif
            ::execve(child.path, child.arguments, child.environment);  // returns only on failure
    }
    // The failed call's: the chain of conditions stops there.
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
// Where the child has memory of its own, it writes to a pipe what hindered it. The pipe closes with
// the exec: no bytes mean that the program runs.
Born make_child(Launch& launch) {
    Born born;
    Result<Pipe> complaint = Pipe::open();
    if (!complaint) return born;
    launch.complaint = complaint->writing.get();
    born.pid = ::fork();
    if (born.pid == 0) become(&launch);
    // Our copy of the writing end must be closed, or the read below would wait for ever.
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

// A folder also passes access(X_OK), and exec of one would report "permission denied".
bool can_be_executed(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
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

    const Descriptor nowhere(system_kernel(), ::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!nowhere) return fail(Error::last("open", "/dev/null"));
    return start(ChildLaunch{.path = program->c_str(),
                             .arguments = arguments.data(),
                             .environment = environment.data(),
                             .input = nowhere.get(),
                             .output = options.output >= 0 ? options.output : nowhere.get(),
                             .errors = options.errors >= 0 ? options.errors : nowhere.get(),
                             .cpus = options.cpus,
                             .death_signal = options.death_signal});
}

Result<ChildProcess> ChildProcess::start(const ChildLaunch& child) {
    Launch launch{.child = child};
#if defined(__linux__)
    for (const unsigned cpu : child.cpus) CPU_SET(cpu, &launch.cpus);
#endif
    const Born born = make_child_quietly(launch);
    if (born.pid < 0) return fail(Error::last("start", child.path));
    // In both, so that the group exists before either of them goes on: end() signals the group.
    ::setpgid(born.pid, born.pid);  // fails after the exec
    ChildProcess made(born.pid, born.pidfd);
    if (launch.error != 0) return fail(Error(launch.error, "start", child.path));
    return made;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), exit_(other.exit_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
    if (this != &other) {
        if (pid_ > 0) end(Duration::zero());
        pid_ = std::exchange(other.pid_, -1);
        pidfd_ = std::move(other.pidfd_);
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
    pidfd_.reset();
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
    wait_for_end(wait_max);
    return exit();
}

// Without taking its status.
void ChildProcess::wait_for_end(Duration wait_max) {
    const auto until = moment_after(steady_clock::now(), wait_max);
    const auto left = [&] {
        if (wait_max < Duration::zero()) return Duration(-1);
        return std::max<Duration>(until - steady_clock::now(), Duration::zero());
    };
    pollfd asked{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    while (pidfd_) {
        const int outcome = ::poll(&asked, 1, timeout_ms(left()));
        if (outcome > 0 || (outcome == 0 && left() == Duration::zero())) return;
        if (outcome < 0 && errno != EINTR) return;
    }
    // Where there is no pidfd (Linux before 5.3, other systems) we poll.
    while (!exit() && left() != Duration::zero()) std::this_thread::sleep_for(2ms);
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
