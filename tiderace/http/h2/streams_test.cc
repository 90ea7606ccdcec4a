#include "tiderace/http/h2/streams.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tiderace/http/h2/connection.h"
#include "tiderace/testing/h2_stage.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::http {
namespace {

using wire::H2Error;
using wire::H2StreamState;

// A connection whose streams wait for an answer, seen from both of its sides.
class H2StreamsTest : public ::testing::Test, private net::SessionFactory {
  protected:
    H2StreamsTest() {
        stage_.on("/kept", [this](Exchange& exchange) { kept_.push_back(exchange.defer()); });
        testing::Pipe pipe = testing::make_pipe(world_->loop());
        server_.adopt(std::move(pipe.near), core::Address::loopback(1));
        peer_ = std::make_unique<testing::TransportPeer>(world_->loop(), std::move(pipe.far));
        client_ = std::make_unique<testing::H2Client>(*peer_);
    }
    ~H2StreamsTest() override {
        kept_.clear();
        server_.abort_all();
        world_->settle();
    }

    std::uint32_t ask() {
        const std::size_t before = kept_.size();
        const std::uint32_t stream = client_->get("/kept");
        EXPECT_TRUE(world_->run_until([&] { return kept_.size() > before; }));
        return stream;
    }
    // On stream 1; it writes `text`, and nothing more comes.
    void open_tunnel(std::string text) {
        stage_.on("/tunnel", [this, text = std::move(text)](Exchange& exchange) {
            Response response(101);
            exchange.upgrade(response, [&](net::Connection& made) -> net::Session& {
                made.write(text);
                return silent_;
            });
        });
        client_->connect_websocket(1, "/tunnel");
    }
    H2Streams& streams() { return connection_->streams(); }
    bool was_reset(std::uint32_t stream, H2Error error) {
        return world_->run_until([&] { return client_->answer(stream).reset == error; });
    }

    struct Silent final : net::Session {
        std::size_t on_data(net::Connection&, ByteView data) override { return data.size(); }
        void on_close(net::Connection&, net::CloseReason) override {}
    };

    Silent silent_;
    std::unique_ptr<testing::World> world_ = testing::make_world("fake");
    testing::H2Stage stage_{*world_, [] {
                                H2Options options = testing::H2Stage::plain();
                                options.streams_max = 2;
                                return options;
                            }()};
    net::TcpServer server_{world_->loop(), *this, {}};
    H2Connection* connection_ = nullptr;
    std::unique_ptr<testing::TransportPeer> peer_;
    std::unique_ptr<testing::H2Client> client_;
    std::vector<core::Ref<Exchange>> kept_;

  private:
    net::Session& make_session(net::Connection& connection) override {
        connection_ = new H2Connection(stage_.service(), connection);  // ends itself on_close
        return *connection_;
    }
};

TEST_F(H2StreamsTest, AreTooManyAtTheirLimit) {
    const std::uint32_t first = ask();
    EXPECT_EQ(streams().size(), 1U);
    EXPECT_FALSE(streams().are_too_many());
    ask();
    EXPECT_TRUE(streams().are_too_many());
    const std::uint32_t third = client_->get("/kept");
    EXPECT_TRUE(was_reset(third, H2Error::refused_stream));
    client_->reset(first);
    EXPECT_TRUE(world_->run_until([&] { return streams().size() == 1; }));
    EXPECT_FALSE(streams().are_too_many());
}

TEST_F(H2StreamsTest, AreRememberedWhenTheyAreClosed) {
    const std::uint32_t stream = ask();
    streams().reset(*streams().find(stream), H2Error::internal_error);
    EXPECT_EQ(streams().find(stream), nullptr);
    EXPECT_EQ(streams().closed().highest(), stream);
    EXPECT_EQ(streams().closed().state_of(stream), H2StreamState::reset_by_us);
    EXPECT_TRUE(was_reset(stream, H2Error::internal_error));
    EXPECT_TRUE(kept_.at(0)->abandoned());
    EXPECT_EQ(stage_.counters().resets_sent, 1U);
}

// Also when its other side had just ended: frames that were on their way are no fault.
TEST_F(H2StreamsTest, OneThatIsResetInItsLastStepIsRememberedAsReset) {
    const auto stream = client_->request("POST", "/hello", {}, false);
    ASSERT_TRUE(world_->run_until([&] { return client_->answer(stream).ended; }));
    client_->headers(stream, {{":path", "/no-trailer"}}, true);
    EXPECT_TRUE(was_reset(stream, H2Error::protocol_error));
    EXPECT_EQ(streams().closed().state_of(stream), H2StreamState::reset_by_us);
}

TEST_F(H2StreamsTest, EndOnlyAfterTheCurrentStep) {
    const std::uint32_t stream = ask();
    {
        const H2Streams::Step step(streams(), *streams().find(stream));
        kept_.at(0)->respond_status(204);
        EXPECT_NE(streams().find(stream), nullptr);
    }
    EXPECT_EQ(streams().find(stream), nullptr);
    EXPECT_EQ(streams().closed().state_of(stream), H2StreamState::ended);
}

TEST_F(H2StreamsTest, AllEndWithTheirConnection) {
    ask();
    ask();
    streams().close_all();
    EXPECT_TRUE(streams().empty());
    EXPECT_TRUE(kept_.at(0)->abandoned());
    EXPECT_TRUE(kept_.at(1)->abandoned());
    EXPECT_EQ(streams().held_bytes().all(), 0U);
}

// SendEviction compares how long the peer has not taken what waits for it.
TEST_F(H2StreamsTest, SayHowLongTheirAnswersWait) {
    ask();
    EXPECT_EQ(streams().held_bytes().waits, Duration::zero());
    Response response;
    response.set_body(std::string(200'000, 'x'));  // more than the window
    kept_.at(0)->respond(response);
    world_->settle();
    EXPECT_GT(streams().held_bytes().all(), 0U);
    const Duration before = streams().held_bytes().waits;
    world_->advance(5s);
    EXPECT_EQ((streams().held_bytes().waits - before) / 1s, 5);
    EXPECT_LT(before, 1s);
}

// It has its deadline still, from the last bytes that it sent.
TEST_F(H2StreamsTest, ATunnelThatHasSentAllWaitsForNothing) {
    open_tunnel("all");
    ASSERT_TRUE(world_->run_until([&] { return client_->answer(1).body == "all"; }));
    world_->advance(5s);
    EXPECT_EQ(streams().held_bytes().waits, Duration::zero());
    EXPECT_EQ(streams().size(), 1U);
    client_->reset(1);
    world_->settle();
}

TEST_F(H2StreamsTest, HoldWhatWaitsInTheirTunnelsToo) {
    open_tunnel(std::string(300'000, 'x'));
    ASSERT_TRUE(world_->run_until([&] { return client_->answer(1).body.size() == 65'535; }));
    EXPECT_GE(streams().held_bytes().all(), 300'000U - 65'535);
    client_->reset(1);
    world_->settle();
}

TEST_F(H2StreamsTest, OneWhoseHandlerThrowsAfterItsAnswerIsReset) {
    stage_.on("/late", [](Exchange& exchange) {
        Response response;
        response.set_body(std::string(200'000, 'x'));
        exchange.respond(response);
        throw std::runtime_error("too late");
    });
    const std::uint32_t stream = client_->get("/late");
    EXPECT_TRUE(was_reset(stream, H2Error::internal_error));
    EXPECT_TRUE(streams().empty());
    ask();  // the connection goes on
}

// A single byte shows it.
TEST_F(H2StreamsTest, APeerThatDidNotWaitIsSentNo100) {
    const auto stream = client_->request(
        "POST", "/kept", {{"expect", "100-continue"}, {"content-length", "3"}}, false);
    client_->data(stream, "a", false);
    world_->settle();
    ASSERT_EQ(kept_.size(), 1U);
    testing::receive_whole(*kept_.at(0), 100,
                           [](Exchange& here, const testing::ReceivedBody& body) {
                               EXPECT_EQ(body.bytes, "abc");
                               here.respond_status(204);
                           });
    client_->data(stream, "bc", true);
    ASSERT_TRUE(world_->run_until([&] { return client_->answer(stream).ended; }));
    EXPECT_EQ(client_->answer(stream).heads, std::vector<int>{204});
}

// The head of a request that waits is kept, and counted.
TEST(H2StreamsLimits, AreTooManyWithSoManyBytesOfHeads) {
    const std::unique_ptr<testing::World> world = testing::make_world("fake");
    std::size_t bytes = 0;
    const auto is_refused = [&](std::size_t heads_bytes_max) {
        H2Options options = testing::H2Stage::plain();
        options.heads_bytes_max = heads_bytes_max;
        testing::H2Stage stage(*world, options);
        core::Ref<Exchange> kept;
        stage.on("/kept", [&](Exchange& exchange) { kept = exchange.defer(); });
        const auto peer = stage.connect();
        testing::H2Client client(*peer);
        client.get("/kept");
        world->settle();
        bytes = static_cast<const H2Exchange&>(*kept).pinned_bytes();
        const auto next = client.get("/hello");
        world->settle();
        return client.answer(next).reset == H2Error::refused_stream;
    };
    EXPECT_FALSE(is_refused(1'000'000));
    ASSERT_GT(bytes, 0U);
    EXPECT_TRUE(is_refused(bytes));
    EXPECT_FALSE(is_refused(bytes + 1));
}

}  // namespace
}  // namespace tiderace::http
