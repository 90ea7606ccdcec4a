// Nudge: ends another thread's blocking receive, without losing the one that is about to begin.
//
// A signal interrupts a call; one that comes just before the call would be lost. So its handler
// also shortens the socket's SO_RCVTIMEO to nothing: the call that begins then returns at once.
// After a call that brought nothing the socket's timeout is therefore to be set again.
//
// Owner    A backend. Thread: begin() and end() its loop's, nudge() any.
// Limits   SIGURG is taken for it (by default it is ignored, so that nothing else is disturbed).
#pragma once

#include <pthread.h>

#include <mutex>

namespace tiderace::lab::engine {

class Nudge {
  public:
    Nudge();

    // Before a blocking receive on `fd`. False: nudged already, since the last end(); do not block.
    bool begin(int fd);
    void end();
    // True: the thread is between begin() and end(), and its call returns. False: the next begin()
    // will return false.
    bool nudge();

  private:
    std::mutex lock_;
    pthread_t thread_{};
    bool receiving_ = false;
    bool nudged_ = false;
};

}  // namespace tiderace::lab::engine
