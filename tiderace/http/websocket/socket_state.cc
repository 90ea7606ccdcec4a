#include "tiderace/http/websocket/socket_state.h"

#include <memory>
#include <new>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::http {

//   WebSocket (a task's) -> WebSocketState <- WebSocketConnection (the loop's)
//
// Both ends may go first. The state frees itself with the second: here if no connection is left,
// else in on_close or on_refused.
void WebSocketState::disown(std::uint16_t code) {
    observer_ = nullptr;
    // Without a connection, and without a client's handshake under way, no callback will come that
    // could end this later.
    if (connection_ == nullptr && !asked_) {
        delete this;
        return;
    }
    disowned_ = true;
    held_ = {};
    begin_ = held_bytes_ = 0;
    counted_.shrink_to(0);
    if (!may_send()) return;
    connection_->service().loop().assert_on_loop();
    connection_->close(code);
}

// --- receiving -------------------------------------------------------------------------------

void WebSocketState::on_message(WebSocketConnection& socket, WebSocketKind kind, ByteView message) {
    socket.service().loop().assert_on_loop();
    // Messages are taken from the front; the gap is closed when it is the larger part, so each
    // message moves a bounded number of times.
    if (begin_ > held_.size() / 2) {
        held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(begin_));
        begin_ = 0;
    }
    held_.emplace_back(std::string(message), kind);
    held_bytes_ += message.size() + message_cost;
    // A task that receives slowly pushes back on its peer: TCP's window fills, not our memory.
    const bool is_full = held_bytes_ >= held_bytes_max || socket.service().waiting()->is_scarce();
    if (is_full && !std::exchange(paused_, true)) socket.set_reading(false);
    if (receiver_ != nullptr) receiver_->waiter_.wake();
    counted_.grow_to(held_bytes_);  // the last: it may refuse all of them
}

// All sockets hold too much.
void WebSocketState::refuse_held() {
    if (receiver_ != nullptr && begin_ < held_.size()) {
        // The receive was woken for the first, and gets it.
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(begin_) + 1, held_.end());
        held_bytes_ = held_[begin_].text().size() + message_cost;
    } else {
        held_ = {};
        begin_ = held_bytes_ = 0;
    }
    counted_.shrink_to(held_bytes_);
    if (may_send()) connection_->refuse_messages();
}

void WebSocketState::wait(WebSocketReceive& receive) {
    if (connection_ != nullptr) connection_->service().loop().assert_on_loop();
    TR_CHECK(receiver_ == nullptr, "a WebSocket has one receive at a time");
    receiver_ = &receive;
    if (has_news()) return receive.waiter_.wake();  // it was this task's turn to give way
    if (ended()) stick(receive.waiter_);
}

std::optional<WebSocketMessage> WebSocketState::take(WebSocketReceive& receive) {
    forget(receive);
    if (begin_ == held_.size()) {
        // The end is reported once: a task that receives again after it is stuck, see wait().
        receiver_notified_ = true;
        return std::nullopt;
    }
    WebSocketMessage message = std::move(held_[begin_++]);
    held_bytes_ -= message.text().size() + message_cost;
    counted_.shrink_to(held_bytes_);
    if (begin_ == held_.size()) {
        begin_ = 0;
        held_.clear();
        // An idle socket frees the room for a past burst.
        if (held_.capacity() > 4) held_.shrink_to_fit();
    }
    // Resumes at half, so that a full buffer does not toggle reading with each message.
    if (!paused_ || held_bytes_ > held_bytes_max / 2) return message;
    paused_ = false;
    if (connection_ != nullptr && !connection_->connection().closing()) {
        connection_->service().loop().assert_on_loop();
        connection_->set_reading(true);  // more may come inside this call
    }
    return message;
}

// --- sending ---------------------------------------------------------------------------------

bool WebSocketState::begin(WebSocketSending& sending) {
    // Also where it would only wait, or fail: on another loop's thread that is a race.
    if (connection_ != nullptr) connection_->service().loop().assert_on_loop();
    if (!may_send()) {
        // Reported once: a task that goes on sending is stuck, and does not turn in a circle.
        sending.settled_ = !std::exchange(sender_notified_, true);
        return sending.settled_;
    }
    // Behind the waiting ones, even if there is room: sends keep their order.
    if (!senders_.empty() || connection_->has_backlog()) return false;
    push(sending);
    return true;
}

void WebSocketState::wait(WebSocketSending& sending) {
    if (sending.settled_) return sending.waiter_.wake();
    if (!may_send()) {
        if (ended()) stick(sending.waiter_);
        return;
    }
    sending.pending_ = true;
    ++sends_;
    senders_.push_back(sending);
}

void WebSocketState::push(WebSocketSending& sending) {
    connection_->service().loop().assert_on_loop();
    const WebSocketSend result = connection_->send_in_turn(sending.kind_, sending.bytes_);
    sending.settled_ = true;
    sending.sent_ = result != WebSocketSend::closed;
    sender_notified_ |= !sending.sent_;
}

// While the socket may send, one at a time until it is full again; after its end all are woken,
// each with a failure.
void WebSocketState::serve_senders() {
    while (!senders_.empty() && !(may_send() && connection_->has_backlog())) {
        WebSocketSending& first = senders_.front();
        if (may_send()) {
            push(first);  // a failure ends the socket, which wakes the sends that still wait here
        } else {
            first.settled_ = sender_notified_ = true;
        }
        first.unlink();
        first.waiter_.wake();
    }
}

// --- its life --------------------------------------------------------------------------------

void WebSocketState::on_open(WebSocketConnection& socket) {
    connection_ = &socket;
    answered();  // before anything that may fail, because nothing else wakes the task
    peer_ = socket.connection().peer();
    counted_.join(socket.service().waiting(), peer_);
    if (!socket.subprotocol().empty()) {
        subprotocol_ = std::make_unique<std::string>(socket.subprotocol());
    }
    if (!disowned_) return;
    socket.service().loop().assert_on_loop();
    socket.close(wire::websocket_close::going_away);  // its owner is gone
}

// A client's handshake is over.
void WebSocketState::answered() {
    asked_ = false;
    task::Waiter* const asking = std::exchange(asking_, nullptr);
    // It may not wait yet: open_websocket() without memory calls on_refused before it returns.
    if (asking != nullptr && asking->context() != nullptr) asking->wake();
}

void WebSocketState::on_refused(int http_status, std::string_view why) {
    answered();
    if (disowned_) {
        delete this;
        return;
    }
    refused_ = true;
    http_status_ = static_cast<std::uint16_t>(http_status);
    end(wire::websocket_close::abnormal, why);
}

void WebSocketState::on_drained(WebSocketConnection&) {
    serve_senders();
}

void WebSocketState::on_end(WebSocketConnection&, std::uint16_t code, ByteView reason) {
    if (!disowned_) end(code, reason);
}

void WebSocketState::on_close(WebSocketConnection&, std::uint16_t code, ByteView reason) {
    connection_ = nullptr;
    if (disowned_) {
        delete this;
    } else if (!ended()) {
        end(code, reason);
    }
}

void WebSocketState::end(std::uint16_t code, ByteView reason) {
    code_ = code;
    try {
        if (!reason.empty()) reason_ = std::make_unique<std::string>(reason);
    } catch (const std::bad_alloc&) {
        // Left out. Nothing but this call wakes the task, so it may not fail here.
    }
    // The task learns of the end by an operation that waits, or by the messages it still has to
    // take. Otherwise only the observer can end it.
    const bool told = receiver_ != nullptr || sends_ > 0 || begin_ < held_.size();
    if (receiver_ != nullptr) receiver_->waiter_.wake();
    serve_senders();
    if (observer_ != nullptr) observer_->on_ended(told);  // the last: it may end this
}

void WebSocketState::stick(task::Waiter& waiter) {
    observer_ != nullptr ? observer_->on_stuck() : waiter.wake();
}

}  // namespace tiderace::http
