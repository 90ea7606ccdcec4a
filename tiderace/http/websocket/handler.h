// Internal. WebSocketHandler: what an application does with a WebSocket, as callbacks.
//
//   class Echo final : public http::WebSocketHandler {
//       void on_message(http::WebSocketConnection& socket, http::WebSocketKind kind,
//                       ByteView message) override { socket.send(kind, message); }
//   };
//
// Owner    The application: it lives until its on_close. One handler may serve every socket of a
//          loop; one made for each socket deletes itself in on_close.
// Thread   The loop's.
// Errors   A callback that throws ends its socket with 1011, and is one line of the log.
// Memory   Views are gone on return.
#pragma once

#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace::http {

class WebSocketConnection;

enum class WebSocketKind : std::uint8_t { text, binary };

class WebSocketHandler {
  public:
    virtual ~WebSocketHandler() = default;

    // May send from here on.
    virtual void on_open(WebSocketConnection&) {}
    // A whole message. Text is UTF-8: it was checked.
    virtual void on_message(WebSocketConnection& socket, WebSocketKind kind, ByteView message) = 0;
    // With WebSocketOptions::fragments: a message as it arrives, instead of on_message. The last
    // piece may be empty; text may be cut inside a character. A compressed message comes in one
    // piece.
    virtual void on_fragment(WebSocketConnection&, WebSocketKind, ByteView /*piece*/,
                             bool /*last*/) {}
    // The queue fell to the low mark after a send returned `high`.
    virtual void on_drained(WebSocketConnection&) {}
    // The payload of a pong: the answer to our ping, or an unsolicited one.
    virtual void on_pong(WebSocketConnection&, ByteView /*payload*/) {}
    // Nothing more is received or sent, because the peer closed, ended or was at fault: on_close
    // follows, with the same, when the connection has ended too. Not after abort().
    virtual void on_end(WebSocketConnection&, std::uint16_t /*code*/, ByteView /*reason*/) {}
    // The last call, exactly once, after abort() too; nothing can be sent any more. `code` is the
    // peer's, wire::websocket_close::no_code where it gave none; if we broke off for a fault of the
    // peer's both are what we sent; `abnormal` where the connection just ended.
    virtual void on_close(WebSocketConnection& socket, std::uint16_t code, ByteView reason) = 0;
    // A client's opening handshake failed: the only call then. `http_status` is 0 where there was
    // no answer.
    virtual void on_refused(int /*http_status*/, std::string_view /*why*/) {}
};

}  // namespace tiderace::http
