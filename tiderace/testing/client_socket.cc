#include "tiderace/testing/client_socket.h"

#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "tiderace/http/wire/websocket/frame.h"
#include "tiderace/http/wire/websocket/handshake.h"
#include "tiderace/testing/client/stage.h"

namespace tiderace::testing {
namespace {

using http::wire::WebSocketOpcode;

// Always the same: it only shows that the server speaks WebSocket, and no cache stands between.
constexpr std::string_view key = "dGlkZXJhY2UncyB0ZXN0cw==";

std::vector<std::string> words_of(std::string_view list) {
    std::vector<std::string> words;
    while (!list.empty()) {
        const std::size_t end = list.find_first_of(", ");
        if (end > 0) words.emplace_back(list.substr(0, end));
        list.remove_prefix(end == list.npos ? list.size() : end + 1);
    }
    return words;
}

// A test's mask may be easy to guess.
std::string masked_frame(WebSocketOpcode opcode, ByteView payload) {
    const http::wire::WebSocketMask mask{.key = {'t', 'i', 'd', 'e'}};
    std::array<char, http::wire::websocket_head_bytes_max> head{};
    const std::size_t head_bytes = http::wire::write_websocket_head(
        {.payload_bytes = payload.size(), .mask = mask, .opcode = opcode, .masked = true}, head);
    std::string frame(head.data(), head_bytes);
    frame.resize(head_bytes + payload.size());
    http::wire::apply_websocket_mask(payload, mask, frame.data() + head_bytes);
    return frame;
}

}  // namespace

class WebSocket::Wire {
  public:
    Wire(ClientStage& stage, std::string_view target, http::Headers fields)
        : stage_(&stage), peer_(stage.world().connect_fake()) {
        const auto offered = words_of(fields.find("Sec-WebSocket-Protocol"));
        fields.add("Upgrade", "websocket");
        fields.add("Connection", "Upgrade");
        fields.add("Sec-WebSocket-Version", "13");
        fields.add("Sec-WebSocket-Key", key);
        say(stage.head("GET", target, "", "", fields));
        listen([&] { return peer_->over() || parse_answer(offered); });
        if (!parse_answer(offered)) fault = "the server closed the connection without an answer";
    }

    void say(ByteView bytes) {
        peer_->say(bytes);
        stage_->settle([] { return false; });
    }
    // Reads until there is a message, or nothing more comes now.
    void look() {
        parse();
        if (messages.empty() && !ended) {
            listen([this] {
                parse();
                return !messages.empty() || ended;
            });
        }
        if (ended && code != 0) end(false);
    }
    void end(bool reset) {
        reset ? peer_->reset() : peer_->close();
        ended = true;
        stage_->settle([] { return false; });
    }
    void close(std::uint16_t code, std::string_view why) {
        if (std::exchange(closing_, true)) return;
        std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
        say(masked_frame(WebSocketOpcode::close, payload.append(why)));
    }
    std::string_view answer() const { return peer_->heard(); }

    int status = 0;
    std::string subprotocol;
    std::string fault;
    std::deque<http::WebSocketMessage> messages;
    bool ended = false;
    std::uint16_t code = 0;
    std::string reason;

  private:
    void listen(unique_function<bool()> enough) {
        peer_->set_listening(true);
        // A test may ask often within one moment; only a loop that turns by itself spins.
        stage_->world().forget_turns();
        stage_->settle(std::move(enough));
        peer_->set_listening(false);
    }

    // False: it is not whole.
    bool parse_answer(const std::vector<std::string>& offered) {
        if (status != 0) return true;
        const auto parsed = http::wire::parse_websocket_answer(peer_->heard(), key, offered);
        if (parsed.status == http::wire::ParseStatus::need_more) return false;
        status = parsed.http_status;
        taken_ = parsed.bytes;
        subprotocol = parsed.subprotocol;
        if (parsed.status != http::wire::ParseStatus::refused) return true;
        ended = true;
        // With any other status the server did not take the upgrade, which is an answer and no
        // fault.
        if (status == 101) fault = parsed.why;
        return true;
    }

    void parse() {
        while (!ended) {
            const auto step = reader_.next(ByteView(peer_->heard()).substr(taken_));
            taken_ += step.used;
            using Kind = http::wire::WebSocketReader::Step::Kind;
            if (step.kind == Kind::need_more) {
                ended = peer_->over();
                return;
            }
            if (step.kind == Kind::fault) {
                fault = to_string(step.fault);
                ended = true;
            } else if (step.kind == Kind::control) {
                take_control(step.opcode, step.payload);
            } else {
                take_payload(step);
            }
        }
    }
    void take_payload(const http::wire::WebSocketReader::Step& step) {
        message_ += step.payload;
        if (!step.last) return;
        messages.emplace_back(std::exchange(message_, std::string()),
                              step.opcode == WebSocketOpcode::text ? http::WebSocketKind::text
                                                                   : http::WebSocketKind::binary);
    }
    void take_control(WebSocketOpcode opcode, ByteView payload) {
        if (opcode == WebSocketOpcode::ping) {
            peer_->say(masked_frame(WebSocketOpcode::pong, payload));
        } else if (opcode == WebSocketOpcode::close) {
            const auto parsed = http::wire::parse_websocket_close(payload);
            code = parsed.code;
            reason = parsed.reason;
            ended = true;
            if (!std::exchange(closing_, true)) {
                // The code alone goes back: the reason was the server's.
                peer_->say(masked_frame(WebSocketOpcode::close, payload.substr(0, 2)));
            }
        }
    }

    ClientStage* stage_;
    std::unique_ptr<FakePeer> peer_;
    http::wire::WebSocketReader reader_{{.masked = false}};
    std::size_t taken_ = 0;  // bytes of peer_->heard()
    std::string message_;
    bool closing_ = false;  // a close frame was sent
};

WebSocket::WebSocket(ClientStage& stage, std::string_view target, const http::Headers& fields)
    : wire_(std::make_unique<Wire>(stage, target, fields)) {}
WebSocket::~WebSocket() = default;
WebSocket::WebSocket(WebSocket&&) noexcept = default;
WebSocket& WebSocket::operator=(WebSocket&&) noexcept = default;

int WebSocket::status() const {
    return wire_->status;
}
std::string_view WebSocket::subprotocol() const {
    return wire_->subprotocol;
}
std::string_view WebSocket::refusal() const {
    return wire_->status == 101 ? std::string_view() : wire_->answer();
}

void WebSocket::send(std::string_view text) {
    wire_->say(masked_frame(WebSocketOpcode::text, text));
}
void WebSocket::send_binary(ByteView bytes) {
    wire_->say(masked_frame(WebSocketOpcode::binary, bytes));
}
void WebSocket::send_raw(ByteView bytes) {
    wire_->say(bytes);
}
void WebSocket::close(std::uint16_t code, std::string_view reason) {
    wire_->close(code, reason);
}
void WebSocket::disconnect(bool reset) {
    wire_->end(reset);
}

std::optional<http::WebSocketMessage> WebSocket::receive() {
    wire_->look();
    if (wire_->messages.empty()) return std::nullopt;
    std::optional<http::WebSocketMessage> first(std::move(wire_->messages.front()));
    wire_->messages.pop_front();
    return first;
}

bool WebSocket::ended() {
    wire_->look();
    return wire_->ended && wire_->messages.empty();
}
std::uint16_t WebSocket::close_code() const {
    return wire_->code;
}
std::string_view WebSocket::close_reason() const {
    return wire_->reason;
}
std::string_view WebSocket::fault() const {
    return wire_->fault;
}

}  // namespace tiderace::testing
