#include "tiderace/http/client/websocket/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/wire/websocket/handshake.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/task/sleep.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string describe(const ClientFault& fault) {
    const char* kind = fault.kind == ClientFault::Kind::bad_request  ? "bad_request"
                       : fault.kind == ClientFault::Kind::connect    ? "connect"
                       : fault.kind == ClientFault::Kind::tls        ? "tls"
                       : fault.kind == ClientFault::Kind::timed_out  ? "timed_out"
                       : fault.kind == ClientFault::Kind::closed     ? "closed"
                       : fault.kind == ClientFault::Kind::bad_answer ? "bad_answer"
                                                                     : "?";
    return "! "s + kind + ": " + fault.message;
}

// Says `words`, and what it hears, with "|" behind each; then the close code.
task::Task<> talk(std::string url, WebSocketConnect how, std::vector<std::string> words,
                  std::string& told) {
    auto socket = co_await connect_websocket(nullptr, std::move(url), std::move(how));
    if (!socket) {
        told = describe(socket.error());
        co_return;
    }
    told = "open " + std::string(socket->subprotocol()) + " ";
    for (const std::string& word : words) {
        if (!co_await socket->send(word)) told += "unsent|";
    }
    for (std::size_t i = 0; i < words.size() || words.empty(); ++i) {
        auto message = co_await socket->receive();
        if (!message) break;
        told += (message->text().size() > 100 ? std::to_string(message->text().size())
                                              : message->text()) +
                "|";
    }
    told += std::to_string(socket->close_code());
}

class WebSocketConnectTest : public ::testing::Test {
  protected:
    WebSocketConnectTest() { how.proxy_from_environment = false; }
    ~WebSocketConnectTest() override {
        runner->cancel_spawned();
        runner.reset();
        world.settle();
    }

    std::string talk_to(const std::string& url, std::vector<std::string> words) {
        std::string told;
        bool done = false;
        runner->spawn([](task::Task<> task, bool& done) -> task::Task<> {
            co_await std::move(task);
            done = true;
        }(talk(url, how, std::move(words), told), done));
        EXPECT_TRUE(world.run_until([&] { return done; }));
        return told;
    }

    testing::FakeWorld world;
    std::unique_ptr<task::Runner> runner = std::make_unique<task::Runner>(world.loop());
    WebSocketConnect how;
};

// With our own server.
class WebSocketConnectToOurs : public WebSocketConnectTest {
  protected:
    WebSocketConnectToOurs() : stage(world, {.subprotocols = {"one", "two"}}) {
        (void)stage.connect();
        url = "ws://" + world.listening_at().to_string() + "/ws";
    }

    testing::WebSocketStage stage;
    std::string url;
};

TEST_F(WebSocketConnectToOurs, TalksAndClosesInOrder) {
    for (const bool compression : {true, false}) {
        how.compression = compression;
        EXPECT_EQ(talk_to(url, {"hello", std::string(200'000, 'x'), ""}), "open  hello|200000||0");
        world.settle();
        EXPECT_EQ(stage.told(), "open text(hello) text(200000 bytes) text() closed(1000)");
    }
    how.subprotocols = {"three", "two"};
    EXPECT_EQ(talk_to(url, {"hello"}), "open two hello|0");
    how.subprotocols = {"three"};
    EXPECT_EQ(talk_to(url, {"hello"}), "open  hello|0") << "none of them is no refusal";
}

TEST_F(WebSocketConnectToOurs, SocketsShareTheirLoopsService) {
    std::vector<std::string> told(50);
    for (std::string& each : told) runner->spawn(talk(url, how, {"a", "b"}, each));
    world.settle();
    for (const std::string& each : told) EXPECT_EQ(each, "open  a|b|0");
    EXPECT_EQ(stage.service().counters().opened, 50U);
    world.advance(10s);
    EXPECT_EQ(stage.service().size(), 0U);
}

TEST_F(WebSocketConnectToOurs, AServersCloseIsTheEnd) {
    stage.echo = false;
    stage.when_told = [](WebSocketConnection& socket) {
        socket.send_text("last words");
        socket.close(4'000, "enough");
    };
    EXPECT_EQ(talk_to(url, {"a", "b"}), "open  last words|4000");
}

TEST_F(WebSocketConnectToOurs, ATaskThatIsCancelledLeavesNothing) {
    std::string told;
    runner->spawn(talk(url, how, {}, told));
    world.settle();
    EXPECT_EQ(stage.service().size(), 1U);
    runner->cancel_spawned();
    world.settle();
    EXPECT_EQ(stage.service().size(), 0U);
    EXPECT_EQ(stage.told(), "open closed(1000)");
    // So does a runner that ends first.
    runner->spawn(talk(url, how, {}, told));
    world.settle();
    runner = std::make_unique<task::Runner>(world.loop());
    world.settle();
    EXPECT_EQ(stage.service().size(), 0U);
}

TEST_F(WebSocketConnectToOurs, WhatCannotBeAskedIsNotAsked) {
    for (const char* const bad : {"http://a/", "ws:/a", "ws://", "", "wss://a b/", "ws://u:p@a/"}) {
        EXPECT_THAT(talk_to(bad, {}), StartsWith("! bad_request: ")) << bad;
    }
    EXPECT_THAT(talk_to("wss://127.0.0.1:1/", {}), StartsWith("! tls: "));
    EXPECT_THAT(talk_to("ws://127.0.0.1:1/", {}), StartsWith("! connect: "));
    how.headers.add("X-A", "1\r\nX-B: 2");
    EXPECT_THAT(talk_to(url, {}), StartsWith("! bad_request: "));
    for (const char* const ours : {"Host", "sec-websocket-key", "Upgrade", "connection"}) {
        how.headers = {Header(ours, "x")};
        EXPECT_THAT(talk_to(url, {}), StartsWith("! bad_request: ")) << ours;
    }
    how.headers = {};
    how.subprotocols = {"a, b"};
    EXPECT_THAT(talk_to(url, {}), StartsWith("! bad_request: "));
    EXPECT_EQ(stage.told(), "");
}

// With a server that says what a test wants.
class WebSocketConnectToAny : public WebSocketConnectTest {
  protected:
    WebSocketConnectToAny() : server(world.loop(), sessions, {}) {
        sessions.on_data = [this](net::Connection& connection, ByteView data) -> std::size_t {
            const std::size_t end = data.find("\r\n\r\n");
            if (!request.empty()) return data.size();
            if (end == ByteView::npos) return 0;
            request = std::string(data.substr(0, end + 4));
            if (answer) answer(connection);
            return data.size();
        };
        server.listen(world.listen());
        url = "WS://" + world.listening_at().to_string();
    }
    ~WebSocketConnectToAny() override { server.abort_all(); }

    std::string field(const std::string& name) const {
        const std::size_t at = request.find("\r\n" + name + ": ");
        if (at == std::string::npos) return "";
        const std::size_t begin = at + name.size() + 4;
        return request.substr(begin, request.find("\r\n", begin) - begin);
    }
    std::string accepted(const std::string& more = "") const {
        const auto accept = wire::websocket_accept(field("Sec-WebSocket-Key"));
        return "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: " +
               std::string(accept.data(), accept.size()) + "\r\n" + more + "\r\n";
    }
    // How a client ends that receives these bytes.
    std::string meet(std::function<std::string()> bytes, bool ends = false) {
        request.clear();
        answer = [bytes = std::move(bytes), ends](net::Connection& connection) {
            connection.write(bytes());
            if (ends) connection.finish();
        };
        return talk_to(url, {});
    }

    testing::ScriptedSessions sessions;
    net::TcpServer server;
    std::function<void(net::Connection&)> answer;
    std::string request;
    std::string url;
};

TEST_F(WebSocketConnectToAny, TheRequestHasWhatWasAskedFor) {
    CookieJar jar;
    jar.keep({.secure = false, .host = "127.0.0.1", .path = "/"}, "s=1", 0);
    how.cookies = &jar;
    how.headers.add("Authorization", "Bearer x");
    how.origin = "https://a.example";
    url += "/room?a=b";
    EXPECT_EQ(meet([&] { return accepted() + "\x88\x02\x03\xe8"s; }, true), "open  1000");
    EXPECT_THAT(request, StartsWith("GET /room?a=b HTTP/1.1\r\n"));
    EXPECT_EQ(field("Cookie"), "s=1");
    EXPECT_EQ(field("Authorization"), "Bearer x");
    EXPECT_EQ(field("Origin"), "https://a.example");
    EXPECT_EQ(field("Sec-WebSocket-Version"), "13");
}

TEST_F(WebSocketConnectToAny, AnAnswerThatIsNoneIsAFault) {
    const auto without = [&](const std::string& what, const std::string& instead) {
        return meet([&, what, instead] {
            std::string text = accepted();
            return text.replace(text.find(what), what.size(), instead);
        });
    };
    EXPECT_THAT(without("Sec-WebSocket-Accept: ", "Sec-WebSocket-Accept: x"),
                StartsWith("! bad_answer: "));
    EXPECT_THAT(without("Sec-WebSocket-Accept", "Other"), HasSubstr("does not answer our key"));
    EXPECT_THAT(without("Upgrade: websocket\r\n", ""), HasSubstr("Upgrade is not websocket"));
    EXPECT_THAT(without("Connection: Upgrade\r\n", ""), HasSubstr("Connection does not say"));
    EXPECT_THAT(meet([&] { return accepted("Sec-WebSocket-Protocol: x\r\n"); }),
                HasSubstr("not offered"));
    EXPECT_THAT(meet([&] { return accepted("Sec-WebSocket-Extensions: x\r\n"); }),
                HasSubstr("not offered"));
    EXPECT_THAT(meet([] { return "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"s; }),
                HasSubstr("bad_answer: " + url + ": the server answered 404"));
    EXPECT_THAT(meet([] { return "HTTP/1.1 302 No\r\nLocation: /b\r\n\r\n"s; }), HasSubstr("302"));
    EXPECT_THAT(meet([] { return "SSH-2.0-x\r\n"s; }), HasSubstr("not an HTTP/1.1 answer"));
    EXPECT_THAT(meet([] { return "HTTP/1.1 101 X\r\nA: " + std::string(20'000, 'x'); }),
                HasSubstr("endless"));
    EXPECT_THAT(meet([] { return "HTTP/1.1 101"s; }, true), StartsWith("! closed: "));
    world.advance(10s);
    EXPECT_EQ(server.size(), 0U);
}

TEST_F(WebSocketConnectToAny, ASilentServerIsWaitedForUntilTheTimeout) {
    how.timeout = 5s;
    EXPECT_THAT(meet([] { return ""s; }), StartsWith("! timed_out: "));
    EXPECT_GE(world.elapsed(), 5s);
    world.settle();
    EXPECT_EQ(server.size(), 0U);
}

TEST_F(WebSocketConnectToAny, AClientsProxiesAreAskedAndNoOthers) {
    Client client(nullptr, {.proxy_from_environment = false});
    const std::string place = world.listening_at().to_string();
    client.set_proxies(Proxies::from([&](const char* name) -> const char* {
        return std::string_view(name) == "http_proxy" ? place.c_str() : nullptr;
    }));
    answer = [](net::Connection& connection) {
        connection.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    };
    bool done = false;
    runner->spawn([](Client& client, bool& done) -> task::Task<> {
        const auto socket = co_await connect_websocket(client, "ws://a.example/room");
        EXPECT_EQ(describe(socket.error()),
                  "! connect: ws://a.example/room: the proxy answered 403");
        done = true;
    }(client, done));
    EXPECT_TRUE(world.run_until([&] { return done; }));
    EXPECT_THAT(request, StartsWith("CONNECT a.example:80 HTTP/1.1\r\n"));
}

TEST_F(WebSocketConnectToAny, TheTimeoutMayBeNever) {
    how.timeout = Duration::max();
    EXPECT_EQ(meet([&] { return accepted() + "\x88\x02\x03\xe8"s; }, true), "open  1000");
}

// Each ends the socket with that code, which the server receives.
TEST_F(WebSocketConnectToAny, AServerThatBreaksTheRulesIsLeft) {
    how.message_bytes_max = 1'000;
    const struct {
        std::string frames;
        int code;
    } cases[] = {
        {"\x81\x85"
         "abcd"
         "hello",
         1002},                                                 // masked
        {"\x89\x7e\x00\x7e"s + std::string(126, 'x'), 1002},    // a ping of 126 bytes
        {"\x09\x01x"s, 1002},                                   // a ping in pieces
        {"\x80\x01x"s, 1002},                                   // a continuation of nothing
        {"\x01\x01x\x01\x01x"s, 1002},                          // a message inside another
        {"\xc1\x01x"s, 1002},                                   // compressed, not agreed on
        {"\x83\x01x"s, 1002},                                   // no such opcode
        {"\x81\x02\xff\xff"s, 1007},                            // no UTF-8
        {"\x82\x7e\x03\xe9"s + std::string(1'001, 'x'), 1009},  // too long
        {"\x88\x01x"s, 1002},                                   // half a code
    };
    for (const auto& c : cases) {
        const std::string told = meet([&] { return accepted() + c.frames; });
        EXPECT_EQ(told, "open  " + std::to_string(c.code)) << c.frames.substr(0, 4);
    }
    // Pieces without an end.
    std::string endless = "\x02\x01x"s;
    for (int i = 0; i < 2'000; ++i) endless += "\x00\x01x"s;
    EXPECT_EQ(meet([&] { return accepted() + endless; }), "open  1009");
    // Gone: without a close frame; or without a sound, until a ping is not answered.
    EXPECT_EQ(meet([&] { return accepted() + "\x81\x01x"s; }, true), "open  x|1006");
    const Duration before = world.elapsed();
    EXPECT_EQ(meet([&] { return accepted() + "\x81\x01x"s; }), "open  x|1006");
    EXPECT_GE(world.elapsed() - before, how.ping_interval + how.pong_timeout);
    world.advance(10s);
    EXPECT_EQ(server.size(), 0U);
}

TEST_F(WebSocketConnectToAny, PingsAreAnsweredAndPiecesJoined) {
    std::string said;
    sessions.on_data = [&](net::Connection& connection, ByteView data) {
        if (request.empty()) {
            request = std::string(data);
            connection.write(accepted() +
                             "\x89\x02hi\x01\x02on\x89\x00\x80\x01"
                             "e\x88\x00"s);
        } else {
            said += data;
        }
        return data.size();
    };
    EXPECT_EQ(talk_to(url, {}), "open  one|1005");
    world.settle();
    ASSERT_GE(said.size(), 8U);
    EXPECT_EQ(said.substr(0, 2), "\x8a\x82");  // a pong of two bytes, masked
}

}  // namespace
}  // namespace tiderace::http
