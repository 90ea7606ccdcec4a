// A stream that becomes a connection (RFC 8441). On every engine.
#include <optional>

#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using wire::H2Error;
using wire::H2SettingId;

constexpr std::uint32_t large_window = 1'000'000;

// --- a stream that becomes a connection ------------------------------------------------------

// Says back what it hears, in capitals of its own: "<…>".
struct Brackets final : net::Session {
    net::Connection* connection = nullptr;
    std::optional<net::CloseReason> closed;
    bool finished = false;
    std::size_t on_data(net::Connection& on, ByteView data) override {
        on.write("<" + std::string(data) + ">");
        return data.size();
    }
    void on_peer_finished(net::Connection& on) override {
        finished = true;
        on.finish();
    }
    void on_close(net::Connection&, net::CloseReason reason) override {
        connection = nullptr;
        closed = reason;
    }
};

class H2Tunnel : public testing::H2Test {
  protected:
    H2Tunnel() {
        stage_->on("/tunnel", [this](Exchange& exchange) {
            protocol_ = exchange.request().protocol;
            Response response(101);
            upgraded_ = exchange.upgrade(response, [this](net::Connection& made) -> net::Session& {
                session_.connection = &made;
                return session_;
            });
            if (!upgraded_) exchange.respond_status(400);
        });
    }
    std::uint32_t open(H2Client& client) {
        client.headers(next_,
                       {{":method", "CONNECT"},
                        {":scheme", "http"},
                        {":path", "/tunnel"},
                        {":authority", "a"},
                        {":protocol", "websocket"}},
                       false);
        return std::exchange(next_, next_ + 2);
    }

    Brackets session_;
    std::string protocol_;
    std::uint32_t next_ = 1;
    bool upgraded_ = false;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Tunnel, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(H2Tunnel, CarriesBytesBothWays) {
    H2Client& client = connect();
    const auto stream = open(client);
    client.data(stream, "early", false);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "<early>"; }));
    EXPECT_EQ(client.answer(stream).status, 200);
    EXPECT_EQ(client.answer(stream).field("content-length"), "");
    EXPECT_EQ(protocol_, "websocket");
    client.data(stream, "late", false);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "<early><late>"; }));
    client.data(stream, "", true);
    ASSERT_TRUE(ended(stream));
    EXPECT_TRUE(run_until([&] { return session_.closed.has_value(); }));
    EXPECT_TRUE(session_.finished);
    EXPECT_FALSE(client.answer(stream).reset);
    EXPECT_TRUE(ended(client.get("/hello")) || true);
}

TEST_P(H2Tunnel, EndsWhenItsStreamIsReset) {
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    client.reset(stream);
    ASSERT_TRUE(run_until([&] { return session_.closed.has_value(); }));
    EXPECT_EQ(session_.closed, net::CloseReason::peer_reset);
    EXPECT_EQ(stage_->server().size(), 1U);
}

TEST_P(H2Tunnel, EndsWithItsConnection) {
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    peer_->close();
    ASSERT_TRUE(run_until([&] { return session_.closed.has_value(); }));
}

TEST_P(H2Tunnel, AnAbortResetsTheStream) {
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->loop().post([&] {
        session_.connection->write("lost");
        session_.connection->close(net::CloseReason::aborted);
    });
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
}

TEST_P(H2Tunnel, IsDrainedWithItsConnection) {
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    bool drained = false;
    stage_->server().drain(world_->loop().now() + 1h, [&] { drained = true; });
    ASSERT_TRUE(ended(stream));  // as its session does at the drain
    client.data(stream, "", true);
    EXPECT_TRUE(run_until([&] { return session_.closed.has_value(); }));
    client.ping(client.pings()[0], true);
    EXPECT_TRUE(run_until([&] { return peer_->over(); }));
    peer_->close();
    EXPECT_TRUE(run_until([&] { return drained; }));
}

TEST_P(H2Tunnel, ASessionThatEndsInsideACallGivesItsBytesBack) {
    struct Quitter final : net::Session {
        std::size_t on_data(net::Connection& on, ByteView data) override {
            on.close(net::CloseReason::aborted);
            return data.size();
        }
        void on_close(net::Connection&, net::CloseReason) override {}
    } quitter;
    http::H2Options options = testing::H2Stage::plain();
    options.window_bytes = 100'000;
    start(options);
    stage_->on("/tunnel", [&](Exchange& exchange) {
        Response response(101);
        exchange.upgrade(response, [&](net::Connection&) -> net::Session& { return quitter; });
    });
    H2Client& client = connect();
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i, sent += 20'000) {
        const auto stream = open(client);
        client.data(stream, std::string(20'000, 'x'), false);
        ASSERT_TRUE(reset(stream)) << i;
        ASSERT_TRUE(run_until([&] { return 65'535 + client.given_back(0) >= sent + 40'000; })) << i;
    }
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Tunnel, PushesBackOnTheWriterAndOnThePeer) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    const std::string much(300'000, 'y');
    world_->loop().post([&] {
        EXPECT_EQ(session_.connection->write(much), net::Backlog::high);
        session_.connection->set_reading(false);
    });
    client.data(stream, std::string(65'000, 'z'), false);
    world_->settle();
    EXPECT_EQ(client.given_back(stream), 0U);
    client.window_update(0, large_window);
    client.window_update(stream, large_window);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body.size() == much.size(); }));
    world_->loop().post([&] { session_.connection->set_reading(true); });
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body.size() >= 365'002; }));
}

}  // namespace
}  // namespace tiderace::http
