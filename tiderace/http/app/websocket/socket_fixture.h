// WebSockets of an App on the in-memory network.
#pragma once

#include <memory>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/websocket/socket_endpoint.h"
#include "tiderace/http/app/websocket/topic_events.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {

using Opcode = wire::WebSocketOpcode;
using testing::client_frame;

class SocketTest : public AppTest {
  protected:
    using Peer = std::unique_ptr<testing::Peer>;

    // A peer that asked for a socket, whatever the answer is.
    Peer ask_socket(std::string_view target, std::string_view fields = {}) {
        Peer peer = connect();
        peer->say("GET " + std::string(target) +
                  " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
                  std::string(fields) + "\r\n");
        world.settle();
        return peer;
    }
    Peer open(std::string_view target, std::string_view fields = {}) {
        Peer peer = ask_socket(target, fields);
        EXPECT_TRUE(peer->heard().starts_with("HTTP/1.1 101 ")) << peer->heard();
        return peer;
    }
    void say(testing::Peer& peer, std::string_view text) {
        peer.say(client_frame(Opcode::text, text));
        world.settle();
    }
    void say_close(testing::Peer& peer, std::uint16_t code) {
        const std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
        peer.say(client_frame(Opcode::close, payload));
        world.settle();
    }
    // The frames behind the head of the answer.
    static std::string frames(const testing::Peer& peer) {
        return testing::WebSocketStage::heard(peer);
    }
};

}  // namespace tiderace::http
