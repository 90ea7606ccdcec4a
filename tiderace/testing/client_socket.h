// Internal. WebSocket: the far end of a socket of the App, in the hand of a test.
//
//   auto socket = client.websocket("/chat");
//   socket.send("hello");
//   EXPECT_EQ(socket.receive()->text(), "hello");
//   EXPECT_FALSE(socket.receive());                  // nothing more, now
//
// It receives only inside receive() and ended(), so that the server sees a slow client. No call
// lets time pass. Pings and close frames are answered as they are read: over a longer advance() the
// server gives a socket up that is not read (WebSocketOptions::ping_interval). Ending it closes its
// connection without a close frame, as a client that goes away.
//
// Owner    The test; before the Client.
// Thread   The test's.
// Errors   status() of a refusal; fault() where the server broke the protocol.
// Limits   Messages of 16 MiB.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/http/client/headers.h"
#include "tiderace/http/websocket/socket.h"

namespace tiderace::testing {

class ClientStage;

class WebSocket final {
  public:
    // Asks, with an upgrade's fields and these.
    WebSocket(ClientStage& stage, std::string_view target, const http::Headers& fields);
    ~WebSocket();
    WebSocket(WebSocket&&) noexcept;
    WebSocket& operator=(WebSocket&&) noexcept;

    // 101; or why not. 0: there was no answer, and fault() says why.
    int status() const;
    std::string_view subprotocol() const;
    // The answer of a refusal, as it came.
    std::string_view refusal() const;

    void send(std::string_view text);
    void send_binary(ByteView bytes);
    // Bytes as they are: for frames that no client would send.
    void send_raw(ByteView bytes);
    void close(std::uint16_t code = 1000, std::string_view reason = {});
    // The connection ends, without a close frame; with `reset`, by force.
    void disconnect(bool reset = false);

    // The next message that has come; none: not now, or no more.
    std::optional<http::WebSocketMessage> receive();
    // The server has closed, and all messages were received.
    bool ended();
    // The server's close frame had it; 0: there was none.
    std::uint16_t close_code() const;
    std::string_view close_reason() const;
    // "": the server keeps to the protocol.
    std::string_view fault() const;

  private:
    class Wire;

    std::unique_ptr<Wire> wire_;
};

}  // namespace tiderace::testing
