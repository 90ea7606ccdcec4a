#include "tiderace/http/request_origin.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/http/exchange.h"
#include "tiderace/net/transport.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::http {
namespace {

TEST(RequestOrigin, KeepsWhatTheConnectionKnew) {
    RequestOrigin origin;
    Request request;
    {
        const auto peer = std::make_unique<core::Address>(core::Address::loopback(1234));
        const auto text = std::make_unique<std::string>("a protocol that is longer than a word");
        const auto security = std::make_unique<net::TransportSecurity>(
            net::TransportSecurity{.protocol = *text,
                                   .version = std::string_view(*text).substr(2),
                                   .cipher = std::string_view(*text).substr(4),
                                   .server_name = "a.example",
                                   .client = "CN=a client with a long name",
                                   .resumed = true});
        request.peer = peer.get();
        request.security = security.get();
        origin.keep(request);
        origin.keep(request);
    }
    EXPECT_EQ(request.peer->to_string(), "127.0.0.1:1234");
    EXPECT_EQ(request.security->protocol, "a protocol that is longer than a word");
    EXPECT_EQ(request.security->version, "protocol that is longer than a word");
    EXPECT_EQ(request.security->cipher, "otocol that is longer than a word");
    EXPECT_EQ(request.security->server_name, "a.example");
    EXPECT_EQ(request.security->client, "CN=a client with a long name");
    EXPECT_TRUE(request.security->resumed);
}

TEST(RequestOrigin, KeepsAnotherAfterTheFirst) {
    RequestOrigin origin;
    for (const std::uint16_t port : {1, 2}) {
        const core::Address peer = core::Address::loopback(port);
        const net::TransportSecurity security{.server_name = std::to_string(port)};
        Request request;
        request.peer = &peer;
        request.security = &security;
        origin.keep(request);
        EXPECT_EQ(*request.peer, peer);
        EXPECT_EQ(request.security->server_name, security.server_name);
        origin.clear();
    }
}

TEST(RequestOrigin, KeepsOneSecurityAfterTheOtherThoughItKeepsNoPeer) {
    RequestOrigin origin;
    for (const char* const name : {"a", "b"}) {
        const net::TransportSecurity security{.server_name = name};
        Request request;
        request.security = &security;
        origin.keep(request);
        EXPECT_NE(request.security, &security);
        EXPECT_EQ(request.security->server_name, name);
        origin.clear();
    }
}

TEST(RequestOrigin, KeepsTheClientThatAProxyReported) {
    RequestOrigin origin;
    const core::Address peer = core::Address::loopback(1);
    Request request;
    request.peer = &peer;
    origin.show(request, core::Address::loopback(2));
    origin.keep(request);
    EXPECT_EQ(request.peer->port(), 2);
}

TEST(RequestOrigin, KeepsNothingOfARequestInClear) {
    RequestOrigin origin;
    Request request;
    origin.keep(request);
    EXPECT_EQ(request.peer, nullptr);
    EXPECT_EQ(request.security, nullptr);
}

// --- of an exchange --------------------------------------------------------------------------

// Encrypts nothing, but has the texts of a secure transport, which go with it.
class SecureTransport final : public net::Transport {
  public:
    SecureTransport(std::unique_ptr<net::Transport> below, const std::string& protocol)
        : below_(std::move(below)), protocol_(protocol) {
        security_.protocol = protocol_;
        security_.version = version_;
        security_.server_name = "a-name-too-long-to-be-in-the-object.example";
    }
    void open(Observer& observer) override { below_->open(observer); }
    void set_receiving(bool on) override { below_->set_receiving(on); }
    core::Sent send(core::SendQueue& queue) override { return below_->send(queue); }
    void finish() override { below_->finish(); }
    void say_end() override {}
    void close(core::SendQueue&& unsent) override { below_->close(std::move(unsent)); }
    void set_reset_on_close() override { below_->set_reset_on_close(); }
    const net::TransportSecurity* security() const override { return &security_; }

  private:
    std::unique_ptr<net::Transport> below_;
    std::string protocol_;
    std::string version_ = "a version that is too long to be in the object";
    net::TransportSecurity security_;
};

class SecureLayer final : public net::TransportLayer {
  public:
    explicit SecureLayer(std::string protocol) : protocol_(std::move(protocol)) {}
    std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below) override {
        return std::make_unique<SecureTransport>(std::move(below), protocol_);
    }

  private:
    std::string protocol_;
};

class OriginOfAnExchange : public ::testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        stage_.server().listen(world_.listen(), &layer_);
        stage_.on("/held", [&](Exchange& exchange) { held_ = exchange.defer(); });
        peer_ = world_.connect();
        if (GetParam()) {
            client_.emplace(*peer_);
            client_->get("/held");
        } else {
            peer_->say("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(held_); }));
    }
    // The connection is freed, and another takes its place.
    void lose_the_connection() {
        peer_->reset();
        ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
        peer_ = world_.connect();
        ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 1; }));
    }

    testing::FakeWorld world_;
    SecureLayer layer_{GetParam() ? "h2" : "http/1.1"};
    testing::H2Stage stage_{world_};
    std::unique_ptr<testing::Peer> peer_;
    std::optional<testing::H2Client> client_;
    core::Ref<Exchange> held_;
};

INSTANTIATE_TEST_SUITE_P(Http, OriginOfAnExchange, ::testing::Values(false, true),
                         [](const auto& http2) { return http2.param ? "h2" : "h1"; });

TEST_P(OriginOfAnExchange, PeerAndSecurityOutliveTheConnectionThatAbandonedIt) {
    const core::Address* const of_connection = held_->request().peer;
    const net::TransportSecurity* const of_transport = held_->request().security;
    ASSERT_NE(of_transport, nullptr);
    const std::string peer = of_connection->to_string();
    lose_the_connection();
    ASSERT_TRUE(held_->abandoned());
    const Request& request = held_->request();
    EXPECT_NE(request.peer, of_connection) << "which is freed";
    EXPECT_EQ(request.peer->to_string(), peer);
    ASSERT_NE(request.security, nullptr);
    EXPECT_NE(request.security, of_transport) << "which is freed";
    EXPECT_EQ(request.security->protocol, GetParam() ? "h2" : "http/1.1");
    EXPECT_EQ(request.security->version, "a version that is too long to be in the object");
    EXPECT_EQ(request.security->server_name, "a-name-too-long-to-be-in-the-object.example");
    EXPECT_TRUE(request.secure);
}

}  // namespace
}  // namespace tiderace::http
