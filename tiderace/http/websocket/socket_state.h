// Internal. WebSocketState: what stands between a WebSocketConnection, which pushes messages, and a
// WebSocket, whose task pulls them. A user sees socket.h.
//
//   new -> opened -> ended
//    \-> asked -> opened, or refused and ended         a client's
//
// Owner    The WebSocket while there is one, and the connection from on_open to on_close: the last
//          one frees it. After its end the connection may still finish the closing handshake.
// Thread   The loop's.
// Limits   held_bytes_max of messages that were not received yet, each with message_cost, and one
//          message more; then nothing is read from the peer. For all sockets
//          WebSocketOptions::waiting_bytes_max.
// Memory   About 260 bytes.
// Keywords: back-pressure, slow consumer
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tiderace/core/budget.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/http/websocket/socket.h"

namespace tiderace::http {

// Notified when the socket ends, for the owner of the task that uses it.
class WebSocketObserver {
  public:
    // `waiting`: a receive or a send of the task will report it; or messages are still held for it.
    virtual void on_ended(bool waiting) = 0;
    // The task goes on although an operation reported the end: no other will wake it.
    virtual void on_stuck() = 0;

  protected:
    ~WebSocketObserver() = default;
};

class WebSocketState final : public WebSocketHandler {
  public:
    static constexpr std::size_t held_bytes_max = 64_KiB;
    static constexpr std::size_t message_cost = 64;  // of one without bytes

    // The WebSocket is gone. With `code`, if it is still open.
    void disown(std::uint16_t code = wire::websocket_close::normal);
    void set_observer(WebSocketObserver* observer) { observer_ = observer; }

    bool opened() const { return connection_ != nullptr || ended(); }
    // A client's handshake begins, which calls on_open or on_refused: until then this stays. The
    // waiter, if it lives, is woken then.
    void ask(task::Waiter* waiter) {
        asked_ = true;
        asking_ = waiter;
    }
    void stop_asking() { asking_ = nullptr; }
    bool asked() const { return asked_; }
    // It was refused; reason() has the cause.
    bool refused() const { return refused_; }
    // The refusal's status; 0: there was no answer.
    int http_status() const { return http_status_; }
    bool ended() const { return code_ != 0; }
    WebSocketConnection* connection() const { return connection_; }  // nullptr: not open
    std::uint16_t code() const { return code_; }
    std::string_view reason() const { return reason_ ? std::string_view(*reason_) : ""; }
    const core::Address& peer() const { return peer_; }
    std::string_view subprotocol() const {
        return subprotocol_ ? std::string_view(*subprotocol_) : "";
    }

    // For the operations. -----------------------------------------------------------------------

    bool has_news() const { return begin_ < held_.size() || (ended() && !receiver_notified_); }
    void wait(WebSocketReceive& receive);
    std::optional<WebSocketMessage> take(WebSocketReceive& receive);
    void forget(WebSocketReceive& receive) {
        if (receiver_ == &receive) receiver_ = nullptr;
    }

    // True: settled.
    bool begin(WebSocketSending& sending);
    void wait(WebSocketSending& sending);
    void forget(WebSocketSending& sending) {
        sends_ -= std::exchange(sending.pending_, false) ? 1 : 0;
    }

  private:
    class Held final : public core::Budget::Holder {
      public:
        explicit Held(WebSocketState& state) : state_(&state) {}

      private:
        void refuse() TR_ON_LOOP override { state_->refuse_held(); }
        WebSocketState* state_;
    };

    void on_open(WebSocketConnection& socket) override;
    void on_message(WebSocketConnection& socket, WebSocketKind kind, ByteView message) override;
    void on_drained(WebSocketConnection& socket) override;
    void on_end(WebSocketConnection& socket, std::uint16_t code, ByteView reason) override;
    void on_close(WebSocketConnection& socket, std::uint16_t code, ByteView reason) override;
    void on_refused(int http_status, std::string_view why) override;

    void refuse_held() TR_ON_LOOP;
    void push(WebSocketSending& sending);
    void serve_senders();
    void end(std::uint16_t code, ByteView reason);
    void stick(task::Waiter& waiter);
    void answered();
    bool may_send() const { return connection_ != nullptr && connection_->is_open(); }

    WebSocketConnection* connection_ = nullptr;
    WebSocketObserver* observer_ = nullptr;
    WebSocketReceive* receiver_ = nullptr;  // until it has its message
    task::Waiter* asking_ = nullptr;        // for the end of a client's handshake
    IntrusiveList<WebSocketSending> senders_;
    std::vector<WebSocketMessage> held_;
    std::size_t begin_ = 0;  // of what was not received, in held_
    std::size_t held_bytes_ = 0;
    Held counted_{*this};      // held_bytes_, as a part of all sockets'
    std::uint32_t sends_ = 0;  // that wait, or were woken and did not go on yet
    std::uint16_t code_ = 0;   // not 0: it ended
    std::uint16_t http_status_ = 0;
    bool asked_ = false;  // a client's handshake is under way
    bool refused_ = false;
    bool paused_ = false;
    bool disowned_ = false;
    bool receiver_notified_ = false;
    bool sender_notified_ = false;
    std::unique_ptr<std::string> reason_;
    std::unique_ptr<std::string> subprotocol_;
    core::Address peer_;
};

}  // namespace tiderace::http
