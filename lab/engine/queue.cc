// One thread listens, N loops serve, and a bounded queue stands between them.
//
//   loop 0: epoll -> accept -> the next loop's mailbox (a mutex, a wake-up) -> its epoll: serves it
//           all hold their share: the listeners pause, and clients wait in the kernel's queue
//
// Waits      Each loop in an epoll of its own; the first one's has the listening sockets alone.
// Accepts    The first loop. The kernel need not spread connections over listeners (SO_REUSEPORT),
//            which it does by a hash of the addresses: here each loop gets as many as the others.
// Owns       The loop that a connection was given to, to its end. It never moves.
// Costs      For each connection a lock, mostly a wake-up, and a cold cache: it is accepted on one
//            CPU and served on another. For each request nothing beside epoll.
// Fails at   A connection for each request: the accepting thread is the first without a CPU left.
//
// The queue itself is net/hand_off.h; this model only requests a listening thread.
#include "lab/engine/queue.h"

namespace tiderace::lab::engine {
namespace {

class Queue final : public ThreadingModel {
  public:
    bool listens_apart() const override { return true; }
    // "queue" is no engine of core's: its loops take the best that the kernel has.
    std::string_view core_engine(std::string_view) const override { return "auto"; }
};

}  // namespace

std::unique_ptr<ThreadingModel> arrange_queue() {
    return std::make_unique<Queue>();
}

}  // namespace tiderace::lab::engine
