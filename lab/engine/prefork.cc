// Processes instead of threads, as Apache's prefork has them: each serves alone, with one loop and
// no lock, and one process watches over all.
//
//   listen -> fork -+-> process: epoll -> accept -> serve      one loop, and what it accepted
//                   +-> process: epoll -> accept -> serve
//                   '-> the watching one: poll(signals, a pipe from each)
//
// Waits      Each process in an epoll of its own, in which the listening sockets are everybody's.
// Accepts    Each process for itself. A connection makes the shared socket readable in all epolls:
//            all that sleep wake, one gets it, and the others find EAGAIN: the "thundering herd",
//            which EPOLLEXCLUSIVE, or a listener for each process, would avoid.
// Owns       The process that accepted it.
// Costs      Nothing is shared, so each has its own memory, caches and limits: N processes open the
//            same file N times, and --max-connections is for each.
// Fails at   State that must be seen by all. Its strength is the other side of that: a crash costs
//            the connections of one process, and the watching one starts another.
#include "lab/engine/prefork.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "tiderace/base/moment.h"
#include "tiderace/core/backend/poller.h"
#include "tiderace/core/clock.h"

namespace tiderace::lab::engine {
namespace {

constexpr Duration pause_min = 100ms;  // doubled with each that ends, until one serves
constexpr Duration pause_max = 10s;
constexpr Duration patience = 5s;  // beyond the time for draining
constexpr int failures_max = 5;    // of each process, before any has served

// Watches over the processes. One per process that was started.
//
//   none --start--> started --a byte on its pipe--> serves
//    ^ |              |                               |
//    | +--refused,    |                               |
//    |    after a pause                               |
//    +--its pipe ended, after a pause (bury)----------+
//
// Each end and each refusal doubles the pause of its process, and serving resets it. When
// failures_max for each process have come before any served, the run ends.
class Watch {
  public:
    Watch(std::size_t processes, core::Signals& signals, Watching server)
        : signals_(&signals), server_(std::move(server)), watched_(processes) {}

    std::optional<int> run();
    // In a serving process: the pipe on which it reports that it serves.
    int own_pipe() const { return own_pipe_; }

  private:
    // A process that serves. Its pipe brings one byte once it does, and ends with it.
    struct Process {
        pid_t pid = -1;  // -1: none now
        int pipe = -1;
        Instant next_start{};  // where there is none
        Duration pause = pause_min;
        bool serves = false;
    };

    bool start(Process& process);
    bool report_refusal(Process& process, const Error& error);
    void put_off(Process& process, bool served);
    void become_one(int pipe);
    void listen_to(Process& process);
    bool start_those_due();
    void wait();
    void look_at_signals();
    void bury(Process& process);
    void drain();
    void signal_all(int signal) const;
    bool any_left() const;

    core::Signals* signals_;
    Watching server_;
    core::SystemClock clock_;
    std::vector<Process> watched_;
    pid_t self_ = ::getpid();
    std::size_t failures_ = 0;  // since one has served
    int status_ = 0;
    int own_pipe_ = -1;
    bool reported_serving_ = false;
    bool draining_ = false;
    Instant kill_at_ = Instant::max();
};

// Empty: this is one of the processes that serve.
std::optional<int> Watch::run() {
    while (!draining_ || any_left()) {
        if (!draining_ && start_those_due()) return std::nullopt;
        wait();
        look_at_signals();
        if (clock_.now() < kill_at_) continue;
        signal_all(SIGKILL);
        kill_at_ = Instant::max();  // it takes as long as it takes: nothing is waited for but that
    }
    return status_;
}

// True in the new process.
bool Watch::start_those_due() {
    for (Process& process : watched_) {
        if (draining_) break;  // the one before was the last failure that was allowed
        if (process.pid < 0 && clock_.now() >= process.next_start && start(process)) return true;
    }
    return false;
}

bool Watch::start(Process& process) {
    // Made for each anew: a pipe that several had would not end with one of them.
    int ends[2];
    if (::pipe(ends) != 0) return report_refusal(process, Error::last("make", "a pipe"));
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    const pid_t pid = ::fork();
    // At once, because close() below has an errno of its own.
    const Error refused = Error::last("fork", "a process");
    if (pid == 0) {
        ::close(ends[0]);
        become_one(ends[1]);
        return true;
    }
    ::close(ends[1]);
    if (pid < 0) {
        ::close(ends[0]);
        return report_refusal(process, refused);
    }
    process.pid = pid;
    process.pipe = ends[0];
    return false;
}

// False, as start() returns it. The machine may have room again after the pause.
bool Watch::report_refusal(Process& process, const Error& error) {
    std::fprintf(stderr, "tiderace: %s; it is tried again in %s\n", error.message().c_str(),
                 format_duration(process.pause).c_str());
    put_off(process, false);
    return false;
}

void Watch::become_one(int pipe) {
    own_pipe_ = pipe;
    // The reading ends of its siblings' pipes, of no use here.
    for (const Process& other : watched_) {
        if (other.pipe >= 0) ::close(other.pipe);
    }
    // A Ctrl-C of the terminal is for the one that watches; it notifies us, once.
    ::setpgid(0, 0);
#if defined(__linux__)
    // Should the one that watches be killed, nothing else would end us.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != self_) ::_exit(1);  // it died before this call
#endif
}

void Watch::wait() {
    std::vector<pollfd> polled{{.fd = signals_->descriptor(), .events = POLLIN, .revents = 0}};
    Instant next = kill_at_;
    for (const Process& process : watched_) {
        polled.push_back({.fd = process.pipe, .events = POLLIN, .revents = 0});
        if (process.pid < 0 && !draining_) next = std::min(next, process.next_start);
    }
    const Duration left =
        next == Instant::max() ? Duration(-1) : std::max(Duration::zero(), next - clock_.now());
    if (::poll(polled.data(), polled.size(), core::timeout_ms(left)) <= 0) return;
    for (std::size_t i = 0; i < watched_.size(); ++i) {
        if (polled[i + 1].revents != 0) listen_to(watched_[i]);
    }
}

void Watch::listen_to(Process& process) {
    char byte = 0;
    const ssize_t got = ::read(process.pipe, &byte, 1);
    if (got < 0 && errno == EINTR) return;
    // The end of the pipe: only the process itself had the other end, so it has ended, in whatever
    // way. No SIGCHLD has to be caught.
    if (got <= 0) {
        bury(process);
        return;
    }
    process.serves = true;
    process.pause = pause_min;
    failures_ = 0;
    if (!reported_serving_ && std::ranges::all_of(watched_, &Process::serves)) {
        reported_serving_ = true;
        server_.on_serving();
    }
}

void Watch::bury(Process& process) {
    int status = 0;
    // It may block for the moment between the end of its descriptors and its own.
    while (::waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
    }
    ::close(process.pipe);
    const pid_t pid = process.pid;
    const bool served = std::exchange(process.serves, false);
    process.pid = process.pipe = -1;
    if (draining_) {
        // Killed, or crashed on the way: our status shows that not all ended in order.
        if (!WIFEXITED(status)) status_ = 1;
        return;
    }
    const bool by_signal = WIFSIGNALED(status);
    std::fprintf(stderr, "tiderace: process %d ended with %s %d; another is started in %s\n",
                 static_cast<int>(pid), by_signal ? "signal" : "status",
                 by_signal ? WTERMSIG(status) : WEXITSTATUS(status),
                 format_duration(process.pause).c_str());
    put_off(process, served);
}

void Watch::put_off(Process& process, bool served) {
    if (!served) ++failures_;
    process.next_start = clock_.now() + process.pause;
    process.pause = std::min(process.pause * 2, pause_max);
    if (failures_ < failures_max * watched_.size()) return;
    std::fprintf(stderr, "tiderace: no process stays until it serves: given up\n");
    status_ = 1;
    drain();
}

void Watch::look_at_signals() {
    while (const auto signal = signals_->next()) {
        // Both request the same: moved logs and new certificates.
        if (*signal == SIGUSR1 || *signal == SIGHUP) {
            signal_all(SIGUSR1);
        } else if (!draining_) {
            drain();
        } else {
            signal_all(SIGTERM);  // a second one ends them at once
        }
    }
}

void Watch::drain() {
    draining_ = true;
    server_.on_drain();
    signal_all(SIGTERM);
    kill_at_ = moment_after(moment_after(clock_.now(), server_.drain), patience);
}

void Watch::signal_all(int signal) const {
    for (const Process& process : watched_) {
        if (process.pid > 0) ::kill(process.pid, signal);
    }
}

bool Watch::any_left() const {
    return std::ranges::any_of(watched_, [](const Process& process) { return process.pid > 0; });
}

class Prefork final : public ThreadingModel {
  public:
    std::size_t count_processes(std::size_t asked, std::size_t cpus) const override {
        return ThreadingModel::count_loops(asked, cpus);
    }
    std::optional<int> split(std::size_t processes, core::Signals& signals,
                             Watching watching) override {
        Watch watch(processes, signals, std::move(watching));
        const auto ended = watch.run();
        own_pipe_ = watch.own_pipe();
        return ended;
    }
    void note_serving() override {
        static_cast<void>(!::write(own_pipe_, "!", 1));  // stays open: its end is our end
    }
    std::size_t count_loops(std::size_t, std::size_t) const override { return 1; }
    std::string_view core_engine(std::string_view) const override { return "auto"; }

  private:
    int own_pipe_ = -1;
};

}  // namespace

std::unique_ptr<ThreadingModel> arrange_prefork() {
    return std::make_unique<Prefork>();
}

}  // namespace tiderace::lab::engine
