#include "tiderace/testing/fake_peer.h"

#include <algorithm>
#include <cerrno>

namespace tiderace::testing {

FakePeer::FakePeer(FakeNetwork& network, core::Address to)
    : network_(&network), to_(std::move(to)) {
    dial();
}

FakePeer::~FakePeer() {
    // Events that it has asked for stay with the network, and must find that it is gone.
    *alive_ = false;
    close();
}

void FakePeer::dial() {
    if (closed_) return;
    const FakeNetwork::Dialled dialled = network_->dial(to_);
    refused_ = dialled.refused;
    socket_ = dialled.socket;
    if (socket_ != nullptr) {
        // The socket forgets it when it is closed, and the destructor closes it.
        socket_->on_change = [this] { act_in(network_->delay()); };
        act_in(network_->delay());
    } else if (!refused_) {
        // A second, as the kernel waits before it sends the SYN again. `alive`: the peer may be
        // gone by then, and events cannot be taken back.
        network_->at(network_->clock().now() + 1s, [this, alive = alive_] {
            if (*alive) dial();
        });
    }
}

void FakePeer::act_in(Duration wait) {
    const Instant when = network_->clock().now() + wait;
    // One act does all that is due, so only the earliest counts.
    if (when >= act_at_) return;
    act_at_ = when;
    network_->at(when, [this, alive = alive_, when] {
        if (!*alive || act_at_ != when) return;  // overtaken by an earlier one
        act_at_ = Instant::max();
        act();
    });
}

// What it says and what it hears have each their pace (saying_, hearing_): some bytes, then a
// pause.
void FakePeer::act() {
    if (socket_ == nullptr || closed_) return;
    const Instant now = network_->clock().now();
    if (say_some() && say_next_ > now) act_in(say_next_ - now);
    if (hear_some() && hear_next_ > now) act_in(hear_next_ - now);
}

bool FakePeer::say_some() {
    const Instant now = network_->clock().now();
    if (to_say_.empty()) {
        if (finishing_) socket_->shut_down_sending();
        return false;
    }
    if (now < say_next_) return true;
    const ssize_t taken = socket_->put(ByteView(to_say_).substr(0, saying_.bytes));
    if (taken <= 0) return false;  // on_change tells when there is room
    said_ += static_cast<std::uint64_t>(taken);
    to_say_.erase(0, static_cast<std::size_t>(taken));
    say_next_ = now + saying_.every;
    if (to_say_.empty() && finishing_) socket_->shut_down_sending();
    return !to_say_.empty();
}

bool FakePeer::hear_some() {
    if (!listening_ || over()) return false;
    const Instant now = network_->clock().now();
    if (now < hear_next_) return true;
    char buffer[16 * 1024];
    std::size_t budget = hearing_.bytes;
    while (budget > 0) {
        const ssize_t got = socket_->take(buffer, std::min(budget, sizeof buffer));
        if (got == -EAGAIN) return false;
        ended_ = got == 0;
        was_reset_ = got < 0;
        if (got <= 0) return false;
        heard_.append(buffer, static_cast<std::size_t>(got));
        budget -= static_cast<std::size_t>(got);
    }
    hear_next_ = now + hearing_.every;
    return true;
}

void FakePeer::say(ByteView bytes) {
    to_say_ += bytes;
    act_in(network_->delay());
}

void FakePeer::finish() {
    finishing_ = true;
    act_in(network_->delay());
}

void FakePeer::close() {
    closed_ = true;
    if (socket_ != nullptr) socket_->close();
}

void FakePeer::reset() {
    closed_ = true;
    if (socket_ == nullptr) return;
    socket_->reset_on_close = true;
    socket_->close();
}

void FakePeer::set_listening(bool on) {
    listening_ = on;
    if (on) act_in(network_->delay());
}

}  // namespace tiderace::testing
