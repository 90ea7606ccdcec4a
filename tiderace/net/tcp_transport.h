// TcpTransport: a stream socket (TCP or Unix) as a Transport, connected or about to be.
//
// Owner    A Connection; before it, the connector.
// Thread   The loop's.
// Memory   40 bytes.
// Keywords: TCP_NODELAY, FIN, lingering close
#pragma once

#include <memory>

#include "tiderace/base/result.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/transport.h"

namespace tiderace::net {

// The next close() of this socket sends a RST and frees what the kernel still keeps for it.
void reset_on_close(core::Kernel& kernel, int fd);

class TcpTransport final : public Transport, private core::IoObserver {
  public:
    class Opening {
      public:
        // 0: it is open; or -errno.
        virtual void on_connected(int error) = 0;

      protected:
        ~Opening() = default;
    };

    // Takes `fd`, a non-blocking socket. Fails, and closes it, where the engine has no room for
    // this number (EMFILE) or memory is short (ENOMEM). Never throws.
    static Result<std::unique_ptr<TcpTransport>> make(core::EventLoop& loop, int fd);
    ~TcpTransport();

    // For a socket that is not connected yet: `opening` gets the outcome once, from the loop. Call
    // before open().
    void connect(const core::Address& to, Opening& opening);

    void open(Observer& observer) override;
    void set_receiving(bool on) override;
    core::Sent send(core::SendQueue& queue) override;
    void finish() override;
    void close(core::SendQueue&& unsent) override;
    void set_reset_on_close() override;
    std::uint64_t unacknowledged_bytes() const override;
    bool tune(const SocketOptions& options) override;

  private:
    explicit TcpTransport(core::EventLoop& loop) : loop_(&loop) {}

    void on_received(ByteView bytes) override { observer_->on_received(bytes); }
    void on_receive_failed(int error) override { observer_->on_receive_failed(error); }
    void on_sent(std::int64_t result) override { observer_->on_sent(result); }

    void on_connected(int error) override;

    core::EventLoop* loop_;
    union {
        Observer* observer_ = nullptr;
        Opening* opening_;  // until it is connected
    };
    core::IoHandle handle_;
};

}  // namespace tiderace::net
