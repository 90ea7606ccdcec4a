// FakeSocket: one end of a connection in memory, or a listener, as a kernel keeps it.
//
//   one end   out -> [ lane: bytes, bounded ] -> in   other end
//
// It is as unkind as TCP may be: a close with unread bytes, or bytes that arrive after a close,
// reset the other end, which loses what it had not read yet.
//
// Owner    A descriptor of a FakeNetwork, or a FakePeer; the backlog, until it is accepted.
// Errors   As the system calls: -errno.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tiderace/base/bytes.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/address.h"

namespace tiderace::testing {

// One direction.
struct FakeLane {
    explicit FakeLane(std::size_t bytes_max) : capacity(bytes_max) {}

    std::size_t room() const { return bytes.size() < capacity ? capacity - bytes.size() : 0; }

    std::string bytes;
    std::size_t capacity;
    bool finished = false;  // FIN: no more will come
};

class FakeSocket {
  public:
    //   fresh -listen-> listening -close-> closed
    //        '-join-> connected -reset, by either end-> broken -close-> closed
    enum class State : std::uint8_t { fresh, listening, connected, broken, closed };

    // Two ends that know each other.
    static void join(const std::shared_ptr<FakeSocket>& one,
                     const std::shared_ptr<FakeSocket>& other, std::size_t buffer_bytes);

    // Takes up to `room` bytes of `bytes`. -EAGAIN, -EPIPE.
    ssize_t put(ByteView bytes);
    // Gives up to `wanted` bytes; 0 is the other end's FIN. -EAGAIN, -ECONNRESET.
    ssize_t take(char* out, std::size_t wanted);
    void shut_down_sending();
    void close();
    // Ends both directions at once; the other end sees ECONNRESET.
    void reset();

    bool readable() const;
    bool writable() const;
    bool failed() const;
    std::size_t room() const { return out_ != nullptr ? out_->room() : 0; }
    std::size_t unread() const { return in_ != nullptr ? in_->bytes.size() : 0; }
    std::size_t unread_by_other() const { return out_ != nullptr ? out_->bytes.size() : 0; }
    State state() const { return state_; }

    core::Address local;
    core::Address peer;
    int error = 0;  // an errno, what SO_ERROR says
    std::map<std::pair<int, int>, int> options;
    bool reset_on_close = false;  // SO_LINGER with zero seconds
    // A listener's queue.
    std::deque<std::shared_ptr<FakeSocket>> backlog;
    std::size_t backlog_max = 0;
    void listen(std::size_t connections_max);
    // Something to read, room, an end: for an owner that is not polled. Must only take note.
    unique_function<void()> on_change;

  private:
    void break_off();
    void changed();
    static void tell(const std::weak_ptr<FakeSocket>& socket);

    std::shared_ptr<FakeLane> in_;
    std::shared_ptr<FakeLane> out_;
    std::weak_ptr<FakeSocket> other_;
    State state_ = State::fresh;
};

}  // namespace tiderace::testing
