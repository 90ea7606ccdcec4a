// Watch: a descriptor that is not ours (a pipe, a signalfd, another library's connection) in a
// loop, on every engine.
//
//   watch(fd, interest) -> on_ready, in every turn in which it is ready -> release()
//
// A library may close its descriptor inside a call and open another, perhaps under the same number.
// Then release it before the call:
//
//     watch.release();
//     const auto state = PQconnectPoll(connection);         // may close and open
//     watch.watch(PQsocket(connection), {.readable = state == PGRES_POLLING_READING, …});
//
// Owner    The observer; it ends before its loop does. It never closes the descriptor.
// Thread   The loop's. Before the loop's first turn and after its last: any one.
// Errors   A receiver's exception is logged and ends there. A descriptor that the engine cannot
//          hold: select's are below 1,024, epoll refuses plain files. A failed or hung-up one is
//          reported as ready in every requested direction, and again in every turn until it is
//          released or paused: the next call on it returns the error.
// Memory   40 bytes, and the backend's entry for the descriptor.
// Keywords: file descriptor, foreign descriptor
#pragma once

#include "tiderace/base/result.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/interest.h"

namespace tiderace::core {

class Watch final : private IoObserver {
  public:
    class Receiver {
      public:
        // May do anything to the watch, its end included. Readable and writable may come in two
        // calls. The report may be stale by now (another
        // callback of this turn consumed it), so the descriptor must not block.
        virtual void on_ready(Watch& watch, Interest ready) TR_ON_LOOP = 0;

      protected:
        ~Receiver() = default;
    };

    Watch(EventLoop& loop, Receiver& receiver) : loop_(&loop), receiver_(&receiver) {}
    ~Watch() { release(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Watches `fd` instead of what was watched before; for nothing, it only keeps the place. After
    // an error nothing is watched.
    Result<> watch(int fd, Interest interest);
    // Changes the interest in the same descriptor.
    Result<> change(Interest interest);
    // Forgets the descriptor and leaves it open. Call it before the descriptor is closed, or handed
    // to a call that may close it.
    void release();

    // -1: none.
    int descriptor() const { return handle_.fd; }

  private:
    void on_ready(bool readable, bool writable) override;

    EventLoop* loop_;
    Receiver* receiver_;
    IoHandle handle_;
};

}  // namespace tiderace::core
