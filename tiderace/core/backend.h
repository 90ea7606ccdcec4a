// Internal. Backend: a loop's interface to one of the kernel's engines.
//
// The loop offers operations, not readiness: accept, connect, receive, send, watch. A completion
// backend (io_uring) does them natively; readiness.h does them for epoll, poll, select and kqueue,
// which give four small functions each. Nothing above this line knows which one runs.
//
//   start_*  arms an operation; its outcomes come to the IoObserver, only ever from dispatch()
//   accept and receive go on until stopped; connect and send end with one outcome
//
// Owner    One EventLoop. Observers are borrowed from attach() until close() or detach().
// Thread   The loop's, except wake().
// Errors   The peer's and the machine's faults come to the observer as -errno.
// Limits   BackendOptions: what one call and one turn take, so that no connection holds the loop.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::core {

// Gets the outcomes of a descriptor's operations, on the loop's thread, one at a time.
class IoObserver {
  public:
    // A new connection; the receiver owns `fd`.
    virtual void on_accepted(int fd, const Address& peer);
    // Accepting failed with -errno (EMFILE, ENFILE, ENOBUFS, ENOMEM). The operation goes on: stop
    // it for a while, or it will fail again at once.
    virtual void on_accept_failed(int error);
    // 0, or -errno.
    virtual void on_connected(int error);
    // Bytes of the loop's receive buffer, gone on return. Empty: the peer finished its direction;
    // receiving has stopped by itself.
    virtual void on_received(ByteView bytes);
    // -errno; receiving has stopped by itself.
    virtual void on_receive_failed(int error);
    // A send that was pending has ended: 0 means there is room, send again; > 0 that many bytes of
    // the queue were taken and consumed; < 0 is -errno.
    virtual void on_sent(std::int64_t result);
    // A watched foreign descriptor is readable or writable.
    virtual void on_ready(bool readable, bool writable);

  protected:
    ~IoObserver() = default;
};

// A descriptor that a backend knows. The generation makes stale events and stale ids miss.
struct IoHandle {
    int fd = -1;
    std::uint32_t generation = 0;

    explicit operator bool() const { return fd >= 0; }
};

// The result of send().
struct Sent {
    std::uint64_t bytes = 0;  // taken from the queue
    // on_sent will be called; until then send() must not be called, and the queue must not move. It
    // may be appended to; bytes that were in it may come back to its front.
    bool pending = false;
    int error = 0;  // -errno: the connection is broken; -EBADMSG: a queued file became shorter
};

class Backend {
  public:
    virtual ~Backend() = default;

    virtual std::string_view name() const = 0;

    // When it fails (ENOMEM, or EMFILE: the engine has no room for this number), the descriptor is
    // still the caller's. Never throws.
    virtual Result<IoHandle> attach(int fd, IoObserver& observer) = 0;
    // Forgets the descriptor and leaves it open: it is the caller's again.
    virtual void detach(IoHandle& handle) = 0;
    // Forgets and closes it. The kernel may still read `unsent`; the backend keeps it for as long.
    virtual void close(IoHandle& handle, SendQueue&& unsent) = 0;

    virtual void set_accepting(IoHandle handle, bool on) = 0;
    virtual void start_connect(IoHandle handle, const Address& address) = 0;
    virtual void set_receiving(IoHandle handle, bool on) = 0;
    // Sends from the front of a queue that is not empty and consumes what was taken.
    virtual Sent send(IoHandle handle, SendQueue& queue) = 0;
    virtual void shut_down_sending(IoHandle handle) = 0;
    // A foreign descriptor (watch.h): on_ready in every turn in which a requested direction is
    // ready. With none requested, nothing is reported, not even a hang-up. 0, or -errno: it cannot
    // hold it.
    virtual int watch(IoHandle handle, bool readable, bool writable) = 0;
    // Gives the observer of a listening socket, which accepts no more, the connections that were
    // accepted for it and not reported yet: its owner is about to close it.
    virtual void hand_out_accepted(IoHandle /*handle*/) {}

    // Waits up to `wait_max` (negative: for ever) for an event.
    virtual void wait(Duration wait_max) = 0;
    // Reports the events of the last wait() to the observers.
    virtual void dispatch() = 0;
    // True if the last wait() may have left out events: the next one reports them.
    virtual bool has_more() const { return false; }
    // True if the last dispatch() may have left bytes that had arrived: the next turn reports them.
    virtual bool left_bytes() const { return false; }
    // This thread stops turning: withdraws everything from the kernel that would hold a descriptor
    // after its close. The next wait() requests it again.
    virtual void rest() {}
    // Makes the current or the next wait() return. Any thread, any number of times.
    virtual void wake() = 0;
};

struct BackendOptions {
    Kernel* kernel = &system_kernel();
    std::size_t receive_bytes = 64_KiB;  // the loop's one receive buffer
    std::size_t accepts_per_turn_max =
        64;  // so that a storm does not starve established connections
    std::size_t send_file_bytes_max =
        4_MiB;  // per call, so that one download does not hold the loop
    // io_uring: with so many receives in a turn its answers leave together, with the next wait;
    // with fewer each by a call of its own, at once.
    std::size_t sends_together_min = 4;
};

// "epoll", "io_uring", "kqueue", "poll", "select"; "auto" is the best one this machine has. An
// engine of another system and an unknown name are errors; the message lists the known ones.
Result<std::unique_ptr<Backend>> make_backend(std::string_view engine,
                                              const BackendOptions& options);
// The engines compiled in that this machine has, best first, separated by one space.
std::string_view engine_names();

}  // namespace tiderace::core
