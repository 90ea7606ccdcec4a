// The blocks of docs/websocket.md, compiled as they stand there, and run.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/http/h1/service.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing.h"
#include "tiderace/testing/world.h"
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
    auto page = client.open("/rooms/pier/events");
    EXPECT_EQ(page.status(), 200);
    EXPECT_EQ(client.post("/rooms/pier", "low tide").status, 204);
    EXPECT_EQ(bob.receive()->text(), "low tide");
    EXPECT_EQ(page.next_event()->data, "low tide");
}

// Runs `ask` against the App on a port of its own.
void serve_for(App& app, const std::function<void(const std::string& place)>& ask) {
    std::thread asks;
    const auto begin = [&](const std::vector<core::Address>& at) {
        asks = std::thread([&, place = at[0].to_string()] {
            ask(place);
            app.drain();
        });
    };
    EXPECT_EQ(app.serve({.listen = "127.0.0.1:0", .threads = 1, .on_listening = begin}), 0);
    asks.join();
}

TEST(WebSocketDocument, ItsClientCountsWhatAServerSends) {
    EXPECT_EQ(tiderace::run(count_words("ws://127.0.0.1:1/words")), -1);
    App app;
    std::string asked;
    app.ws<"/words">(
        [&](WebSocket& socket, const Request& request) -> Task<> {
            const auto question = co_await socket.receive();
            asked = question ? question->text() : "";
            for (const auto& field : request.head->fields()) {
                if (field.name == "Authorization") asked += " by " + std::string(field.value);
            }
            for (const char* word : {"ebb", "flood"}) co_await socket.send(std::string(word));
        },
        {.subprotocols = {"words.v1"}});
    int words = 0;
    serve_for(app, [&](const std::string& place) {
        words = tiderace::run(count_words("ws://" + place + "/words"));
    });
    EXPECT_EQ(words, 2);
    EXPECT_EQ(asked, "how many? by Bearer 1234");
}

TEST(WebSocketDocument, ItsHandlerOfCallbacksEchoes) {
    const auto world = tiderace::testing::make_world("fake");
    Echo echo(world->loop());
    SiteLoop site(echo);
    H1Service service(world->loop(), site, {});
    net::TcpServer server(world->loop(), service, {});
    server.listen(world->listen());
    const auto peer = world->connect();
    peer->say(
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
    world->settle();
    EXPECT_TRUE(peer->heard().starts_with("HTTP/1.1 101 ")) << peer->heard();
    peer->say(std::string_view("\x81\x83\0\0\0\0ebb", 9));  // a mask that changes nothing
    world->settle();
    EXPECT_TRUE(
        peer->heard().ends_with("\r\n\r\n\x81\x03"
                                "ebb"))
        << peer->heard();
    server.abort_all();
    world->settle();
}

}  // namespace
