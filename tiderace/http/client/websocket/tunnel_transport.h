// TunnelTransport: one stream of a client's HTTP/2 connection as a Transport, so that a WebSocket
// runs on it as on a connection of its own (RFC 8441). H2StreamTransport is the server's side.
//
//   in:  DATA -> the exchange holds it -> on_received; the window opens again as it is taken
//   out: the Connection's queue -> the stream, piece by piece -> DATA
//
// Owner    The net::Connection above it. It owns the exchange, and with it the stream.
// Thread   The loop's. Outcomes come at the end of a turn, never inside a call.
// Errors   A reset stream and a lost connection are both -ECONNRESET.
// Limits   piece_bytes_max of bytes that were sent and that the server's windows do not allow yet;
//          unread ones: the stream's window.
#pragma once

#include <memory>

#include "tiderace/core/event_loop.h"
#include "tiderace/http/client/client_exchange.h"
#include "tiderace/net/transport.h"

namespace tiderace::http {

class TunnelTransport final : public net::Transport, private ClientExchange::Watcher {
  public:
    static constexpr std::size_t piece_bytes_max = 64_KiB;

    // After the head of the answer.
    TunnelTransport(core::EventLoop& loop, OwnedExchange exchange);
    ~TunnelTransport() override;

    void open(net::Transport::Observer& observer) override { observer_ = &observer; }
    void set_receiving(bool on) TR_ON_LOOP override;
    core::Sent send(core::SendQueue& queue) TR_ON_LOOP override;
    void finish() TR_ON_LOOP override { exchange_->write({}, true); }
    void close(core::SendQueue&& unsent) TR_ON_LOOP override;
    void set_reset_on_close() override { reset_on_close_ = true; }

  private:
    // The end of a turn, at which the transport may be destroyed while this is queued: then it ends
    // with that turn, on its own.
    struct Step;

    void on_exchange_news() override;
    void ask_step() TR_ON_LOOP;
    void step() TR_ON_LOOP;
    bool receive_step() TR_ON_LOOP;

    core::EventLoop* loop_;
    OwnedExchange exchange_;
    Step* step_;
    net::Transport::Observer* observer_ = nullptr;
    bool receiving_ = false;
    bool send_pending_ = false;
    bool end_reported_ = false;
    bool failure_reported_ = false;
    bool reset_on_close_ = false;
};

}  // namespace tiderace::http
