// Signals: SIGTERM and its like as events of a loop: wait until descriptor() is readable, take
// next().
//
// Linux: the signals are blocked and read from a signalfd. Elsewhere a handler writes their numbers
// to a pipe.
//
// Owner    Whoever opened it, on that thread, for the program's time. Open it before other threads
//          start: they inherit the blocked mask, without which the kernel could choose them.
// Thread   The opener's. A child process must unblock before exec; a blocked mask is inherited too.
// Errors   open() fails where descriptors are short, or a number is no signal one can catch.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <signal.h>

#include "tiderace/base/result.h"

namespace tiderace::core {

class Signals final {
  public:
    // From now on `numbers` come out of next() instead of doing what they did.
    static Result<Signals> open(std::span<const int> numbers);
    // What open() does where there is no signalfd; here by name for the tests. One at a time.
    static Result<Signals> open_self_pipe(std::span<const int> numbers);

    // Forgets what has not been taken yet, then gives each signal back what it did before.
    ~Signals();
    Signals(Signals&& other) noexcept;
    Signals& operator=(Signals&&) = delete;

    // Non-blocking; readable when next() has something. Stays this object's.
    int descriptor() const { return descriptor_; }
    // The next signal, or none. Signals of one number that come in a burst may count as one.
    std::optional<int> next();

  private:
    struct OldAction {
        int number;
        struct sigaction action;
    };

    Signals() = default;

    int descriptor_ = -1;
    bool self_pipe_ = false;
    std::vector<int> blocked_here_;       // signalfd: to unblock at the end
    std::vector<OldAction> old_actions_;  // self-pipe: to put back at the end
};

// A peer that has gone must be an EPIPE for the one who writes, not the end of the process.
void ignore_sigpipe();

}  // namespace tiderace::core
