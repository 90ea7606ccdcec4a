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
    std::string talk(const std::string& path, const std::string& first) {
        (void)connect();
        std::string told;
        client_.spawn(say_and_hear("ws://" + world.listening_at().to_string() + path, first, told));
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

// The same by a client that has HTTP/2 to the App (RFC 8441).
class ConnectByClient : public AppTest {
  protected:
    explicit ConnectByClient(bool has_sockets = true) {
        options_.versions = ClientVersions::http_2;  // in clear text
        options_.proxy_from_environment = false;
        client_ = std::make_unique<Client>(nullptr, options_);
        app.get<"/">([] { return "page"; });
        if (!has_sockets) return;
        app.ws<"/echo">([](WebSocket& socket) -> task::Task<> {
            while (auto message = co_await socket.receive()) {
                co_await socket.send(message->text());
            }
        });
    }
    ~ConnectByClient() override {
        runner_.cancel_spawned();
        client_.reset();
        world.settle();
    }

    void run(task::Task<> task) {
        (void)connect();
        bool done = false;
        runner_.spawn([](task::Task<> inner, bool& over) -> task::Task<> {
            co_await std::move(inner);
            over = true;
        }(std::move(task), done));
        EXPECT_TRUE(world.run_until([&] { return done; }));
    }
    void get_page() {
        run([](Client& client, std::string url) -> task::Task<> {
            auto page = co_await client.get(url);
            EXPECT_TRUE(page && page->body == "page" && page->version == HttpVersion::http_2);
        }(*client_, "http://" + address() + "/"));
    }
    // What came back of each word, and the end.
    std::string talk(const std::string& path, std::vector<std::string> words) {
        std::string told;
        run(say_and_hear(*client_, "ws://" + address() + path, how_, std::move(words), told));
        return told;
    }
    std::string address() {
        (void)connect();
        return world.listening_at().to_string();
    }
    // Those that the client's tasks made; each connect() above has one, too.
    std::size_t connections() const { return client_->pool()->connections(); }

    static task::Task<> say_and_hear(Client& client, std::string url, WebSocketConnect how,
                                     std::vector<std::string> words, std::string& told) {
        auto socket = co_await connect_websocket(client, std::move(url), std::move(how));
        if (!socket) {
            told = socket.error().message;
            co_return;
        }
        told = "open " + std::string(socket->subprotocol());
        for (const std::string& word : words) {
            co_await socket->send(word);
            auto message = co_await socket->receive();
            if (!message) break;
            told += message->text() == word ? "=" : "!";
        }
        if (words.empty()) {
            while (co_await socket->receive()) continue;
        }
        socket->close(4'001, "thanks");
        while (co_await socket->receive()) continue;
        told += " " + std::to_string(socket->close_code());
    }

    ClientOptions options_;
    WebSocketConnect how_;
    task::Runner runner_{world.loop()};
    std::unique_ptr<Client> client_;
};

TEST_F(ConnectByClient, TheSocketIsAStreamOfTheOpenConnection) {
    get_page();
    const std::size_t before = server().size();
    for (const bool compression : {true, false}) {
        how_.compression = compression;
        EXPECT_EQ(talk("/echo", {"a", "", std::string(1'000'000, 'x'), "b"}), "open ==== 4001");
        EXPECT_EQ(connections(), 1U) << "none of its own";
    }
    get_page();
    world.settle();
    EXPECT_LE(server().size(), before + 10) << "only this test's peers are more";
    EXPECT_EQ(client_->pool()->counters().opened, 1U);
}

TEST_F(ConnectByClient, ManySocketsShareOneConnectionWithRequests) {
    get_page();
    std::vector<std::string> told(20);
    for (std::string& each : told) {
        runner_.spawn(say_and_hear(*client_, "ws://" + address() + "/echo", how_,
                                   {"a", std::string(100'000, 'y')}, each));
    }
    get_page();
    world.settle();
    for (const std::string& each : told) EXPECT_EQ(each, "open == 4001");
    EXPECT_EQ(client_->pool()->counters().opened, 1U);
}

TEST_F(ConnectByClient, WithoutAnOpenConnectionItHasItsOwn) {
    EXPECT_EQ(talk("/echo", {"a"}), "open = 4001");
    EXPECT_EQ(client_->pool(), nullptr) << "HTTP/1.1";
}

TEST_F(ConnectByClient, ARefusalIsTheServersStatus) {
    get_page();
    EXPECT_NE(talk("/none", {}).find("404"), std::string::npos);
    EXPECT_NE(talk("/", {}).find("the server answered"), std::string::npos);
    get_page();
    EXPECT_EQ(client_->pool()->counters().opened, 1U) << "the connection is as good as before";
}

TEST_F(ConnectByClient, ATaskThatEndsResetsItsStreamAlone) {
    get_page();
    std::string told;
    runner_.spawn(say_and_hear(*client_, "ws://" + address() + "/echo", how_, {}, told));
    world.settle();
    EXPECT_EQ(told, "open ");
    runner_.cancel_spawned();
    world.settle();
    world.advance(10s);
    get_page();
    EXPECT_EQ(client_->pool()->counters().opened, 1U);
}

TEST_F(ConnectByClient, AClientThatEndsTakesItsSocketsWithIt) {
    get_page();
    std::string told;
    runner_.spawn(say_and_hear(*client_, "ws://" + address() + "/echo", how_, {}, told));
    world.settle();
    client_.reset();
    world.settle();
    EXPECT_EQ(told, "open  1006");
}

// What it does not receive stays with the server, within the stream's window.
TEST_F(ConnectByClient, ASlowReceiverHoldsBackItsSenderAlone) {
    std::size_t sent = 0;
    app.ws<"/flood">([&sent](WebSocket& socket) -> task::Task<> {
        for (; sent < 200; ++sent) {
            if (!co_await socket.send(std::string(100'000, static_cast<char>('a' + sent % 26)))) {
                co_return;
            }
        }
    });
    get_page();
    how_.compression = false;
    bool go = false;
    std::size_t received = 0;
    runner_.spawn([](Client& client, std::string url, WebSocketConnect how, bool& may_go,
                     std::size_t& count) -> task::Task<> {
        auto socket = co_await connect_websocket(client, std::move(url), std::move(how));
        if (!socket) co_return;
        while (!may_go) co_await task::sleep(1s);
        while (auto message = co_await socket->receive()) {
            count += message->text() == std::string(100'000, static_cast<char>('a' + count % 26));
        }
    }(*client_, "ws://" + address() + "/flood", how_, go, received));
    world.advance(5s);
    EXPECT_LT(sent, 100U) << "held back";
    get_page();
    go = true;
    EXPECT_TRUE(world.run_until([&] { return received == 200; })) << received;
}

// An App without a WebSocket has no setting for them, and gets no CONNECT.
class ConnectWithoutStreams : public ConnectByClient {
  protected:
    ConnectWithoutStreams() : ConnectByClient(false) {}
};

TEST_F(ConnectWithoutStreams, IsOverHttp11) {
    auto version = HttpVersion::http_2;
    app.get<"/echo">([&version](const Request& request) {
        version = request.version;
        return "no socket";
    });
    get_page();
    EXPECT_NE(talk("/echo", {}).find("the server answered 200"), std::string::npos);
    EXPECT_EQ(version, HttpVersion::http_1_1);
}

}  // namespace
}  // namespace tiderace::http
