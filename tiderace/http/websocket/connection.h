// WebSocketConnection: RFC 6455 on one connection, as a server or a client, from the end of the
// opening handshake on. Over HTTP/1.1 it has the connection for itself; over HTTP/2 (RFC 8441) the
// connection is one stream, and nothing here is different.
//
//   bytes -> wire::WebSocketReader -> unmask, inflate, check UTF-8 -> WebSocketHandler
//   send() -> deflate, mask -> the connection's queue
//
// Owner    Itself, from its making until on_close. Made by accept_websocket or open_websocket.
// Thread   The loop's. Others keep its id and go through EventLoop::post and
//          WebSocketService::find.
// Errors   A peer's fault is answered with its close code and ends the connection. A message after
//          the end, a ping or a close reason that is too long: ignored or cut, with a line in the
//          log.
// Limits   WebSocketOptions; the connection's high mark stops reading until the peer takes more.
// Memory   Idle: this object, about 220 bytes; no buffer, and no window unless context takeover
//          was agreed on. Worst: one message, and queue_bytes_max with a message above it.
// Keywords: ping, pong, WebSocket ping, close frame, fragmentation
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/base/utf8.h"
#include "tiderace/http/websocket/handler.h"
#include "tiderace/http/websocket/service.h"
#include "tiderace/http/wire/websocket/deflate.h"
#include "tiderace/http/wire/websocket/frame.h"
#include "tiderace/net/connection.h"
#include "tiderace/task/topic_listener.h"

namespace tiderace::http {

// The result of the opening handshake.
struct WebSocketSetup {
    bool is_client = false;
    std::optional<wire::DeflateTerms> deflate;
    std::unique_ptr<WebSocketService::Context> context;  // with context takeover
    std::string subprotocol;
    core::Ref<core::Shared> tree;  // of the site that has the service and the handler
};

// The outcome of a send. `sent` and `high`: the whole message is queued.
enum class WebSocketSend : std::uint8_t {
    sent,
    high,     // and it is time to wait for on_drained
    dropped,  // SlowReceiver::drop
    closed,   // the socket is closing, or closes now because its queue is full
};

class TopicSubscription;

class WebSocketConnection final : public net::Session, private task::TopicPublisher {
  public:
    // Takes the place of the connection's Session with net::Connection::replace_session or start;
    // then open().
    WebSocketConnection(WebSocketService& service, net::Connection& connection,
                        WebSocketHandler& handler, WebSocketSetup setup);
    ~WebSocketConnection() override;
    // Calls on_open.
    void open() TR_ON_LOOP;

    // At any time, from any callback but on_close, and however much is still unsent. Text must be
    // UTF-8.
    WebSocketSend send(WebSocketKind kind, ByteView message) TR_ON_LOOP;
    WebSocketSend send_text(ByteView text) TR_ON_LOOP { return send(WebSocketKind::text, text); }
    WebSocketSend send_binary(ByteView bytes) TR_ON_LOOP {
        return send(WebSocketKind::binary, bytes);
    }
    // For a caller that waits while has_backlog(): queue_bytes_max does not count.
    WebSocketSend send_in_turn(WebSocketKind kind, ByteView message) TR_ON_LOOP;
    // The queue is above the high mark, whatever filled it: on_drained comes.
    bool has_backlog() {
        high_reported_ |= connection_->has_backlog();
        return connection_->has_backlog();
    }
    // At most 125 bytes; a longer one is not sent.
    void ping(ByteView payload = {}) TR_ON_LOOP;
    // Begins the closing handshake: sent messages arrive, nothing more is delivered. A code that
    // wire::may_be_sent, or no_code without a reason; another one is sent as internal_error. The
    // reason is cut after 123 bytes, between characters, and left out if it is not UTF-8.
    void close(std::uint16_t code = wire::websocket_close::normal, ByteView reason = {}) TR_ON_LOOP;
    // Breaks off.
    void abort() TR_ON_LOOP;
    // While false nothing is delivered, and the peer is pushed back on. Starts true.
    void set_reading(bool on) TR_ON_LOOP;

    // The socket as a member of topics of its service. False: a limit, or the connection ends.
    // Joining twice is once.
    bool join(Topics& topics, std::string_view topic) TR_ON_LOOP;
    void leave(Topics& topics, std::string_view topic) TR_ON_LOOP;
    // With SlowReceiver::wait nothing more is read from this socket while a member is behind.
    void publish(Topics& topics, std::string_view topic, WebSocketKind kind,
                 ByteView message) TR_ON_LOOP;

    bool is_open() const { return state_ == State::open; }
    ByteView subprotocol() const { return subprotocol_ ? ByteView(*subprotocol_) : ByteView{}; }
    const std::optional<wire::DeflateTerms>& deflate_terms() const { return deflate_; }
    // The peer's fault that ended it, if one did.
    wire::WebSocketFault fault() const { return fault_; }
    net::Connection& connection() { return *connection_; }
    WebSocketService& service() { return *service_; }
    WebSocketId id() const { return id_; }  // any thread; fixed when made

  private:
    //   open -- close() --> closing -- the peer's close frame or end, a fault --> closed
    //    \--- the peer's close frame, which is answered; its end; a fault ---------^
    //
    // The connection ends in any of them, at the latest close_timeout after `closing` began.
    enum class State : std::uint8_t {
        open,
        closing,  // our close frame is sent; the peer's is awaited, messages are dropped
        closed,   // nothing more is sent or received; the connection ends
    };
    using Step = wire::WebSocketReader::Step;
    struct Message;
    friend class TopicSubscription;
    friend class WebSocketState;

    std::size_t on_data(net::Connection& connection, ByteView data) TR_ON_LOOP override;
    void on_drained(net::Connection& connection) TR_ON_LOOP override;
    void on_peer_finished(net::Connection& connection) TR_ON_LOOP override;
    void on_deadline(net::Connection& connection) TR_ON_LOOP override;
    void on_drain(net::Connection& connection) TR_ON_LOOP override;
    void on_close(net::Connection& connection, net::CloseReason reason) TR_ON_LOOP override;

    template <typename Call>
    void tell(Call&& call) TR_ON_LOOP;
    bool may_read() const;
    bool may_write() const;
    void take_payload(const Step& step) TR_ON_LOOP;
    void take_fragment(const Step& step) TR_ON_LOOP;
    void collect(const Step& step) TR_ON_LOOP;
    void refuse_messages() TR_ON_LOOP;
    void deliver(const Step& step, ByteView bytes, bool is_checked) TR_ON_LOOP;
    std::optional<ByteView> inflate(ByteView bytes) TR_ON_LOOP;
    ByteView unmasked(const Step& step);
    void take_control(const Step& step) TR_ON_LOOP;
    void take_close(ByteView payload) TR_ON_LOOP;
    void fail(wire::WebSocketFault fault) TR_ON_LOOP;
    void check_alive() TR_ON_LOOP;

    bool reads_with_window() const;
    bool writes_with_window() const;
    int write_window_bits() const;
    bool has_room(std::uint64_t bytes) const;
    WebSocketSend overflow() TR_ON_LOOP;
    WebSocketSend queue_data(WebSocketKind kind, ByteView message) TR_ON_LOOP;
    WebSocketSend queue_message(wire::WebSocketOpcode opcode, ByteView message) TR_ON_LOOP;
    void queue_frame(wire::WebSocketOpcode opcode, bool compressed, ByteView payload);
    void queue_payload(ByteView payload, wire::WebSocketMask mask);
    void send_close(std::uint16_t code, ByteView reason) TR_ON_LOOP;
    void end_connection() TR_ON_LOOP;
    ByteView end_reason() const;

    // For topics. -------------------------------------------------------------------------------
    // Which of the encodings that all may share fits: 0 plain, 9 to 15 deflated with that window;
    // -1: it has its own.
    int shared_form() const;
    WebSocketSend send_frames(ByteView frames, core::Ref<core::Shared> owner,
                              std::size_t count) TR_ON_LOOP;
    void take(TopicBatch& batch) TR_ON_LOOP;
    void set_held(bool held) TR_ON_LOOP override;
    void on_failed() TR_ON_LOOP override;
    WebSocketSend queued() TR_ON_LOOP;

    WebSocketService* service_;
    net::Connection* connection_;
    WebSocketHandler* handler_;
    wire::WebSocketReader reader_;
    std::unique_ptr<Message> message_;  // until it is whole
    std::unique_ptr<WebSocketService::Context> context_;
    std::unique_ptr<std::string> subprotocol_;
    core::Ref<core::Shared> tree_;         // WebSocketSetup's
    std::unique_ptr<std::string> reason_;  // of the peer's close frame
    std::vector<std::unique_ptr<TopicSubscription>> subscriptions_;
    std::optional<wire::DeflateTerms> deflate_;
    WebSocketId id_;
    std::uint16_t code_ = wire::websocket_close::abnormal;
    Utf8Validator utf8_;
    wire::WebSocketFault fault_ = wire::WebSocketFault::none;
    State state_ = State::open;
    bool is_client_;
    bool reading_ = true;
    bool received_lately_ = true;  // since the last look
    bool awaiting_pong_ = false;
    bool high_reported_ = false;
    bool held_ = false;    // topics are behind: what this one would publish waits
    bool behind_ = false;  // it is one of those that are waited for
};

}  // namespace tiderace::http
