#include "tiderace/core/signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#if defined(__linux__)
#include <sys/signalfd.h>
#endif

#include "tiderace/base/check.h"

namespace tiderace::core {
namespace {

// A handler has no object, so these two are global. The pipe's writing end is never closed while a
// handler may run; see close_pipe().
std::atomic<int> pipe_in = -1;
std::atomic<int> handlers_running = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a handler may not take a lock");

extern "C" void write_to_pipe(int number) {
    // The interrupted code may be about to read its errno.
    const int saved = errno;
    handlers_running.fetch_add(1);
    const int in = pipe_in.load();
    const auto byte = static_cast<unsigned char>(number);
    // A full pipe has woken the loop already.
    if (in >= 0) static_cast<void>(::write(in, &byte, 1) < 0);
    handlers_running.fetch_sub(1);
    errno = saved;
}

Result<> open_pipe(int& out) {
    int ends[2];
    if (::pipe(ends) != 0) return fail(Error::last("pipe", "for signals"));
    for (const int end : ends) {
        ::fcntl(end, F_SETFD, FD_CLOEXEC);
        // Full, the pipe must not block the handler; a reader must not wait either.
        ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
    int none = -1;
    TR_CHECK(pipe_in.compare_exchange_strong(none, ends[1]), "signals are open already");
    out = ends[0];
    return {};
}

void close_pipe() {
    const int in = pipe_in.exchange(-1);
    // Another thread may be in the handler, between reading the number and writing to it.
    while (handlers_running.load() != 0) {
    }
    ::close(in);
}

Error no_such_signal(int number) {
    return Error(EINVAL, "catch signal", std::to_string(number));
}

bool catchable(int number) {
    return number > 0 && number < NSIG && number != SIGKILL && number != SIGSTOP;
}

}  // namespace

#if defined(__linux__)

Result<Signals> Signals::open(std::span<const int> numbers) {
    sigset_t wanted, before;
    sigemptyset(&wanted);
    for (const int number : numbers) {
        if (!catchable(number) || sigaddset(&wanted, number) != 0) {
            return fail(no_such_signal(number));
        }
    }
    Signals signals;
    signals.descriptor_ = ::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals.descriptor_ < 0) return fail(Error::last("signalfd", ""));
    // For this thread and its later children; an older thread would still be ended by the
    // signal.
    TR_CHECK(::pthread_sigmask(SIG_BLOCK, &wanted, &before) == 0);
    // signalfd only sees blocked signals; signals that the caller had blocked before stay blocked.
    for (const int number : numbers) {
        if (sigismember(&before, number) == 0) signals.blocked_here_.push_back(number);
    }
    return signals;
}

#else

Result<Signals> Signals::open(std::span<const int> numbers) {
    return open_self_pipe(numbers);
}

#endif

Result<Signals> Signals::open_self_pipe(std::span<const int> numbers) {
    for (const int number : numbers) {
        if (!catchable(number)) return fail(no_such_signal(number));
    }
    Signals signals;
    if (auto opened = open_pipe(signals.descriptor_); !opened) return fail(opened.error());
    signals.self_pipe_ = true;
    struct sigaction action{};
    action.sa_handler = write_to_pipe;
    // Code that knows nothing of signals (a worker's read of a file) must not meet EINTR because of
    // ours.
    action.sa_flags = SA_RESTART;
    // No other handler interrupts this one.
    sigfillset(&action.sa_mask);
    for (const int number : numbers) {
        OldAction old{number, {}};
        if (::sigaction(number, &action, &old.action) != 0) return fail(no_such_signal(number));
        signals.old_actions_.push_back(old);
    }
    return signals;
}

Signals::Signals(Signals&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      self_pipe_(other.self_pipe_),
      blocked_here_(std::move(other.blocked_here_)),
      old_actions_(std::move(other.old_actions_)) {}

Signals::~Signals() {
    if (descriptor_ < 0) return;
    // Pending signals are taken: unblocked below, they would end the process.
    while (next()) {
    }
    // In reverse: of a number that was given twice, the first saved action is the caller's.
    for (auto old = old_actions_.rbegin(); old != old_actions_.rend(); ++old) {
        ::sigaction(old->number, &old->action, nullptr);
    }
    if (self_pipe_) close_pipe();
    sigset_t unblock;
    sigemptyset(&unblock);
    for (const int number : blocked_here_) sigaddset(&unblock, number);
    ::pthread_sigmask(SIG_UNBLOCK, &unblock, nullptr);
    ::close(descriptor_);
}

// One signal a call. Several equal ones may arrive as one: standard signals do not queue
// (signal(7)).
std::optional<int> Signals::next() {
    for (;;) {
        ssize_t got = 0;
        int number = 0;
        if (self_pipe_) {
            unsigned char byte = 0;
            got = ::read(descriptor_, &byte, 1);
            number = byte;
        } else {
#if defined(__linux__)
            signalfd_siginfo info;
            got = ::read(descriptor_, &info, sizeof(info));
            if (got == sizeof(info)) number = static_cast<int>(info.ssi_signo);
#endif
        }
        if (got > 0) return number;
        TR_CHECK(got < 0 && (errno == EINTR || errno == EAGAIN), "the signals' descriptor broke");
        if (errno == EAGAIN) return std::nullopt;
    }
}

void ignore_sigpipe() {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    TR_CHECK(::sigaction(SIGPIPE, &ignore, nullptr) == 0);
}

}  // namespace tiderace::core
