#include "tiderace/http/h2/stream_transport.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/http/h2/connection.h"

namespace tiderace::http {

// Bytes that wait in the exchange are delivered at the end of the turn: the caller may be the
// Session, inside on_received().
void H2StreamTransport::set_receiving(bool on) {
    receiving_ = on;
    if (on) exchange_->ask_turn_end();
}

core::Sent H2StreamTransport::send(core::SendQueue& queue) {
    if (exchange_->connection() == nullptr) return {.error = -ECONNRESET};
    // Little is taken ahead, so that back-pressure reaches the Session.
    core::SendQueue& out = exchange_->out();
    const std::uint64_t room = out_bytes_max - std::min<std::uint64_t>(out_bytes_max, out.bytes());
    const std::uint64_t bytes = std::min(room, queue.bytes());
    out.append_front(exchange_->connection()->connection().blocks(), queue, bytes);
    exchange_->connection()->schedule(*exchange_);
    send_pending_ = !queue.empty();
    return {.bytes = bytes, .pending = send_pending_};
}

// Bytes already taken from the Connection's queue still go out, as from a socket's buffer.
void H2StreamTransport::close(core::SendQueue&& unsent) {
    const core::SendQueue dropped(std::move(unsent));
    // The exchange outlives this transport, and must not call it any more.
    exchange_->leave_tunnel();
    H2Connection* connection = exchange_->connection();
    if (connection == nullptr) return;
    // RST_STREAM stands for a reset, END_STREAM for an orderly end (RFC 8441, 5).
    if (reset_on_close_ || !dropped.empty()) {
        connection->streams().reset(*exchange_, wire::H2Error::cancel);
    } else {
        exchange_->end_output();
    }
}

// One callback for each step, because it may end the transport.
void H2StreamTransport::step() {
    if (failure_reported_) return;
    if (exchange_->connection() == nullptr) {
        failure_reported_ = true;
        // The stream ended in order after both directions were done: nothing failed.
        if (!(end_reported_ && exchange_->answer_complete()))
            observer_->on_receive_failed(-ECONNRESET);
        return;
    }
    const core::Ref<H2Exchange> exchange = exchange_;
    if (receive_step()) {
        exchange->ask_turn_end();
        // At half, not at the first free byte, so that each report lets the Session queue a useful
        // amount.
    } else if (send_pending_ && exchange_->out().bytes() < out_bytes_max / 2) {
        send_pending_ = false;
        observer_->on_sent(0);
    }
}

bool H2StreamTransport::receive_step() {
    if (!receiving_) return false;
    const core::Ref<H2Exchange> exchange = exchange_;
    if (exchange->held_bytes() > 0) {
        // Taken before the call: on_received() may close this transport and end the exchange.
        const std::string bytes = exchange->take_held();
        H2Connection* const connection = exchange->connection();
        observer_->on_received(bytes);
        // The stream may be closed by now; the connection still counts its bytes in its window.
        if (connection != nullptr) {
            connection->give_back(*exchange, bytes.size(), exchange->attached());
        }
        return true;
    }
    if (!exchange->body_arrived() || end_reported_) return false;
    end_reported_ = true;
    // Empty bytes are the peer's end, as from a socket.
    receiving_ = false;
    observer_->on_received({});
    return true;
}

}  // namespace tiderace::http
