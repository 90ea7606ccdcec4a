#include "tiderace/testing/websocket_stage.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tiderace::testing {
namespace {

using http::wire::WebSocketOpcode;
using http::wire::WebSocketReader;

// Long payloads are shown by their length.
std::string shown(ByteView payload) {
    if (payload.size() <= 64) return std::string(payload);
    return std::to_string(payload.size()) + " bytes";
}

std::string describe_close(ByteView payload) {
    const auto close = http::wire::parse_websocket_close(payload);
    if (close.code == http::wire::websocket_close::no_code) return "close()";
    return "close(" + std::to_string(close.code) +
           (close.reason.empty() ? "" : ' ' + std::string(close.reason)) + ')';
}

std::string describe(WebSocketOpcode opcode, ByteView payload) {
    switch (opcode) {
        case WebSocketOpcode::text:
            return "text(" + shown(payload) + ')';
        case WebSocketOpcode::binary:
            return "binary(" + shown(payload) + ')';
        case WebSocketOpcode::ping:
            return "ping(" + shown(payload) + ')';
        case WebSocketOpcode::pong:
            return "pong(" + shown(payload) + ')';
        case WebSocketOpcode::close:
            return describe_close(payload);
        case WebSocketOpcode::continuation:
            break;
    }
    return "continuation";
}

void add_word(std::string& text, const std::string& word) {
    text += (text.empty() ? "" : " ") + word;
}

}  // namespace

std::string client_frame(WebSocketOpcode opcode, ByteView payload, FrameBits bits) {
    http::wire::WebSocketFrameHead head{.payload_bytes = payload.size(),
                                        .opcode = opcode,
                                        .final = bits.final,
                                        .compressed = bits.compressed,
                                        .masked = bits.masked};
    if (bits.masked) head.mask = {{0x12, 0x34, 0x56, 0x78}};
    std::array<char, http::wire::websocket_head_bytes_max> out;
    std::string bytes(out.data(), http::wire::write_websocket_head(head, out));
    // Without a mask its key is zero, and this a copy.
    std::string masked(payload.size(), '\0');
    http::wire::apply_websocket_mask(payload, head.mask, masked.data());
    return bytes + masked;
}

std::string describe_server_frames(ByteView bytes) {
    WebSocketReader reader(
        // No limit here: the server's limits are under test.
        {.masked = false, .compression = true, .message_bytes_max = std::size_t{1} << 40});
    http::wire::WebSocketInflater inflater;
    std::string text;
    std::string message;
    while (!bytes.empty()) {
        const auto step = reader.next(bytes);
        bytes.remove_prefix(step.used);
        if (step.kind == WebSocketReader::Step::Kind::control) {
            add_word(text, describe(step.opcode, step.payload));
        } else if (step.kind == WebSocketReader::Step::Kind::payload) {
            if (step.first) message.clear();
            message += step.payload;
            if (!step.last) continue;
            std::string whole = message;
            if (step.compressed) {
                whole.clear();
                (void)inflater.decompress(message, true, std::size_t{1} << 30, whole);
            }
            add_word(text, (step.compressed ? "deflated " : "") + describe(step.opcode, whole));
        } else {
            // A fault, or a frame that is not whole: what is left shows which.
            return text + " !" + std::string(bytes.substr(0, 64));
        }
    }
    return text;
}

WebSocketStage::WebSocketStage(World& world, http::WebSocketOptions options,
                               net::TcpServerOptions connections)
    : service_(world.loop(), std::move(options)),
      http_(world, H1Stage::plain(), std::move(connections)) {
    http_.on("/ws", [this](http::Exchange& exchange) {
        http::accept_websocket(exchange, service_, *this);
    });
}

std::string WebSocketStage::request(const std::string& more_fields) {
    return "GET /ws HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
           more_fields + "\r\n";
}

std::unique_ptr<Peer> WebSocketStage::open(const std::string& more_fields) {
    auto peer = connect();
    peer->say(request(more_fields));
    const std::size_t before = sockets_.size();
    const bool opened = run_until([&] {
        return peer->heard().find("\r\n\r\n") != std::string::npos && sockets_.size() > before;
    });
    return opened ? std::move(peer) : nullptr;
}

std::string WebSocketStage::heard(const Peer& peer) {
    const std::size_t head = peer.heard().find("\r\n\r\n");
    if (head == std::string::npos) return "no answer";
    return describe_server_frames(ByteView(peer.heard()).substr(head + 4));
}

bool WebSocketStage::hears(const Peer& peer, const std::string& frames) {
    return run_until([&] { return heard(peer) == frames; });
}

std::string WebSocketStage::told() {
    return std::exchange(told_, {});
}

void WebSocketStage::on_open(http::WebSocketConnection& socket) {
    add_word(told_, "open");
    sockets_.push_back(&socket);
    if (when_opened) when_opened(socket);
}

void WebSocketStage::on_message(http::WebSocketConnection& socket, http::WebSocketKind kind,
                                ByteView message) {
    const bool is_text = kind == http::WebSocketKind::text;
    add_word(told_, describe(is_text ? WebSocketOpcode::text : WebSocketOpcode::binary, message));
    if (echo) socket.send(kind, message);
    if (when_told) when_told(socket);
}

void WebSocketStage::on_fragment(http::WebSocketConnection& socket, http::WebSocketKind,
                                 ByteView piece, bool last) {
    add_word(told_, "piece(" + shown(piece) + (last ? ") end" : ")"));
    if (when_told) when_told(socket);
}

void WebSocketStage::on_drained(http::WebSocketConnection& socket) {
    add_word(told_, "drained");
    if (when_drained) when_drained(socket);
}

void WebSocketStage::on_pong(http::WebSocketConnection& socket, ByteView payload) {
    add_word(told_, describe(WebSocketOpcode::pong, payload));
    if (when_ponged) when_ponged(socket);
}

void WebSocketStage::on_end(http::WebSocketConnection& socket, std::uint16_t, ByteView) {
    if (when_ended) when_ended(socket);
}

void WebSocketStage::on_close(http::WebSocketConnection& socket, std::uint16_t code,
                              ByteView reason) {
    add_word(told_, "closed(" + std::to_string(code) +
                        (reason.empty() ? "" : ' ' + std::string(reason)) + ')');
    std::erase(sockets_, &socket);
    if (when_closed) when_closed(socket);
}

}  // namespace tiderace::testing
