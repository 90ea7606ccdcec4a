#include "tiderace/http/websocket/client.h"

#include <gtest/gtest.h>

#include "tiderace/http/websocket/connection.h"
#include "tiderace/net/connector.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using testing::FakeWorld;
using testing::WebSocketStage;

// A client that records its events.
class Client final : public WebSocketHandler {
  public:
    void on_open(WebSocketConnection& opened) override {
        told += "open ";
        socket = &opened;
        opened.send_text("first words");
    }
    void on_message(WebSocketConnection&, WebSocketKind kind, ByteView message) override {
        told += kind == WebSocketKind::text ? "text(" : "binary(";
        told +=
            (message.size() > 64 ? std::to_string(message.size()) : std::string(message)) + ") ";
    }
    void on_close(WebSocketConnection&, std::uint16_t code, ByteView reason) override {
        told += "closed(" + std::to_string(code) + ' ' + std::string(reason) + ')';
        socket = nullptr;
    }
    void on_refused(int http_status, std::string_view why) override {
        told += "refused(" + std::to_string(http_status) + ' ' + std::string(why) + ')';
    }

    std::string told;
    WebSocketConnection* socket = nullptr;
};

class WebSocketClient : public ::testing::Test {
  protected:
    WebSocketClient() : connector_(world_.loop(), {}) {}

    void connect(Client& client, WebSocketService& service, const std::string& target = "/ws") {
        connector_.connect(world_.listening_at(), [&, target](Result<net::Connection*> made) {
            ASSERT_TRUE(made.has_value());
            open_websocket(**made, service, client, {.authority = "a.example", .target = target});
        });
    }

    // Before the client and its service go.
    void end() {
        connector_.abort_all();
        world_.settle();
    }

    FakeWorld world_;
    net::Connector connector_;
};

// A client offers a window only if it may keep one.
TEST_F(WebSocketClient, OffersWindowsOnlyWhereItMayKeepThem) {
    for (const bool ours : {false, true}) {
        for (const bool theirs : {false, true}) {
            for (const std::size_t sockets_max : {0, 1}) {
                WebSocketOptions serves;
                serves.compression = true;
                serves.deflate = {.server_context_takeover = true, .client_context_takeover = true};
                WebSocketStage stage(world_, serves);
                (void)stage.connect();
                WebSocketOptions options = serves;
                options.deflate.server_context_takeover = theirs;
                options.deflate.client_context_takeover = ours;
                options.context_sockets_max = sockets_max;
                WebSocketService service(world_.loop(), options);
                Client client;
                connect(client, service);
                world_.settle();
                ASSERT_NE(client.socket, nullptr) << client.told;
                ASSERT_TRUE(client.socket->deflate_terms());
                const auto& terms = *client.socket->deflate_terms();
                EXPECT_EQ(!terms.client_no_context_takeover, ours && sockets_max > 0);
                EXPECT_EQ(!terms.server_no_context_takeover, theirs && sockets_max > 0);
                client.socket->send_text("again: first words");
                world_.settle();
                EXPECT_EQ(client.told, "open text(first words) text(again: first words) ");
                end();
            }
        }
    }
}

// Masked piece by piece, as the blocks of the queue have room: the mask goes on where it was.
TEST_F(WebSocketClient, WhatItSendsAcrossBlocksIsMaskedAsOne) {
    WebSocketOptions options;
    options.compression = false;
    WebSocketStage stage(world_, options);
    (void)stage.connect();
    std::vector<std::string> got;
    stage.echo = true;
    WebSocketService service(world_.loop(), options);
    Client client;
    connect(client, service);
    world_.settle();
    ASSERT_NE(client.socket, nullptr);
    client.told.clear();
    std::string expected;
    for (const std::size_t size : {30'001u, 30'002u, 30'003u, 63u, 31'999u, 64u}) {
        std::string text(size, ' ');
        for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * 7 % 23);
        // As text, whose UTF-8 the server checks; the shortest come back in full.
        client.socket->send_text(text);
        expected += "text(" + (size > 64 ? std::to_string(size) : text) + ") ";
    }
    world_.settle();
    EXPECT_EQ(client.told, expected);
    end();
}

TEST_F(WebSocketClient, TalksWithAServerAndClosesInOrder) {
    for (const bool windows : {false, true}) {
        for (const bool compression : {false, true}) {
            WebSocketOptions options;
            options.compression = compression;
            options.deflate = {.server_context_takeover = windows,
                               .client_context_takeover = windows};
            options.subprotocols = {"one"};
            WebSocketStage stage(world_, options);
            (void)stage.connect();
            WebSocketService service(world_.loop(), options);
            Client client;
            connect(client, service);
            world_.settle();
            ASSERT_NE(client.socket, nullptr) << client.told;
            EXPECT_EQ(client.socket->subprotocol(), "one");
            EXPECT_EQ(client.socket->deflate_terms().has_value(), compression);
            client.socket->send_binary(std::string(100'000, 'x'));
            client.socket->send_text("");
            world_.settle();
            client.socket->close(1000, "enough");
            world_.settle();
            EXPECT_EQ(client.told, "open text(first words) binary(100000) text() closed(1000 )");
            EXPECT_EQ(stage.told(),
                      "open text(first words) binary(100000 bytes) text() closed(1000 enough)");
        }
    }
}

TEST_F(WebSocketClient, AnswersTheServersCloseAndLetsItEndTheConnection) {
    WebSocketStage stage(world_);
    (void)stage.connect();
    WebSocketService service(world_.loop(), {});
    Client client;
    connect(client, service);
    world_.settle();
    stage.sockets()[0]->close(4000, "go");
    world_.settle();
    EXPECT_EQ(client.told, "open text(first words) closed(4000 go)");
    EXPECT_EQ(connector_.size(), 0U);
}

TEST_F(WebSocketClient, IsToldWhyItWasRefused) {
    WebSocketStage stage(world_);
    (void)stage.connect();
    WebSocketService service(world_.loop(), {});
    Client client;
    connect(client, service, "/nowhere");
    world_.settle();
    EXPECT_EQ(client.told, "refused(404 the answer is not 101)");
}

struct AnswerCase {
    std::string answer;  // KEY stands for the right Sec-WebSocket-Accept
    std::string told;
};

TEST_F(WebSocketClient, TakesNoAnswerThatIsNotToItsQuestion) {
    const std::string good = "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    const AnswerCase cases[] = {
        {good + "Sec-WebSocket-Accept: KEY\r\n\r\n", "open closed(1006 )"},
        {good + "Sec-WebSocket-Accept: KEY\r\n\r\n" + "\x81\x02hi", "open text(hi) closed(1006 )"},
        {good + "Sec-WebSocket-Accept: KEY\r\n\r\n" + "\x81\x82????hi",
         "open closed(1002 frame masked)"},
        {good + "Sec-WebSocket-Accept: AAAA\r\n\r\n",
         "refused(101 Sec-WebSocket-Accept does not answer our key)"},
        {good + "Sec-WebSocket-Accept: KEY\r\nSec-WebSocket-Extensions: x\r\n\r\n",
         "refused(101 an extension that was not offered)"},
        {good + "Sec-WebSocket-Acc", "refused(0 the connection ended before the answer)"},
    };
    for (const AnswerCase& one : cases) {
        testing::ScriptedSessions sessions;
        sessions.on_data = [&](net::Connection& connection, ByteView data) {
            const std::size_t at = data.find("Sec-WebSocket-Key: ");
            const auto accept = wire::websocket_accept(data.substr(at + 19, 24));
            std::string answer = one.answer;
            if (const std::size_t place = answer.find("KEY"); place != std::string::npos) {
                answer.replace(place, 3, accept.data(), accept.size());
            }
            connection.write(answer);
            connection.close_when_sent();
            return data.size();
        };
        net::TcpServer server(world_.loop(), sessions, {});
        server.listen(world_.listen());
        WebSocketService service(world_.loop(), {});
        Client client;
        connect(client, service);
        world_.settle();
        EXPECT_EQ(client.told, one.told) << one.answer;
        end();
    }
}

TEST_F(WebSocketClient, GivesUpOnAServerThatDoesNotAnswer) {
    testing::ScriptedSessions sessions;
    net::TcpServer server(world_.loop(), sessions, {});
    server.listen(world_.listen());
    WebSocketService service(world_.loop(), {});
    Client client;
    connect(client, service);
    world_.settle();
    world_.advance(11s);
    EXPECT_EQ(client.told, "refused(0 no answer in time)");
}

TEST_F(WebSocketClient, MasksEveryFrameWithAnotherKey) {
    testing::ScriptedSessions sessions;
    sessions.on_data = [&](net::Connection& connection, ByteView data) {
        const std::size_t at = data.find("Sec-WebSocket-Key: ");
        if (at == ByteView::npos) return data.size();
        const auto accept = wire::websocket_accept(data.substr(at + 19, 24));
        connection.write(
            "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: " +
            std::string(accept.data(), accept.size()) + "\r\n\r\n");
        return data.size();
    };
    net::TcpServer server(world_.loop(), sessions, {});
    server.listen(world_.listen());
    WebSocketService service(world_.loop(), {});
    Client client;
    connect(client, service);
    world_.settle();
    client.socket->send_text("first words");
    world_.settle();
    const ByteView frames = ByteView(sessions.received).substr(sessions.received.size() - 34);
    EXPECT_EQ(frames.substr(0, 2), "\x81\x8b");
    EXPECT_EQ(frames.substr(17, 2), "\x81\x8b");
    EXPECT_NE(frames.substr(2, 4), frames.substr(19, 4));
    end();
}

}  // namespace
}  // namespace tiderace::http
