#include "lab/engine/nudge.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

namespace tiderace::lab::engine {
namespace {

// The handler runs on the thread that receives, without a lock: it uses only that thread's own.
thread_local volatile int receiving_on = -1;

void shorten_timeout(int) {
    const int saved = errno;
    const timeval shortest{.tv_sec = 0, .tv_usec = 1};  // 0 would be "for ever"
    const int fd = receiving_on;
    if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &shortest, sizeof shortest);
    errno = saved;
}

void install_handler() {
    struct sigaction action{};
    action.sa_handler = shorten_timeout;  // and no SA_RESTART: the call is to end
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGURG, &action, nullptr);
}

}  // namespace

Nudge::Nudge() {
    static std::once_flag installed;
    std::call_once(installed, install_handler);
}

//   at rest --begin()--> receiving --end(), which a nudge hastens--> at rest
//      | nudge()
//      v
//   nudged --begin() says no--> at rest          (any number of nudges are one)
bool Nudge::begin(int fd) {
    const std::scoped_lock held(lock_);
    if (nudged_) {
        nudged_ = false;
        return false;
    }
    // Before receiving_ is seen: a signal that comes from here on has to find the socket.
    receiving_on = fd;
    thread_ = ::pthread_self();
    receiving_ = true;
    return true;
}

void Nudge::end() {
    const std::scoped_lock held(lock_);
    receiving_on = -1;
    receiving_ = false;
    nudged_ = false;
}

bool Nudge::nudge() {
    const std::scoped_lock held(lock_);
    // Once for each call: any number of wakes is one turn.
    if (receiving_ && !nudged_) ::pthread_kill(thread_, SIGURG);
    nudged_ = true;
    return receiving_;
}

}  // namespace tiderace::lab::engine
