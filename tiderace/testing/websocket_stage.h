// WebSocketStage: WebSockets on a World, at /ws of an H1Stage, with a handler that records its
// calls, and echoes on request.
//
//   WebSocketStage stage(world);
//   auto peer = stage.open();                         // the opening handshake is done
//   peer->say(client_frame(Opcode::text, "Hello"));
//   EXPECT_EQ(stage.heard(*peer), "text(Hello)");     // what it received, frame by frame
//   EXPECT_EQ(stage.told(), "open text(Hello)");      // the handler's calls
//
// Owner    The test; it goes before its world.
// Thread   One.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/websocket/accept.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/testing/h1_stage.h"

namespace tiderace::testing {

// The frame that a client sends, masked with a key of the test's.
struct FrameBits {
    bool final = true;
    bool compressed = false;
    bool masked = true;
};
std::string client_frame(http::wire::WebSocketOpcode opcode, ByteView payload, FrameBits bits = {});

// A server's bytes, frame by frame: "text(Hello) ping() close(1000 bye)"; "!" and what is left
// where they are no frames.
std::string describe_server_frames(ByteView bytes);

class WebSocketStage final : private http::WebSocketHandler {
  public:
    explicit WebSocketStage(World& world, http::WebSocketOptions options = {},
                            net::TcpServerOptions connections = {});

    // The request for an upgrade, with more fields if the test wants them.
    static std::string request(const std::string& more_fields = "");

    // A peer that was let in; nullptr where it was not.
    std::unique_ptr<Peer> open(const std::string& more_fields = "");
    std::unique_ptr<Peer> connect() { return http_.connect(); }
    // The bytes behind the head of the answer.
    static std::string heard(const Peer& peer);
    // Turns until the peer was sent this, or nothing more happens.
    bool hears(const Peer& peer, const std::string& frames);
    bool run_until(const std::function<bool()>& done) { return http_.run_until(done); }

    // The handler's calls since the last told(), separated by spaces.
    std::string told();
    // Sockets that are open, the oldest first.
    const std::vector<http::WebSocketConnection*>& sockets() const { return sockets_; }

    bool echo = true;
    std::function<void(http::WebSocketConnection&)> when_opened;
    std::function<void(http::WebSocketConnection&)> when_told;  // of a message
    std::function<void(http::WebSocketConnection&)> when_drained;
    std::function<void(http::WebSocketConnection&)> when_ponged;
    std::function<void(http::WebSocketConnection&)> when_ended;
    std::function<void(http::WebSocketConnection&)> when_closed;

    http::WebSocketService& service() { return service_; }
    H1Stage& http() { return http_; }

  private:
    void on_open(http::WebSocketConnection& socket) override;
    void on_message(http::WebSocketConnection& socket, http::WebSocketKind kind,
                    ByteView message) override;
    void on_fragment(http::WebSocketConnection& socket, http::WebSocketKind kind, ByteView piece,
                     bool last) override;
    void on_drained(http::WebSocketConnection& socket) override;
    void on_pong(http::WebSocketConnection& socket, ByteView payload) override;
    void on_end(http::WebSocketConnection& socket, std::uint16_t code, ByteView reason) override;
    void on_close(http::WebSocketConnection& socket, std::uint16_t code, ByteView reason) override;

    std::vector<http::WebSocketConnection*> sockets_;
    std::string told_;
    http::WebSocketService service_;
    H1Stage http_;  // the last: its connections tell the others when they close
};

}  // namespace tiderace::testing
