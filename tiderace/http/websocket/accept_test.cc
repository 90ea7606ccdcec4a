#include "tiderace/http/websocket/accept.h"

#include <gtest/gtest.h>

#include <optional>

#include "tiderace/http/websocket/connection.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_fixture.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using testing::FakeWorld;
using testing::Peer;
using testing::RecordedExchange;
using testing::WebSocketStage;
using wire::WebSocketRefusal;

class NoSockets final : public WebSocketHandler {
    void on_open(WebSocketConnection&) override { FAIL(); }
    void on_message(WebSocketConnection&, WebSocketKind, ByteView) override {}
    void on_close(WebSocketConnection&, std::uint16_t, ByteView) override {}
};

RecordedExchange::Fields good_fields() {
    return {{"Upgrade", "websocket"},
            {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
            {"Sec-WebSocket-Version", "13"}};
}

class AcceptWebSocket : public ::testing::Test {
  protected:
    // The head that a client is answered with.
    std::string head_for(const std::string& more_fields, WebSocketOptions options = {}) {
        WebSocketStage stage(world_, std::move(options));
        auto peer = stage.connect();
        peer->say(WebSocketStage::request(more_fields));
        stage.run_until([&] { return peer->heard().find("\r\n\r\n") != std::string::npos; });
        const std::string head = testing::H1Stage::heard(*peer);
        peer->close();
        world_.settle();
        return head;
    }

    FakeWorld world_;
};

TEST_F(AcceptWebSocket, AnswersTheKeyWithSwitchingProtocols) {
    EXPECT_EQ(head_for(""),
              "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
              "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nConnection: upgrade\r\n\r\n");
}

TEST_F(AcceptWebSocket, NamesTheSubprotocolAndTheExtensionThatWereAgreedOn) {
    WebSocketOptions options;
    options.subprotocols = {"chat.v2", "chat"};
    const std::string head = head_for(
        "Sec-WebSocket-Protocol: chat, other\r\n"
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n",
        options);
    EXPECT_NE(head.find("\r\nSec-WebSocket-Protocol: chat\r\n"), std::string::npos) << head;
    EXPECT_NE(head.find("\r\nSec-WebSocket-Extensions: permessage-deflate; "
                        "server_no_context_takeover; client_no_context_takeover\r\n"),
              std::string::npos)
        << head;
    options.compression = false;
    EXPECT_EQ(
        head_for("Sec-WebSocket-Extensions: permessage-deflate\r\n", options).find("Extensions"),
        std::string::npos);
}

TEST_F(AcceptWebSocket, RefusesWithAStatusThatSaysWhatIsWanted) {
    WebSocketService service(world_.loop(), {});
    NoSockets handler;
    RecordedExchange plain(world_.loop(), "GET", "/");
    EXPECT_EQ(accept_websocket(plain, service, handler), WebSocketRefusal::not_asked_for);
    EXPECT_EQ(plain.status(), 426);
    EXPECT_EQ(plain.header("upgrade"), "websocket");
    EXPECT_EQ(plain.header("sec-websocket-version"), "13");

    auto fields = good_fields();
    fields[1].second = "short";
    RecordedExchange bad_key(world_.loop(), "GET", "/", fields);
    EXPECT_EQ(accept_websocket(bad_key, service, handler), WebSocketRefusal::bad_key);
    EXPECT_EQ(bad_key.status(), 400);
    EXPECT_FALSE(bad_key.has("upgrade"));
    EXPECT_FALSE(bad_key.has("sec-websocket-version"));
}

TEST_F(AcceptWebSocket, RefusesWhereTheConnectionCannotBeHandedOver) {
    WebSocketService service(world_.loop(), {});
    NoSockets handler;
    RecordedExchange exchange(world_.loop(), "GET", "/", good_fields());
    EXPECT_EQ(accept_websocket(exchange, service, handler), WebSocketRefusal::not_asked_for);
    EXPECT_EQ(exchange.status(), 426);
}

struct OriginCase {
    std::vector<std::string> origins;
    std::string origin;
    bool is_let_in;
};

TEST_F(AcceptWebSocket, LetsInOriginsOfTheListOrOfItsOwnAddress) {
    const OriginCase cases[] = {
        {{}, "", true},
        {{}, "Origin: http://a.example\r\n", true},
        {{}, "Origin: http://evil.example\r\n", false},
        {{}, "Origin: null\r\n", false},
        {{"https://b.example"}, "Origin: https://b.example\r\n", true},
        {{"https://b.example"}, "Origin: http://a.example\r\n", false},
        {{"*"}, "Origin: http://evil.example\r\n", true},
        {{"*"}, "Origin: http://a.example\r\nOrigin: http://a.example\r\n", false},
    };
    for (const OriginCase& one : cases) {
        WebSocketOptions options;
        options.origins = one.origins;
        const std::string head = head_for(one.origin, options);
        EXPECT_TRUE(head.starts_with(one.is_let_in ? "HTTP/1.1 101" : "HTTP/1.1 403"))
            << one.origin << head;
    }
}

TEST_F(AcceptWebSocket, AsksTheHookInsteadOfTheList) {
    WebSocketOptions options;
    options.origin_allowed = [](ByteView origin, const Request& request) {
        return origin == "http://hook" && request.path == "/ws";
    };
    EXPECT_TRUE(head_for("Origin: http://hook\r\n", options).starts_with("HTTP/1.1 101"));
    EXPECT_TRUE(head_for("Origin: http://a.example\r\n", options).starts_with("HTTP/1.1 403"));
}

TEST_F(AcceptWebSocket, GivesWindowsToSoManySocketsAndNoMore) {
    WebSocketOptions options;
    options.deflate = {.server_context_takeover = true, .client_context_takeover = true};
    options.context_sockets_max = 1;
    WebSocketStage stage(world_, options);
    const std::string offer = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    auto first = stage.open(offer);
    auto second = stage.open(offer);
    EXPECT_EQ(stage.sockets()[0]->deflate_terms()->stands_alone(), false);
    EXPECT_EQ(stage.sockets()[1]->deflate_terms()->stands_alone(), true);
    first->close();
    world_.settle();
    auto third = stage.open(offer);
    EXPECT_EQ(stage.sockets()[1]->deflate_terms()->stands_alone(), false);
}

// --- over HTTP/2 (RFC 8441) -------------------------------------------------------------------

class EchoHandler final : public WebSocketHandler {
  public:
    void on_message(WebSocketConnection& socket, WebSocketKind kind, ByteView message) override {
        socket.send(kind, message);
    }
    void on_open(WebSocketConnection& socket) override { opened.push_back(&socket); }
    void on_close(WebSocketConnection&, std::uint16_t code, ByteView) override { closed = code; }
    std::vector<WebSocketConnection*> opened;
    int closed = 0;
};

class WebSocketOverHttp2 : public testing::H2Test {
  protected:
    void SetUp() override {
        H2Test::SetUp();
        service_.emplace(world_->loop(), WebSocketOptions{});
        stage_->on("/ws", [&](Exchange& exchange) {
            refusal_ = accept_websocket(exchange, *service_, handler_);
        });
    }
    void TearDown() override {
        stage_.reset();  // its streams go before the service
    }
    static void ask(testing::H2Client& client, std::uint32_t stream, const std::string& protocol) {
        client.headers(stream,
                       {{":method", "CONNECT"},
                        {":scheme", "http"},
                        {":path", "/ws"},
                        {":authority", "a.example"},
                        {":protocol", protocol},
                        {"sec-websocket-version", "13"},
                        {"origin", "http://a.example"},
                        {"sec-websocket-extensions", "permessage-deflate"}},
                       false);
    }

    std::optional<WebSocketService> service_;
    EchoHandler handler_;
    WebSocketRefusal refusal_ = WebSocketRefusal::not_asked_for;
};
INSTANTIATE_TEST_SUITE_P(Worlds, WebSocketOverHttp2, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(WebSocketOverHttp2, IsAStreamThatSpeaksTheSame) {
    using Opcode = wire::WebSocketOpcode;
    testing::H2Client& client = connect();
    ask(client, 1, "websocket");
    ASSERT_TRUE(run_until([&] { return client.answer(1).status == 200; }));
    EXPECT_EQ(refusal_, WebSocketRefusal::none);
    EXPECT_EQ(client.answer(1).header("sec-websocket-accept"), "");
    EXPECT_NE(client.answer(1).header("sec-websocket-extensions"), "");
    client.data(1, testing::client_frame(Opcode::text, "Hello"), false);
    client.data(1, testing::client_frame(Opcode::close, "\x03\xe8"), false);
    ASSERT_TRUE(run_until([&] {
        return testing::describe_server_frames(client.answer(1).body) == "text(Hello) close(1000)";
    })) << testing::describe_server_frames(client.answer(1).body);
    ASSERT_TRUE(ended(1));
    client.data(1, "", true);
    EXPECT_TRUE(run_until([&] { return handler_.closed == 1000; }));
    ask(client, 3, "something-else");
    ASSERT_TRUE(run_until([&] { return client.answer(3).status == 426; }));
    EXPECT_EQ(client.answer(3).header("upgrade"), "");
}

// The streams of one connection: an id that were the connection's would be the same for both, and
// one that were the stream's would find a connection of the server.
TEST_P(WebSocketOverHttp2, IsFoundByAnIdOfItsOwnAndNotOfItsConnection) {
    testing::H2Client& client = connect();
    for (const std::uint32_t stream : {1U, 5U}) {
        ask(client, stream, "websocket");
        ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    }
    ASSERT_EQ(handler_.opened.size(), 2U);
    EXPECT_FALSE(handler_.opened[0]->id() == handler_.opened[1]->id());
    for (WebSocketConnection* socket : handler_.opened) {
        EXPECT_EQ(service_->find(socket->id()), socket);
    }
    const WebSocketId gone = handler_.opened[1]->id();
    client.reset(5, wire::H2Error::cancel);
    ASSERT_TRUE(run_until([&] { return handler_.closed != 0; }));
    EXPECT_EQ(service_->find(gone), nullptr);
    EXPECT_EQ(service_->find(handler_.opened[0]->id()), handler_.opened[0]);
    EXPECT_EQ(stage_->server().size(), 1U);
}

}  // namespace
}  // namespace tiderace::http
