// A WebSocket client and whatever a server may send it. The first byte chooses the start: 0 is
// the first byte of its answer, larger values follow a valid one, with or without compression.
// For all input, the handler gets exactly one close, and nothing is left over.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/slot_map.h"
#include "tiderace/http/websocket/client.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/http/wire/websocket/handshake.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::http {
namespace {

class Talker final : public WebSocketHandler {
  public:
    int opened = 0, ended = 0;

  private:
    void on_open(WebSocketConnection& socket) override {
        ++opened;
        socket.send_text("first words");
    }
    void on_message(WebSocketConnection& socket, WebSocketKind kind, ByteView message) override {
        TR_CHECK(opened == 1 && ended == 0);
        socket.send(kind, message.substr(0, 1'000));
    }
    void on_close(WebSocketConnection&, std::uint16_t, ByteView) override { ++ended; }
    void on_refused(int, std::string_view) override {
        TR_CHECK(opened == 0);
        ++ended;
    }
};

class Owner final : public net::Connection::Owner {
  public:
    explicit Owner(core::EventLoop& loop) : loop_(&loop) {}
    net::Connection& make(std::unique_ptr<net::Transport> transport) {
        return connections_.emplace(static_cast<net::Connection::Owner&>(*this),
                                    std::move(transport), core::Address::loopback(1));
    }
    std::size_t size() const { return connections_.size(); }

  private:
    core::EventLoop& loop() override { return *loop_; }
    const net::ConnectionLimits& limits() const override { return limits_; }
    void release(net::Connection& connection, net::CloseReason) override {
        connections_.erase(connection.id());
    }

    core::EventLoop* loop_;
    net::ConnectionLimits limits_;
    SlotMap<net::Connection> connections_;
};

std::string right_answer(ByteView request, bool compressed) {
    constexpr ByteView name = "Sec-WebSocket-Key: ";
    const std::size_t at = request.find(name);
    TR_CHECK(at != ByteView::npos);
    const auto accept =
        wire::websocket_accept(request.substr(at + name.size(), wire::websocket_key_bytes));
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
           std::string(compressed ? "Sec-WebSocket-Extensions: permessage-deflate; "
                                    "server_no_context_takeover; client_no_context_takeover\r\n"
                                  : "") +
           "Sec-WebSocket-Accept: " + std::string(accept.data(), accept.size()) + "\r\n\r\n";
}

void talk(ByteView bytes, unsigned begins) {
    testing::FakeWorld world;
    {
        WebSocketService service(world.loop(), {.message_bytes_max = 10'000});
        Owner owner(world.loop());
        Talker talker;
        auto pipe = testing::make_pipe(world.loop());
        testing::TransportPeer server(world.loop(), std::move(pipe.far));
        open_websocket(owner.make(std::move(pipe.near)), service, talker, {.authority = "a"});
        world.settle();
        if (begins > 0) server.say(right_answer(server.heard(), begins % 2 == 0));
        world.settle();
        TR_CHECK(talker.opened == (begins > 0 ? 1 : 0));
        const std::size_t half = bytes.size() / 2;
        server.say(bytes.substr(0, half));
        world.settle();
        server.say(bytes.substr(half));
        world.settle();
        server.finish();
        world.advance(2min);
        TR_CHECK(talker.ended == 1 && owner.size() == 0);
    }
    TR_CHECK(world.loop().blocks().taken() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 4'096));
    if (!bytes.empty()) talk(bytes.substr(1), static_cast<unsigned char>(bytes[0]) % 3);
    return 0;
}

}  // namespace tiderace::http
