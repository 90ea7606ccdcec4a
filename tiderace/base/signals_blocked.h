// Internal. SignalsBlocked: signals do not reach the calling thread while it lives. For starting a
// thread, which inherits the mask (signals are for the main thread), and for a fork, in whose child
// no handler of ours may run.
//
// Thread   The one that made it.
// Errors   None; it leaves errno as it is.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>

#include "tiderace/base/language.h"

namespace tiderace {

class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() {
        const int error = errno;
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error;
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

}  // namespace tiderace
