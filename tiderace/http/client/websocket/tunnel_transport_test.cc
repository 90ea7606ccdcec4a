#include "tiderace/http/client/websocket/tunnel_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/client/client_h2_fixture.h"
#include "tiderace/http/client/websocket/connect.h"

namespace tiderace::http {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using wire::H2Error;

// A client that has a connection of HTTP/2 open, to a server which takes WebSockets on streams.
class TunnelTransportTest : public ScriptedH2Test {
  protected:
    TunnelTransportTest() {
        server.on_request = [this](std::uint32_t stream, const std::string& asked) {
            if (asked == "CONNECT /ws") return on_connect(stream);
            server.settings({{wire::H2SettingId::enable_connect_protocol, 1}});
            server.answer(stream, "page");
        };
        EXPECT_EQ(get(server.url + "/"), "200 page");
        world.settle();
    }
    // What it receives, and how it ends.
    std::string talk() {
        std::string told;
        begin_talk(told);
        EXPECT_TRUE(world.run_until([&] { return told.ends_with("."); })) << told;
        return told;
    }
    void begin_talk(std::string& told) {
        WebSocketConnect how;
        how.proxy_from_environment = false;
        how.subprotocols = {"tide"};
        runner.spawn(talk_into(*client, "ws" + server.url.substr(4) + "/ws", std::move(how), told));
    }
    void accept(std::uint32_t stream, H2TestServer::FieldList more = {}) {
        more.insert(more.begin(), {":status", "200"});
        server.head(stream, more, false);
    }

    std::function<void(std::uint32_t)> on_connect;
    const std::string hello = "\x81\x05hello";
    const std::string close = "\x88\x02\x03\xe8";

  private:
    static task::Task<> talk_into(Client& client, std::string url, WebSocketConnect how,
                                  std::string& told) {
        auto socket = co_await connect_websocket(client, std::move(url), std::move(how));
        if (!socket) {
            told = socket.error().message + ".";
            co_return;
        }
        told = "open" + std::string(socket->subprotocol()) + " ";
        while (auto message = co_await socket->receive()) told += message->text() + " ";
        told += std::to_string(socket->close_code()) + ".";
    }
};

TEST_F(TunnelTransportTest, AStreamCarriesTheSocketAndEndsInOrder) {
    on_connect = [this](std::uint32_t stream) {
        accept(stream, {{"sec-websocket-protocol", "tide"}});
        server.data(stream, hello.substr(0, 3), false);
        server.data(stream, hello.substr(3) + close, true);
    };
    EXPECT_EQ(talk(), "opentide hello 1000.");
    world.settle();
    EXPECT_TRUE(heard("HEADERS 3 CONNECT /ws; ")) << server.last().frames;
    EXPECT_TRUE(heard("END 3; ")) << server.last().frames;
    EXPECT_FALSE(heard("RST")) << server.last().frames;
    EXPECT_EQ(get(server.url + "/"), "200 page");
    EXPECT_EQ(server.all.size(), 1U);
}

TEST_F(TunnelTransportTest, AStreamThatIsCutEndsTheSocketAlone) {
    for (const bool resets : {true, false}) {
        on_connect = [&](std::uint32_t stream) {
            accept(stream);
            server.data(stream, hello, !resets);
            if (resets) server.reset(stream, H2Error::internal_error);
        };
        // What came before a reset may be lost with it.
        EXPECT_THAT(talk(), HasSubstr("1006."));
        EXPECT_EQ(get(server.url + "/"), "200 page");
        EXPECT_EQ(server.all.size(), 1U);
    }
}

TEST_F(TunnelTransportTest, ATaskThatEndsCancelsItsStream) {
    std::string told;
    on_connect = [](std::uint32_t) {};
    begin_talk(told);
    world.settle();
    runner.cancel_spawned();
    world.settle();
    EXPECT_TRUE(heard("RST 3 CANCEL")) << server.last().frames;
    EXPECT_NE(server.last().connection, nullptr) << "the connection goes on";
}

TEST_F(TunnelTransportTest, AnAnswerThatOpensNoSocketIsAFault) {
    const struct {
        H2TestServer::FieldList fields;
        const char* why;
    } cases[] = {
        {{{":status", "403"}}, "the server answered 403: "},
        {{{":status", "302"}, {"location", "/elsewhere"}}, "the server answered 302: "},
        {{{":status", "200"}, {"sec-websocket-protocol", "ebb"}}, "a subprotocol that was not"},
        {{{":status", "200"}, {"sec-websocket-extensions", "x"}}, "an extension that was not"},
        {{{":status", "200"}, {"sec-websocket-protocol", "tide"}, {"sec-websocket-protocol", "a"}},
         "a field that may stand once"},
    };
    for (const auto& each : cases) {
        on_connect = [&](std::uint32_t stream) { server.head(stream, each.fields, false); };
        EXPECT_THAT(talk(), HasSubstr(each.why));
        EXPECT_EQ(get(server.url + "/"), "200 page");
        EXPECT_EQ(server.all.size(), 1U) << "nothing else was tried";
    }
}

TEST_F(TunnelTransportTest, WhatTheServerDidNotBeginGoesOverHttp11) {
    on_connect = [this](std::uint32_t stream) { server.reset(stream, H2Error::refused_stream); };
    // This server speaks nothing but HTTP/2, so that it goes no further.
    EXPECT_THAT(talk(), HasSubstr("not an HTTP/1.1 answer"));
    EXPECT_EQ(server.all.size(), 2U);
}

// The windows of a stream hold back both sides.
TEST_F(TunnelTransportTest, AServerWithoutAWindowIsWaitedFor) {
    std::uint32_t opened = 0;
    on_connect = [&](std::uint32_t stream) {
        opened = stream;
        accept(stream);
    };
    std::string told;
    bool sent = false;
    WebSocketConnect how;
    how.proxy_from_environment = how.compression = false;
    runner.spawn([](Client& client, std::string url, WebSocketConnect with, std::string& out,
                    bool& done) -> task::Task<> {
        auto socket = co_await connect_websocket(client, std::move(url), std::move(with));
        if (!socket) co_return;
        for (int i = 0; i < 40; ++i) co_await socket->send(std::string(50'000, 'x'));
        done = true;
        while (co_await socket->receive()) continue;
        out = std::to_string(socket->close_code());
    }(*client, "ws" + server.url.substr(4) + "/ws", how, told, sent));
    world.settle();
    EXPECT_EQ(server.last().body_bytes, 65'535U) << "the first window";
    EXPECT_FALSE(sent) << "two megabytes are not kept here";
    server.window_update(opened, 10'000'000);
    server.window_update(0, 10'000'000);
    world.settle();
    EXPECT_TRUE(sent);
    EXPECT_GT(server.last().body_bytes, 2'000'000U);
    server.data(opened, close, true);
    world.settle();
    EXPECT_EQ(told, "1000");
}

}  // namespace
}  // namespace tiderace::http
