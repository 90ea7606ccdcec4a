// Internal. Signals: SIGTERM and the like as events of a loop: wait until descriptor() is readable,
// then call next().
//
// Linux: the signals are blocked and read from a signalfd. Elsewhere a handler writes their numbers
// to a pipe.
//
// Owner    The thread that opened it, for the program's time. Open it before other threads
//          start: they inherit the blocked mask, without which the kernel could choose them.
// Thread   The opener's. A child process must unblock before exec; a blocked mask is inherited too.
// Errors   open() fails without descriptors, or for a number that is no catchable signal.
// Keywords: SIGTERM, SIGHUP, SIGINT, signalfd
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
    // From now on `numbers` come out of next(), and lose their former effect.
    static Result<Signals> open(std::span<const int> numbers);
    // open()'s way without signalfd; public for the tests. One at a time.
    static Result<Signals> open_self_pipe(std::span<const int> numbers);

    // Drops pending signals, then restores each signal's former effect.
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

// Writing to a closed peer must return EPIPE, not end the process.
void ignore_sigpipe();

}  // namespace tiderace::core
