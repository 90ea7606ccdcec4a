// The blocks of docs/websocket.md, compiled as they stand there, and run.
#include <gtest/gtest.h>

#include "tiderace/testing.h"
#include "websocket_document.h"

namespace {

TEST(WebSocketDocument, HasBlocksThatRun) {
    App app;
    add_echo(app);
    add_greeter(app);
    add_rooms(app);
    tiderace::testing::Client client(app);
    auto echo = client.websocket("/echo");
    echo.send("hello");
    EXPECT_EQ(echo.receive()->text(), "hello");

    auto ann = client.websocket("/greet/ann", {{"Sec-WebSocket-Protocol", "greeting.v1"}});
    EXPECT_EQ(ann.subprotocol(), "greeting.v1");
    EXPECT_EQ(ann.receive()->text(), "hello ann");
    EXPECT_EQ(client.websocket("/greet/eve", {{"Origin", "https://b.example"}}).status(), 403);
    EXPECT_EQ(client.websocket("/greet/bob", {{"Origin", "https://example.org"}}).status(), 101);
    ann.send(std::string(4'097, 'x'));
    EXPECT_TRUE(ann.ended());
    EXPECT_EQ(ann.close_code(), 1009);

    auto bob = client.websocket("/rooms/pier");
    EXPECT_EQ(client.post("/rooms/pier", "low tide").status, 204);
    EXPECT_EQ(bob.receive()->text(), "low tide");
    EXPECT_EQ(tiderace::run(count_words("ws://127.0.0.1:1/words")), -1);
}

}  // namespace
