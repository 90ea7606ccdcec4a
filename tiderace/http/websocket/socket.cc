#include "tiderace/http/websocket/socket.h"

#include "tiderace/http/websocket/socket_state.h"

namespace tiderace::http {

WebSocket::~WebSocket() {
    if (state_ != nullptr) state_->disown();
}

// A socket that has closed has no connection, and left its topics with its close.
bool WebSocket::join(Topics& topics, std::string_view topic) {
    topics.loop().assert_on_loop();
    return open() && state_->connection()->join(topics, topic);
}

void WebSocket::leave(Topics& topics, std::string_view topic) {
    topics.loop().assert_on_loop();
    if (open()) state_->connection()->leave(topics, topic);
}

// A message that was read just before the close still goes to the others, and the publisher, whom
// it would leave out, is no longer among them.
void WebSocket::publish(Topics& topics, std::string_view topic, const Message& message) {
    topics.loop().assert_on_loop();
    if (!open()) return void(topics.publish(topic, message));
    state_->connection()->publish(topics, topic, message.kind(), message.text());
}

void WebSocket::ping(ByteView payload) {
    if (!open()) return;
    state_->connection()->service().loop().assert_on_loop();
    state_->connection()->ping(payload);
}

void WebSocket::close(std::uint16_t code, std::string_view reason) {
    if (!open()) return;
    state_->connection()->service().loop().assert_on_loop();
    state_->connection()->close(code, reason);
}

void WebSocket::abort() {
    if (state_->connection() == nullptr) return;
    state_->connection()->service().loop().assert_on_loop();
    state_->connection()->abort();
}

bool WebSocket::open() const {
    return state_->connection() != nullptr && state_->connection()->is_open();
}
std::uint16_t WebSocket::close_code() const {
    return state_->code();
}
std::string_view WebSocket::close_reason() const {
    return state_->reason();
}
std::string_view WebSocket::subprotocol() const {
    return state_->subprotocol();
}
const core::Address& WebSocket::peer() const {
    return state_->peer();
}

// --- receiving -------------------------------------------------------------------------------

WebSocketReceive::~WebSocketReceive() {
    state_->forget(*this);
}
// spend(): a task that always finds a message would keep the loop to itself. After its share it
// suspends once, although the operation is done.
bool WebSocketReceive::await_ready() {
    return state_->has_news() && task::Context::here().runner->spend();
}
void WebSocketReceive::await_suspend(std::coroutine_handle<> handle) {
    waiter_.suspend(handle);
    state_->wait(*this);
}
std::optional<WebSocketMessage> WebSocketReceive::await_resume() {
    return state_->take(*this);
}

// --- sending ---------------------------------------------------------------------------------

WebSocketSending::~WebSocketSending() {
    state_->forget(*this);
}
bool WebSocketSending::await_ready() {
    return state_->begin(*this) && task::Context::here().runner->spend();
}
void WebSocketSending::await_suspend(std::coroutine_handle<> handle) {
    waiter_.suspend(handle);
    state_->wait(*this);
}
bool WebSocketSending::await_resume() {
    state_->forget(*this);
    return sent_;
}

}  // namespace tiderace::http
