#include "tiderace/http/client/tunnel.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::http {
namespace {

class TunnelTest : public ::testing::Test {
  protected:
    void open(const std::string& authorization = "", std::size_t capacity = 65'536) {
        auto pipe = testing::make_pipe(world.loop(), {.capacity = capacity});
        proxy = std::make_unique<testing::TransportPeer>(world.loop(), std::move(pipe.far));
        auto tunnel = make_tunnel(world.loop().blocks(), std::move(pipe.near),
                                  {"a.example:443", authorization, refusal});
        client = std::make_unique<testing::TransportPeer>(world.loop(), std::move(tunnel));
    }

    testing::FakeWorld world;
    std::shared_ptr<std::string> refusal = std::make_shared<std::string>();
    std::unique_ptr<testing::TransportPeer> proxy;
    std::unique_ptr<testing::TransportPeer> client;
};

TEST_F(TunnelTest, BytesWaitForTheProxyAndThenGoBothWays) {
    for (const std::size_t capacity : {65'536U, 7U}) {
        open("Basic abc", capacity);
        client->say("hello");
        world.settle();
        const std::string request =
            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n"
            "Proxy-Authorization: Basic abc\r\n\r\n";
        EXPECT_EQ(proxy->heard(), request);
        proxy->say("HTTP/1.1 200 Connec");
        world.settle();
        EXPECT_EQ(proxy->heard(), request);
        proxy->say("ted\r\n\r\nfirst");
        world.settle();
        EXPECT_EQ(proxy->heard(), request + "hello");
        EXPECT_EQ(client->heard(), "first");
        proxy->say(" more");
        client->say(" again");
        proxy->finish();
        world.settle();
        EXPECT_EQ(client->heard(), "first more");
        EXPECT_EQ(proxy->heard(), request + "hello again");
        EXPECT_TRUE(client->ended());
    }
}

TEST_F(TunnelTest, AProxysRefusalIsReported) {
    const struct {
        const char* answer;
        const char* why;
    } cases[] = {
        {"HTTP/1.1 407 X\r\nContent-Length: 0\r\n\r\n", "the proxy answered 407"},
        {"HTTP/1.1 101 X\r\n\r\n", "the proxy answered 101"},
        {"SSH-2.0-x\r\n", "the proxy's answer is no HTTP"},
        {nullptr, "the proxy closed the connection"},
    };
    for (const auto& c : cases) {
        open();
        client->say("secret");
        world.settle();
        c.answer != nullptr ? proxy->say(c.answer) : proxy->finish();
        world.settle();
        EXPECT_EQ(*refusal, c.why);
        EXPECT_EQ(client->error(), -ECONNREFUSED) << c.why;
        EXPECT_EQ(proxy->heard().find("secret"), std::string::npos);
    }
    open();
    proxy->say("HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x'));
    world.settle();
    EXPECT_EQ(*refusal, "the proxy's answer is no HTTP");
    open();
    world.settle();
    proxy->reset();
    world.settle();
    EXPECT_EQ(*refusal, "the proxy reset the connection");
}

}  // namespace
}  // namespace tiderace::http
