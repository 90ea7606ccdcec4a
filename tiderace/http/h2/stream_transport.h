// H2StreamTransport: one HTTP/2 stream as a Transport, so that a protocol for a connection of its
// own (WebSocket) runs on it unchanged (RFC 8441).
//
//   in:  DATA -> the exchange holds it -> on_received; the window opens again as it is taken
//   out: the Connection's queue -> the exchange's, up to out_bytes_max -> DATA
//
// Owner    The net::Connection above it. Keeps its exchange alive.
// Thread   The loop's. Outcomes come at the end of a turn, never inside a call.
// Errors   A reset stream and a lost connection are both -ECONNRESET.
// Limits   out_bytes_max of bytes that were sent and that the peer's windows do not allow yet.
// Keywords: extended CONNECT, WebSocket over HTTP/2, RFC 8441
#pragma once

#include <cstddef>

#include "tiderace/http/h2/exchange.h"
#include "tiderace/net/transport.h"

namespace tiderace::http {

class H2StreamTransport final : public net::Transport {
  public:
    static constexpr std::size_t out_bytes_max = 64_KiB;

    explicit H2StreamTransport(core::Ref<H2Exchange> exchange) : exchange_(std::move(exchange)) {}

    void open(net::Transport::Observer& observer) override { observer_ = &observer; }
    void set_receiving(bool on) TR_ON_LOOP override;
    core::Sent send(core::SendQueue& queue) TR_ON_LOOP override;
    void finish() TR_ON_LOOP override { exchange_->end_output(); }
    void close(core::SendQueue&& unsent) TR_ON_LOOP override;
    void set_reset_on_close() override { reset_on_close_ = true; }

    // Called by the exchange, at the end of a turn: reports events to the observer.
    void step() TR_ON_LOOP;

  private:
    bool receive_step() TR_ON_LOOP;

    core::Ref<H2Exchange> exchange_;
    net::Transport::Observer* observer_ = nullptr;
    bool receiving_ = false;
    bool send_pending_ = false;
    bool end_reported_ = false;
    bool failure_reported_ = false;
    bool reset_on_close_ = false;
};

}  // namespace tiderace::http
