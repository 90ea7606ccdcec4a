// app.ws on the in-memory network: its request, arguments and messages, over both versions of HTTP.
#include "tiderace/http/app/websocket/socket_endpoint.h"

#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/app/cookies.h"
#include "tiderace/http/app/session.h"
#include "tiderace/http/app/websocket/socket_fixture.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::http {

// Made by a task, as one that asks a database.
struct SocketMember {
    std::string name;
};
template <>
struct FromRequest<SocketMember> {
    static task::Task<std::expected<SocketMember, Problem>> from(Cookies cookies) {
        const std::string name(cookies.get("name").value_or(""));
        co_await task::sleep(1s);
        if (name == "throws") throw Problem{.status = 418};
        if (name.empty()) co_return std::unexpected(Problem{.status = 403});
        co_return SocketMember{name};
    }
};

namespace {

using task::Task;
using testing::H2Client;

class Sockets : public SocketTest {
  protected:
    void serve_echo(WebSocketOptions options = {}) {
        app.ws<"/echo">(
            [](WebSocket& socket) -> Task<> {
                while (auto m = co_await socket.receive()) co_await socket.send(*m);
            },
            std::move(options));
    }
};

TEST_F(Sockets, EchoInThreeLines) {
    serve_echo();
    auto peer = open("/echo");
    say(*peer, "hello");
    peer->say(client_frame(Opcode::binary, "bytes"));
    world.settle();
    EXPECT_EQ(frames(*peer), "text(hello) binary(bytes)");
}

TEST_F(Sockets, TakeWhatOtherHandlersTake) {
    struct Prefix {
        std::string text;
    };
    app.state<Prefix>([](core::EventLoop&) { return std::make_unique<Prefix>("loop "); });
    app.ws<"/rooms/{room}/{number}">([](WebSocket& socket, std::string_view room, int number,
                                        Cookies cookies, const Request& request,
                                        Prefix& prefix) -> Task<> {
        while (auto m = co_await socket.receive()) {
            std::string answer = prefix.text + std::string(room) + std::to_string(number) + " " +
                                 std::string(cookies.get("name").value_or("nobody")) + " " +
                                 std::string(request.path);
            co_await socket.send(answer);
        }
    });
    auto peer = open("/rooms/harbour/7", "Cookie: name=ann\r\n");
    auto other = open("/rooms/pier/8");
    say(*peer, "who");
    say(*other, "who");
    EXPECT_EQ(frames(*peer), "text(loop harbour7 ann /rooms/harbour/7)");
    EXPECT_EQ(frames(*other), "text(loop pier8 nobody /rooms/pier/8)");
    EXPECT_EQ(status_of(ask_socket("/rooms/harbour/x")->heard()), "400");
    EXPECT_EQ(status_of(get("/rooms/harbour/7")), "426");
    EXPECT_EQ(status_of(ask("POST", "/rooms/harbour/7")), "405");
    EXPECT_EQ(status_of(ask_socket("/rooms")->heard()), "404");
}

TEST_F(Sockets, TakeWhatATaskMakes) {
    int ended = 0;
    struct Ended {
        ~Ended() { ++*count; }
        int* count;
    };
    app.ws<"/rooms/{room}">(
        [&ended](std::string_view room, SocketMember member, WebSocket& socket,
                 const Request& request) -> Task<> {
            const Ended end{&ended};
            const std::string hello =
                member.name + " in " + std::string(room) + " of " + std::string(request.path);
            co_await socket.send(hello);
            while (co_await socket.receive()) {
            }
        },
        {.ping_interval = Duration::max()});
    auto peer = ask_socket("/rooms/harbour", "Cookie: name=ann\r\n");
    auto stranger = ask_socket("/rooms/harbour");
    auto problem = ask_socket("/rooms/harbour", "Cookie: name=throws\r\n");
    auto gone = ask_socket("/rooms/harbour", "Cookie: name=bob\r\n");
    EXPECT_EQ(peer->heard(), "") << "it waits for the member";
    gone->reset();
    world.settle();
    world.advance(1s);
    EXPECT_TRUE(peer->heard().starts_with("HTTP/1.1 101 ")) << peer->heard();
    EXPECT_EQ(frames(*peer), "text(ann in harbour of /rooms/harbour)");
    EXPECT_EQ(status_of(stranger->heard()), "403");
    EXPECT_EQ(status_of(problem->heard()), "418");
    EXPECT_EQ(status_of(get("/rooms/harbour")), "403") << "before it is asked to be a WebSocket";
    EXPECT_EQ(ended, 0) << "for the one that left nothing began";
    world.advance(1h);
    EXPECT_FALSE(peer->over()) << "the time of a handler is not that of a socket";
    say_close(*peer, 1000);
    EXPECT_EQ(ended, 1);
}

TEST_F(Sockets, HaveTheSessionOfTheirBrowser) {
    app.use(sessions(std::make_shared<MemorySessions>(), {.secure = false}));
    app.post<"/login/{name}">(
        [](std::string name, Session session) -> Task<> { co_await session.set("user", name); });
    app.ws<"/me">([](WebSocket& socket, Session session) -> Task<> {
        co_await socket.send(session.get("user"));
        while (co_await socket.receive()) {
        }
    });
    const std::string answer = ask("POST", "/login/ann");
    const std::size_t at = answer.find("Set-Cookie: ") + 12;
    const std::string cookie = answer.substr(at, answer.find(';', at) - at);
    EXPECT_EQ(frames(*open("/me", "Cookie: " + cookie + "\r\n")), "text(ann)");
    EXPECT_EQ(frames(*open("/me")), "text()");
}

TEST_F(Sockets, AreKeptOutByMiddlewareAndByTheirOrigin) {
    app.group("/private")
        .use([](const Request& request) -> std::optional<Problem> {
            if (request.query == "key") return std::nullopt;
            return Problem{.status = 401};
        })
        .ws<"/echo">([](WebSocket& socket) -> Task<> { co_await socket.send("in"); });
    EXPECT_EQ(status_of(ask_socket("/private/echo")->heard()), "401");
    EXPECT_EQ(frames(*open("/private/echo?key")), "text(in) close(1000)");
    EXPECT_EQ(status_of(ask_socket("/private/echo?key", "Origin: http://b\r\n")->heard()), "403");
    EXPECT_EQ(status_of(ask_socket("/private/echo?key", "Origin: http://a\r\n")->heard()), "101");
}

TEST_F(Sockets, AreStreamsOfHttp2Too) {
    serve_echo();
    app.get<"/page">([] { return "page"; });
    auto peer = connect();
    H2Client client(*peer);
    const auto connect_to = [&](std::uint32_t stream, std::string_view path,
                                std::string_view protocol) {
        client.headers(stream,
                       {{":method", "CONNECT"},
                        {":protocol", std::string(protocol)},
                        {":scheme", "http"},
                        {":path", std::string(path)},
                        {":authority", "a"},
                        {"sec-websocket-version", "13"}},
                       false);
        client.skip(stream);
        world.settle();
        return client.answer(stream).status;
    };
    ASSERT_EQ(connect_to(1, "/echo", "websocket"), 200);
    client.data(1, client_frame(Opcode::text, "over a stream"), false);
    world.settle();
    EXPECT_EQ(testing::describe_server_frames(client.answer(1).body), "text(over a stream)");
    client.data(1, client_frame(Opcode::close, "\x03\xe8"), false);
    world.settle();
    EXPECT_EQ(testing::describe_server_frames(client.answer(1).body),
              "text(over a stream) close(1000)");

    EXPECT_EQ(connect_to(3, "/echo", "raw"), 501);
    EXPECT_EQ(connect_to(5, "/page", "websocket"), 501);
    EXPECT_EQ(connect_to(7, "/absent", "websocket"), 404);
    const auto page = client.get("/page");
    world.settle();
    EXPECT_EQ(client.answer(page).body, "page");
    const auto plain = client.get("/echo");
    world.settle();
    EXPECT_EQ(client.answer(plain).status, 426);
}

TEST_F(Sockets, RefuseWhatIsTooLargeOrNoText) {
    serve_echo({.message_bytes_max = 1'000});
    auto large = open("/echo");
    say(*large, std::string(1'001, 'x'));
    EXPECT_TRUE(frames(*large).starts_with("close(1009")) << frames(*large);
    auto pieces = open("/echo");
    pieces->say(client_frame(Opcode::text, std::string(600, 'x'), {.final = false}));
    pieces->say(client_frame(Opcode::continuation, std::string(600, 'x')));
    world.settle();
    EXPECT_TRUE(frames(*pieces).starts_with("close(1009")) << frames(*pieces);
    auto no_text = open("/echo");
    say(*no_text, "a\xff");
    EXPECT_TRUE(frames(*no_text).starts_with("close(1007")) << frames(*no_text);
    auto whole = open("/echo");
    say(*whole, std::string(1'000, 'x'));
    EXPECT_EQ(frames(*whole), "text(1000 bytes)");
}

// --- back-pressure ---------------------------------------------------------------------------

TEST_F(Sockets, TakeAFloodAtTheirOwnPace) {
    bool go = false;
    int got = 0;
    app.ws<"/">([&](WebSocket& socket) -> Task<> {
        while (!go) co_await task::sleep(1s);
        while (auto m = co_await socket.receive()) {
            EXPECT_EQ(m->text(), std::to_string(got) + std::string(100, '.'));
            ++got;
            co_await socket.send(*m);
        }
    });
    connect();
    auto peer = world.connect_fake();
    peer->say(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    peer->set_listening(false);
    std::string flood;
    for (int i = 0; i < 10'000; ++i) {
        flood += client_frame(Opcode::text, std::to_string(i) + std::string(100, '.'));
    }
    peer->say(flood);
    world.advance(10s);
    // The held bytes, the bytes that the connection keeps unread, and the bytes in the network.
    EXPECT_LT(peer->said(), flood.size() / 2);
    go = true;
    world.advance(10s);
    EXPECT_LT(got, 10'000);  // the peer does not listen: the task waits in send()
    peer->set_listening(true);
    world.advance(30s);
    EXPECT_EQ(got, 10'000);
}

TEST_F(Sockets, WaitForASlowReader) {
    std::size_t sent = 0;
    const std::string block(10'000, 'x');
    app.ws<"/">([&](WebSocket& socket) -> Task<> {
        while (co_await socket.send(block)) ++sent;
    });
    auto peer = open("/");
    peer->set_listening(false);
    world.settle();
    const std::size_t at_rest = sent;
    EXPECT_LT(at_rest * block.size(), 8_MiB);
    world.advance(5s);
    EXPECT_EQ(sent, at_rest);
    peer->set_listening(true);
    world.run_until([&] { return sent > 10 * at_rest; });
    EXPECT_GT(sent, 10 * at_rest);
    peer->close();
    world.settle();
}

TEST_F(Sockets, SendAMessageLargerThanTheirQueue) {
    app.ws<"/">(
        [](WebSocket& socket) -> Task<> {
            for (int i = 0; i < 3; ++i) {
                const std::string large(3'000'000, 'x');
                co_await socket.send_binary(large);
            }
        },
        {.queue_bytes_max = 1_MiB, .compression = false});
    auto peer = open("/");
    EXPECT_TRUE(world.run_until([&] { return peer->over(); }));
    EXPECT_EQ(frames(*peer),
              "binary(3000000 bytes) binary(3000000 bytes) binary(3000000 bytes) close(1000)");
}

TEST_F(Sockets, ReceiveUnderADeadlineWithoutALoss) {
    app.ws<"/">([](WebSocket& socket) -> Task<> {
        for (;;) {
            const auto found = co_await task::within(1s, socket.receive());
            if (found && !*found) co_return;
            const std::string answer = found ? (*found)->text() : "nothing";
            co_await socket.send(answer);
        }
    });
    auto peer = open("/");
    world.advance(1500ms);
    say(*peer, "one");
    world.advance(1100ms);
    EXPECT_EQ(frames(*peer), "text(nothing) text(one) text(nothing)");
    peer->close();
    world.settle();
}

// The bound of one route, of which two of these messages take the most.
TEST_F(Sockets, WhoseTasksAreBusyHoldNoMoreThanTheBoundOfAll) {
    std::vector<int> received;
    app.ws<"/busy">(
        [&](WebSocket& socket) -> Task<> {
            co_await task::sleep(2s);
            int count = 0;
            while (co_await socket.receive()) ++count;
            received.push_back(count);
        },
        {.message_bytes_max = 100'000, .waiting_bytes_max = 0});
    std::vector<std::unique_ptr<testing::Peer>> peers;
    for (int i = 0; i < 4; ++i) {
        peers.push_back(open("/busy"));
        peers.back()->say(client_frame(Opcode::binary, std::string(90'000, 'x')));
        world.settle();
    }
    const std::string refused = "close(1008 too much of unreceived messages is held)";
    EXPECT_EQ(frames(*peers[0]), refused);
    EXPECT_EQ(frames(*peers[1]), refused);
    EXPECT_EQ(frames(*peers[2]), "");
    world.advance(8s);
    EXPECT_EQ(received, (std::vector{0, 0})) << "their tasks receive the end";
    for (const int i : {2, 3}) peers[i]->say(client_frame(Opcode::close, "\x03\xe8"));
    world.settle();
    EXPECT_EQ(received, (std::vector{0, 0, 1, 1}));
}

}  // namespace
}  // namespace tiderace::http
