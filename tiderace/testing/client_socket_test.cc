// A test's own WebSocket, which sends and receives while time stands still.
#include "tiderace/testing/client_socket.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/app.h"
#include "tiderace/testing.h"
#include "tiderace/websocket.h"

namespace tiderace::testing {
namespace {

using namespace std::chrono_literals;
using http::WebSocketKind;

http::App make_app() {
    http::App app;
    app.ws<"/echo">([](http::WebSocket& socket) -> Task<> {
        while (auto message = co_await socket.receive()) co_await socket.send(*message);
    });
    app.ws<"/ticks">([](http::WebSocket& socket) -> Task<> {
        for (int i = 0; co_await socket.send(std::to_string(i)); ++i) co_await sleep(1s);
    });
    app.ws<"/bye">([](http::WebSocket& socket) -> Task<> {
        socket.close(4001, "no room");
        co_return;
    });
    return app;
}

TEST(ClientSocket, SendsAndReceives) {
    const auto app = make_app();
    Client client(app);
    auto socket = client.websocket("/echo");
    EXPECT_EQ(socket.status(), 101);
    EXPECT_FALSE(socket.receive());
    socket.send("hello");
    socket.send_binary("bytes");
    EXPECT_EQ(socket.receive()->text(), "hello");
    EXPECT_EQ(socket.receive()->kind(), WebSocketKind::binary);
    EXPECT_FALSE(socket.receive());
    EXPECT_FALSE(socket.ended());
    socket.close(1000, "done");
    EXPECT_TRUE(socket.ended());
    EXPECT_EQ(socket.close_code(), 1000);
    EXPECT_EQ(socket.fault(), "");
    EXPECT_EQ(client.connections(), 0u);
}

TEST(ClientSocket, LetsNoTimePass) {
    const auto app = make_app();
    Client client(app);
    auto socket = client.websocket("/ticks");
    EXPECT_EQ(socket.receive()->text(), "0");
    EXPECT_FALSE(socket.receive());
    client.advance(2s);
    EXPECT_EQ(socket.receive()->text(), "1");
    EXPECT_EQ(socket.receive()->text(), "2");
}

TEST(ClientSocket, SaysHowTheServerEndedIt) {
    const auto app = make_app();
    Client client(app);
    auto socket = client.websocket("/bye");
    EXPECT_TRUE(socket.ended());
    EXPECT_EQ(socket.close_code(), 4001);
    EXPECT_EQ(socket.close_reason(), "no room");

    auto echo = client.websocket("/echo");
    echo.send_raw("\x83\x80\x01\x02\x03\x04");
    EXPECT_TRUE(echo.ended());
    EXPECT_EQ(echo.close_code(), 1002);
}

TEST(ClientSocket, SaysWhyItWasRefused) {
    const auto app = make_app();
    Client client(app);
    auto strange = client.websocket("/echo", {{"Origin", "https://elsewhere.example"}});
    EXPECT_EQ(strange.status(), 403);
    EXPECT_TRUE(strange.ended());
    EXPECT_TRUE(strange.refusal().starts_with("HTTP/1.1 403 "));
    EXPECT_EQ(client.websocket("/echo", {{"Origin", "http://localhost"}}).status(), 101);
    EXPECT_EQ(client.websocket("/absent").status(), 404);
}

TEST(ClientSocket, AgreesOnASubprotocol) {
    http::App app;
    app.ws<"/">(
        [](http::WebSocket& socket) -> Task<> { co_await socket.send(socket.subprotocol()); },
        {.subprotocols = {"new", "old"}});
    Client client(app);
    auto socket = client.websocket("/", {{"Sec-WebSocket-Protocol", "old, new"}});
    EXPECT_EQ(socket.subprotocol(), "new");
    EXPECT_EQ(socket.receive()->text(), "new");
    EXPECT_EQ(client.websocket("/", {{"Sec-WebSocket-Protocol", "older"}}).subprotocol(), "");
}

TEST(ClientSocket, GoesAwayWithItsConnection) {
    const auto app = make_app();
    Client client(app);
    {
        auto socket = client.websocket("/ticks");
        EXPECT_EQ(client.connections(), 1u);
    }
    client.advance(1s);
    EXPECT_EQ(client.connections(), 0u);
    auto socket = client.websocket("/echo");
    socket.disconnect(true);
    EXPECT_TRUE(socket.ended());
    EXPECT_EQ(client.connections(), 0u);
}

}  // namespace
}  // namespace tiderace::testing
