#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/websocket/socket_endpoint.h"
#include "tiderace/http/client/websocket/connect.h"

namespace tiderace::http {
namespace {

// A client's socket and one of an App's, on one loop.
class ConnectToApp : public AppTest {
  protected:
    ~ConnectToApp() override {
        client_.cancel_spawned();
        world.settle();
    }
    std::string address() {
        (void)connect();
        return world.listening_at().to_string();
    }
    void spawn(task::Task<> task) { client_.spawn(std::move(task)); }
    std::string talk(const std::string& path, const std::string& first) {
        std::string told;
        spawn(say_and_hear("ws://" + address() + path, first, told));
        EXPECT_TRUE(world.run_until([&] { return told.ends_with("."); })) << told;
        return told;
    }

  private:
    static task::Task<> say_and_hear(std::string url, std::string first, std::string& told) {
        WebSocketConnect how;
        how.proxy_from_environment = false;
        auto socket = co_await connect_websocket(url, how);
        if (!socket) {
            told = socket.error().message + ".";
            co_return;
        }
        co_await socket->send(first);
        while (auto message = co_await socket->receive()) {
            told += message->text() + "|";
            if (message->text() == "done") socket->close(4'001, "thanks");
        }
        told += std::to_string(socket->close_code()) + ".";
    }

    task::Runner client_{world.loop()};
};

TEST_F(ConnectToApp, BothSidesHaveTheSameFace) {
    std::uint16_t code = 0;
    app.ws<"/count/{to}">([&code](WebSocket& socket, int to) -> task::Task<> {
        auto first = co_await socket.receive();
        if (!first) co_return;
        for (int i = 0; i < to; ++i) co_await socket.send(first->text() + std::to_string(i));
        co_await socket.send("done");
        while (co_await socket.receive()) continue;
        code = socket.close_code();
    });
    EXPECT_EQ(talk("/count/3", "n"), "n0|n1|n2|done|4001.");
    world.settle();
    EXPECT_EQ(code, 4'001);
    EXPECT_NE(talk("/none", "n").find("404"), std::string::npos);
}

TEST_F(ConnectToApp, AnAppThatIsThroughSaysGoodbye) {
    app.ws<"/once">([](WebSocket& socket) -> task::Task<> { co_await socket.send("once"); });
    EXPECT_EQ(talk("/once", "n"), "once|1000.");
}

TEST_F(ConnectToApp, ASocketOfAClientOfHttp2HasAConnectionOfItsOwn) {
    auto version = HttpVersion::http_2;
    std::string cookie;
    app.get<"/">([] { return Response().header("Set-Cookie", "a=1").text("page"); });
    app.ws<"/once">([&](WebSocket& socket, const Request& request) -> task::Task<> {
        version = request.version;
        cookie = request.header("Cookie");
        co_await socket.send("once");
    });
    ClientOptions options;
    options.versions = ClientVersions::http_2;  // in clear text
    options.cookies = true;
    options.proxy_from_environment = false;
    Client client(nullptr, options);
    std::string told;
    spawn([](Client& by, std::string place, std::string& out) -> task::Task<> {
        const auto page = co_await by.get("http://" + place + "/");
        EXPECT_TRUE(page && page->version == HttpVersion::http_2);
        auto socket = co_await connect_websocket(by, "ws://" + place + "/once");
        if (!socket) co_return;
        while (auto message = co_await socket->receive()) out += message->text() + ".";
    }(client, address(), told));
    EXPECT_TRUE(world.run_until([&] { return told.ends_with("."); })) << told;
    EXPECT_EQ(version, HttpVersion::http_1_1);
    EXPECT_EQ(cookie, "a=1");
    EXPECT_EQ(client.pool()->counters().opened, 1U);
    world.settle();
}

}  // namespace
}  // namespace tiderace::http
