#include "tiderace/testing/transport_peer.h"

#include <utility>

namespace tiderace::testing {

TransportPeer::TransportPeer(core::EventLoop& loop, std::unique_ptr<net::Transport> transport)
    : loop_(&loop), transport_(std::move(transport)) {
    transport_->open(*this);
    transport_->set_receiving(true);
}

TransportPeer::~TransportPeer() {
    close();
}

void TransportPeer::say(ByteView bytes) {
    if (transport_ == nullptr) return;
    queue_.append(loop_->blocks(), bytes);
    send_some();
}

void TransportPeer::finish() {
    finishing_ = true;
    send_some();
}

void TransportPeer::close() {
    if (transport_ != nullptr) std::exchange(transport_, nullptr)->close(std::move(queue_));
}

void TransportPeer::reset() {
    if (transport_ != nullptr) transport_->set_reset_on_close();
    close();
}

void TransportPeer::set_listening(bool on) {
    if (transport_ != nullptr && !over()) transport_->set_receiving(on);
}

void TransportPeer::send_some() {
    // One send at a time, as a transport has it: on_sent() sends what was added meanwhile.
    if (transport_ == nullptr || pending_ || error_ != 0) return;
    if (!queue_.empty()) {
        const core::Sent sent = transport_->send(queue_);
        pending_ = sent.pending;
        error_ = sent.error;
    }
    if (queue_.empty() && !pending_ && finishing_ && !std::exchange(finished_, true)) {
        transport_->finish();
    }
}

void TransportPeer::on_received(ByteView bytes) {
    ended_ = bytes.empty();
    heard_ += bytes;
}

void TransportPeer::on_receive_failed(int error) {
    error_ = error;
}

void TransportPeer::on_sent(std::int64_t result) {
    pending_ = false;
    if (result < 0) {
        error_ = static_cast<int>(result);
        queue_.clear();
        return;
    }
    send_some();
}

}  // namespace tiderace::testing
