// OutgoingSocket: a TCP connection that we open, as a Transport once it is there.
//
// Attached to the loop once, from the first packet to the last, and bound to a source address where
// one is given, so that ten thousand connections and more do not run out of ports.
//
// Owner    A LoadConnection, which gives it to its net::Connection when it is open.
// Thread   Its loop's.
// Errors   on_opened gets an errno value, from the loop; never inside start().
#pragma once

#include <cstddef>

#include "tiderace/core/event_loop.h"
#include "tiderace/net/transport.h"

namespace tiderace::lab {

class OutgoingSocket final : public net::Transport, private core::IoObserver {
  public:
    class Opener {
      public:
        virtual void on_opened(int error) = 0;  // an errno value; 0: it is open

      protected:
        ~Opener() = default;
    };
    struct Place {
        const core::Address* to;
        const core::Address* from = nullptr;  // nullptr: the kernel's choice
        int receive_buffer_bytes = 0;         // 0: the kernel's choice
    };

    OutgoingSocket(core::EventLoop& loop, Opener& opener) : loop_(&loop), opener_(&opener) {}
    ~OutgoingSocket();

    // 0, or the errno value why there will be no connection: then on_opened is not called.
    int start(const Place& place);

    void open(Observer& observer) override { observer_ = &observer; }
    void set_receiving(bool on) override;
    core::Sent send(core::SendQueue& queue) override;
    void finish() override;
    void close(core::SendQueue&& unsent) override;
    void set_reset_on_close() override;

  private:
    void on_connected(int error) override { opener_->on_opened(-error); }
    void on_received(ByteView bytes) override { observer_->on_received(bytes); }
    void on_receive_failed(int error) override { observer_->on_receive_failed(error); }
    void on_sent(std::int64_t result) override { observer_->on_sent(result); }

    int prepare(int fd, const Place& place);

    core::EventLoop* loop_;
    Opener* opener_;
    Observer* observer_ = nullptr;
    core::IoHandle handle_;
};

}  // namespace tiderace::lab
