#include "tiderace/http/client/websocket/tunnel_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace tiderace::http {

struct TunnelTransport::Step final : core::TurnEnd {
    explicit Step(TunnelTransport& t) : transport(&t) {}
    void on_turn_end() TR_ON_LOOP override {
        queued = false;
        if (transport != nullptr) return transport->step();
        delete this;
    }
    TunnelTransport* transport;  // nullptr: it is gone
    bool queued = false;
};

TunnelTransport::TunnelTransport(core::EventLoop& loop, OwnedExchange exchange)
    : loop_(&loop), exchange_(std::move(exchange)), step_(new Step(*this)) {
    exchange_->set_watcher(this);
}

TunnelTransport::~TunnelTransport() {
    if (exchange_ != nullptr) exchange_->set_watcher(nullptr);
    step_->transport = nullptr;
    if (!step_->queued) delete step_;
}

void TunnelTransport::ask_step() {
    step_->queued = true;
    loop_->at_turn_end(*step_);
}

void TunnelTransport::on_exchange_news() {
    loop_->assert_on_loop();
    ask_step();
}

void TunnelTransport::set_receiving(bool on) {
    receiving_ = on;
    if (on) ask_step();
}

core::Sent TunnelTransport::send(core::SendQueue& queue) {
    // The stream is over, so the bytes could go nowhere. step() reports it as well, if we are
    // reading.
    if (!exchange_->connected()) return {.error = -ECONNRESET};
    // Little is taken ahead, so that back-pressure reaches the WebSocket.
    std::uint64_t taken = 0;
    while (!queue.empty() && !exchange_->has_backlog()) {
        std::array<iovec, 16> parts;
        const std::size_t count = queue.gather(parts);
        if (count == 0) return {.bytes = taken, .error = -EBADMSG};  // a file: none has one
        std::string piece;
        for (std::size_t i = 0; i < count && piece.size() < piece_bytes_max; ++i) {
            const std::size_t room = piece_bytes_max - piece.size();
            piece.append(static_cast<const char*>(parts[i].iov_base),
                         std::min(parts[i].iov_len, room));
        }
        queue.consume(piece.size());
        taken += piece.size();
        exchange_->write(piece, false);
    }
    send_pending_ = !queue.empty();
    return {.bytes = taken, .pending = send_pending_};
}

void TunnelTransport::close(core::SendQueue&& unsent) {
    // It is destroyed here: a stream has no kernel that would send it after our end.
    const core::SendQueue dropped(std::move(unsent));
    exchange_->set_watcher(nullptr);
    failure_reported_ = true;  // nothing more is reported
    // An orderly end (RFC 8441, 5). A stream that the server has not ended, too, is reset with its
    // exchange, as one that is cut.
    if (!reset_on_close_ && dropped.empty()) exchange_->write({}, true);
    exchange_.reset();
}

// One callback for each step, because it may end the transport.
void TunnelTransport::step() {
    if (failure_reported_ || receive_step()) return;
    if (!exchange_->connected()) {
        // In order, once both directions were done: nothing failed.
        if (!exchange_->fault()) return;
        failure_reported_ = true;
        observer_->on_receive_failed(-ECONNRESET);
    } else if (send_pending_ && !exchange_->has_backlog()) {
        send_pending_ = false;
        observer_->on_sent(0);
    }
}

bool TunnelTransport::receive_step() {
    if (!receiving_ || end_reported_) return false;
    const std::string bytes = exchange_->take_buffer();
    // Unread bytes come first: the end is reported once the last of them was taken.
    if (bytes.empty()) {
        if (!exchange_->answer_ended()) return false;
        end_reported_ = true;
        receiving_ = false;
    }
    ask_step();  // for the next one
    observer_->on_received(bytes);
    return true;
}

}  // namespace tiderace::http
