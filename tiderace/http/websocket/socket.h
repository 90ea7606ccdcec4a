// WebSocket: one socket as a task sees it: receive what comes, send what goes.
//
//   Task<> echo(WebSocket& socket) {
//       while (auto message = co_await socket.receive()) co_await socket.send(*message);
//   }
//
//   peer -> WebSocketConnection -> held messages -> receive()     held_bytes_max: it is held back
//   send() -> [waits while the queue is high] -> the connection's queue -> peer
//
// A receive or a send that can complete at once does not suspend; 128 of them in a row give way
// to other tasks. A time-out is within(5s, socket.receive()); a receive that is cancelled loses
// nothing. A send that is cancelled was not sent, unless it was queued in the same turn: there
// was room again, or its task only gave way. Then it arrives as a whole.
//
// Owner    The application, which lends it to the handler's task. Its end closes the socket, with
//          1000.
// Thread   The loop's; a call on another loop's thread aborts (Topics reach sockets of all loops).
//          One receive at a time; sends of several tasks leave one after the other.
// Errors   receive() gives nothing and send() is false once the socket has ended: see close_code().
// Limits   WebSocketOptions; held_bytes_max and one message that were not received yet.
// Memory   With its connection about 700 bytes, and no buffer while it waits.
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/http/websocket/handler.h"
#include "tiderace/http/websocket/service.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class WebSocketState;

// One message. Text is UTF-8.
class WebSocketMessage {
  public:
    explicit WebSocketMessage(std::string bytes, WebSocketKind kind = WebSocketKind::text)
        : bytes_(std::move(bytes)), kind_(kind) {}

    const std::string& text() const& { return bytes_; }
    std::string text() && { return std::move(bytes_); }
    WebSocketKind kind() const { return kind_; }
    bool is_text() const { return kind_ == WebSocketKind::text; }

  private:
    std::string bytes_;
    WebSocketKind kind_;
};

class [[nodiscard("co_await it")]] WebSocketReceive final {
  public:
    explicit WebSocketReceive(WebSocketState& state) : state_(&state) {}
    WebSocketReceive(WebSocketReceive&&) = default;  // until it is awaited
    ~WebSocketReceive();

    bool await_ready();
    void await_suspend(std::coroutine_handle<> handle);
    std::optional<WebSocketMessage> await_resume();

  private:
    friend class WebSocketState;
    WebSocketState* state_;
    task::Waiter waiter_;
};

class [[nodiscard("co_await it")]] WebSocketSending final : private ListHook {
  public:
    WebSocketSending(WebSocketState& state, WebSocketKind kind, ByteView bytes)
        : state_(&state), bytes_(bytes), kind_(kind) {}
    WebSocketSending(WebSocketSending&& other) noexcept  // until it is awaited
        : ListHook(), state_(other.state_), bytes_(other.bytes_), kind_(other.kind_) {}
    ~WebSocketSending();

    bool await_ready();
    void await_suspend(std::coroutine_handle<> handle);
    bool await_resume();

  private:
    friend class WebSocketState;
    template <typename T>
    friend class tiderace::IntrusiveList;

    WebSocketState* state_;
    ByteView bytes_;
    task::Waiter waiter_;
    WebSocketKind kind_;
    bool settled_ = false;
    bool sent_ = false;
    bool pending_ = false;  // the state counts it
};

class WebSocket final {
  public:
    using Message = WebSocketMessage;

    explicit WebSocket(WebSocketState& state) : state_(&state) {}
    WebSocket(WebSocket&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    WebSocket& operator=(WebSocket&& other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~WebSocket();

    // The next message; nothing: no more comes.
    WebSocketReceive receive() { return WebSocketReceive(*state_); }

    // Waits while the queue is above its high mark. True: it is queued. False: it was not sent,
    // because the socket has ended.
    // The bytes have to live until it returns.
    WebSocketSending send(std::string_view text) {
        return WebSocketSending(*state_, WebSocketKind::text, text);
    }
    WebSocketSending send(const Message& message) {
        return WebSocketSending(*state_, message.kind(), message.text());
    }
    WebSocketSending send_binary(ByteView bytes) {
        return WebSocketSending(*state_, WebSocketKind::binary, bytes);
    }

    // A member of a topic until it leaves or ends. False: a limit, or the socket has ended. Joining
    // twice is once.
    bool join(Topics& topics, std::string_view topic);
    void leave(Topics& topics, std::string_view topic);
    // As Topics::publish; with SlowReceiver::wait nothing more is read from this socket while a
    // member is behind.
    void publish(Topics& topics, std::string_view topic, const Message& message);

    // At most 125 bytes. The options' ping_interval pings silent peers by itself.
    void ping(ByteView payload = {});
    // Begins the closing handshake: all that was sent arrives, and nothing more is received. A
    // reason has at most 123 bytes.
    void close(std::uint16_t code = wire::websocket_close::normal, std::string_view reason = {});
    // Breaks off.
    void abort();

    // It may send.
    bool open() const;
    // Once it has ended: the peer's code, or ours where the peer was at fault (1002, 1007, 1009);
    // 1005: the peer gave none; 1006: the connection just ended. 0 before.
    std::uint16_t close_code() const;
    std::string_view close_reason() const;
    std::string_view subprotocol() const;  // "" for none
    const core::Address& peer() const;     // also afterwards

    WebSocketState& state() const { return *state_; }

  private:
    WebSocketState* state_;
};

}  // namespace tiderace::http
