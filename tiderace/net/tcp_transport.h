// TcpTransport: a connected stream socket (TCP or Unix) as a Transport.
//
// Owner    A Connection.
// Thread   The loop's.
// Memory   48 bytes.
#pragma once

#include "tiderace/core/event_loop.h"
#include "tiderace/net/transport.h"

namespace tiderace::net {

class TcpTransport final : public Transport, private core::IoObserver {
  public:
    // Takes `fd`, a connected non-blocking socket.
    TcpTransport(core::EventLoop& loop, int fd);
    ~TcpTransport();

    // False: the backend cannot hold this descriptor (select above 1,024). It is closed then.
    bool attached() const { return static_cast<bool>(handle_); }

    void open(Observer& observer) override;
    void set_receiving(bool on) override;
    core::Sent send(core::SendQueue& queue) override;
    void finish() override;
    void close(core::SendQueue&& unsent) override;
    void set_reset_on_close() override;

  private:
    void on_received(ByteView bytes) override { observer_->on_received(bytes); }
    void on_receive_failed(int error) override { observer_->on_receive_failed(error); }
    void on_sent(std::int64_t result) override { observer_->on_sent(result); }

    core::EventLoop* loop_;
    Observer* observer_ = nullptr;
    core::IoHandle handle_;
};

}  // namespace tiderace::net
