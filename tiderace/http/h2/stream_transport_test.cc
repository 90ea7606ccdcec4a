// A stream that becomes a connection (RFC 8441). On every engine.
#include <cerrno>
#include <memory>
#include <optional>
#include <stdexcept>

#include "tiderace/http/h2/stream_transport.h"
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using wire::H2Error;
using wire::H2SettingId;

// --- a stream that becomes a connection ------------------------------------------------------

// Says back what it hears, in capitals of its own: "<…>".
struct Brackets final : net::Session {
    net::Connection* connection = nullptr;
    std::optional<net::CloseReason> closed;
    bool finished = false;
    bool finishes = true;  // when the peer does
    std::size_t on_data(net::Connection& on, ByteView data) override {
        on.write("<" + std::string(data) + ">");
        return data.size();
    }
    void on_peer_finished(net::Connection& on) override {
        finished = true;
        if (finishes) on.finish();
    }
    void on_close(net::Connection&, net::CloseReason reason) override {
        connection = nullptr;
        closed = reason;
    }
};

class H2Tunnel : public testing::H2Test {
  protected:
    H2Tunnel() {
        stage_->on("/tunnel", [this](Exchange& exchange) { offer(exchange); });
    }
    ~H2Tunnel() override { kept_ = {}; }

    void offer(Exchange& exchange) {
        protocol_ = exchange.request().protocol;
        Response response(101);
        upgraded_ = exchange.upgrade(response, [this](net::Connection& made) -> net::Session& {
            session_.connection = &made;
            return session_;
        });
        if (!upgraded_ && !exchange.responded()) exchange.respond_status(400);
    }
    std::uint32_t open(H2Client& client) {
        client.connect_websocket(next_, "/tunnel");
        client.skip(next_);
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
    EXPECT_EQ(client.answer(stream).header("content-length"), "");
    EXPECT_EQ(protocol_, "websocket");
    EXPECT_TRUE(upgraded_);
    client.data(stream, "late", false);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "<early><late>"; }));
    client.data(stream, "", true);
    ASSERT_TRUE(ended(stream));
    EXPECT_TRUE(run_until([&] { return session_.closed.has_value(); }));
    EXPECT_TRUE(session_.finished);
    EXPECT_FALSE(client.answer(stream).reset);
}

TEST_P(H2Tunnel, LearnsOfAnEndThatComesWithTheLastBytes) {
    H2Client& client = connect();
    const auto stream = open(client);
    client.data(stream, "all", true);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, "<all>");
    EXPECT_TRUE(session_.finished);
}

// Nothing that it sends brings it another step.
TEST_P(H2Tunnel, LearnsOfAnEndBehindBytesThatItDoesNotAnswer) {
    struct Silent final : net::Session {
        std::size_t on_data(net::Connection&, ByteView data) override { return data.size(); }
        void on_peer_finished(net::Connection& on) override { on.finish(); }
        void on_close(net::Connection&, net::CloseReason) override {}
    } silent;
    stage_->on("/tunnel", [&](Exchange& exchange) {
        Response response(101);
        exchange.upgrade(response, [&](net::Connection&) -> net::Session& { return silent; });
    });
    H2Client& client = connect();
    const auto stream = open(client);
    client.data(stream, "all", true);
    EXPECT_TRUE(ended(stream));
    world_->settle();
}

// Its own side goes on meanwhile.
TEST_P(H2Tunnel, EndsWhenItsStreamIsResetBehindThePeersEnd) {
    session_.finishes = false;
    H2Client& client = connect();
    const auto stream = open(client);
    client.data(stream, "", true);
    ASSERT_TRUE(run_until([&] { return session_.finished; }));
    world_->settle();
    EXPECT_FALSE(session_.closed);
    client.reset(stream);
    ASSERT_TRUE(run_until([&] { return session_.closed.has_value(); }));
    EXPECT_EQ(session_.closed, net::CloseReason::peer_reset);
}

TEST_P(H2Tunnel, IsNotMadeWhereAFilterRefuses) {
    struct Refusing final : ResponseFilter {
        void filter(Exchange&, Response& response) override {
            response.set_status(403);
            response.set_body("no tunnel here");
        }
    };
    static Refusing refusing;  // outlives the site
    stage_->stage().site().add(refusing);
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 403; }));
    EXPECT_EQ(session_.connection, nullptr);
    client.window_update(stream, 1'000);
    ASSERT_TRUE(ended(stream));
}

TEST_P(H2Tunnel, TakesLittleAheadOfTheWindow) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    for (int i = 0; i < 2; ++i) {
        world_->loop().post([&] { session_.connection->write(std::string(40'000, 'y')); });
        world_->settle();
    }
    EXPECT_EQ(session_.connection->queue_bytes(), 80'000 - H2StreamTransport::out_bytes_max);
    client.window_update(stream, large_window);
    client.window_update(0, large_window);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body.size() == 80'000; }));
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

// --- where there is nothing to upgrade ---------------------------------------------------------

TEST_P(H2Tunnel, IsNotMadeOfAnOrdinaryRequest) {
    H2Client& client = connect();
    const auto stream = client.get("/tunnel");
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 400);
    EXPECT_EQ(session_.connection, nullptr);
}

TEST_P(H2Tunnel, IsNotMadeWhileItsBodyHasAReceiver) {
    stage_->on("/tunnel", [this](Exchange& exchange) {
        testing::receive_whole(exchange, 100, [](Exchange&, const testing::ReceivedBody&) {});
        offer(exchange);
    });
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 400);
}

TEST_P(H2Tunnel, IsNotMadeBehindAnAnswer) {
    stage_->on("/tunnel", [this](Exchange& exchange) {
        exchange.respond_status(204);
        offer(exchange);
    });
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).heads, std::vector<int>{204});
    EXPECT_FALSE(upgraded_);
}

TEST_P(H2Tunnel, IsNotMadeOfAStreamThatIsGone) {
    stage_->on("/tunnel", [this](Exchange& exchange) { kept_ = exchange.defer(); });
    H2Client& client = connect();
    client.reset(open(client));
    ASSERT_TRUE(run_until([&] { return kept_ && kept_->abandoned(); }));
    offer(*kept_);
    EXPECT_FALSE(upgraded_);
    EXPECT_EQ(session_.connection, nullptr);
}

TEST_P(H2Tunnel, AStreamOfWhichNoneIsMadeIsReset) {
    stage_->on("/tunnel", [](Exchange& exchange) { exchange.respond_status(403); });
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).status, 403);
    EXPECT_EQ(client.answer(stream).reset, H2Error::no_error);
}

TEST_P(H2Tunnel, OneWhoseSessionCannotBeMadeIsReset) {
    stage_->on("/tunnel", [](Exchange& exchange) {
        Response response(101);
        exchange.upgrade(response, [](net::Connection&) -> net::Session& {
            throw std::runtime_error("no session");
        });
    });
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(reset(stream));
    EXPECT_FALSE(client.answer(stream).ended);
    EXPECT_TRUE(ended(client.get("/hello")));
}

// --- its beginning and its end -------------------------------------------------------------------

TEST_P(H2Tunnel, MayBeMadeLaterOfAStreamThatHasBytesAlready) {
    stage_->on("/tunnel", [this](Exchange& exchange) { kept_ = exchange.defer(); });
    H2Client& client = connect();
    const auto stream = open(client);
    client.data(stream, "early", false);
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    offer(*kept_);
    kept_ = {};
    EXPECT_TRUE(upgraded_);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "<early>"; }));
    EXPECT_EQ(client.answer(stream).status, 200);
}

// Its head leaves at once, as nothing else may follow for long.
TEST_P(H2Tunnel, OneThatIsMadeLaterIsAnsweredAtOnce) {
    stage_->on("/tunnel", [this](Exchange& exchange) { kept_ = exchange.defer(); });
    H2Client& client = connect();
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    offer(*kept_);
    kept_ = {};
    EXPECT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
}

// END_STREAM works without a window.
TEST_P(H2Tunnel, EndsThoughItsWindowIsShut) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->loop().post([&] { session_.connection->finish(); });
    EXPECT_TRUE(ended(stream));
}

TEST_P(H2Tunnel, WhatWaitsForItsWindowIsSentWhenItIsClosed) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = open(client);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->loop().post([&] {
        session_.connection->write("last");
        session_.connection->finish();
    });
    world_->settle();
    client.data(stream, "", true);
    ASSERT_TRUE(run_until([&] { return session_.closed.has_value(); }));
    EXPECT_EQ(client.answer(stream).body, "");
    client.window_update(stream, 100);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, "last");
}

// --- the transport alone -------------------------------------------------------------------------

// On a stream that no tunnel was made of, so the test takes its steps.
class H2StreamTransportAlone : public testing::H2Test, private net::Transport::Observer {
  protected:
    ~H2StreamTransportAlone() override {
        if (transport_ != nullptr) {
            transport_->set_reset_on_close();
            transport_->close({});
        }
        kept_ = {};
    }
    void make(H2Client& client, std::uint32_t stream) {
        ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
        stream_ = stream;
        client_of_test_ = &client;
        transport_ = std::make_unique<H2StreamTransport>(
            core::Ref<H2Exchange>(static_cast<H2Exchange*>(kept_.get())));
        transport_->open(*this);
    }
    // Its answer has begun, and what follows are the transport's bytes.
    void begin_answer() {
        struct Never final : BodySource {
            State pull(core::BlockPool&, core::SendQueue&, std::size_t) override {
                return State::wait;
            }
        };
        Response response;
        response.set_body(std::make_unique<Never>());
        kept_->respond(response);
        world_->settle();
    }
    core::Sent send(std::size_t bytes) {
        queue_.append(world_->loop().blocks(), std::string(bytes, 'x'));
        return transport_->send(queue_);
    }
    std::vector<std::string> step() {
        calls_.clear();
        transport_->step();
        return calls_;
    }
    // So much more of it leaves.
    void leave(std::uint32_t bytes) {
        client_of_test_->window_update(stream_, bytes);
        world_->settle();
    }

    using Calls = std::vector<std::string>;
    std::unique_ptr<H2StreamTransport> transport_;
    core::SendQueue queue_;

  private:
    void on_received(ByteView bytes) override { calls_.push_back("'" + std::string(bytes) + "'"); }
    void on_receive_failed(int error) override {
        calls_.push_back("failed " + std::to_string(error));
    }
    void on_sent(std::int64_t result) override {
        calls_.push_back("sent " + std::to_string(result));
    }

    Calls calls_;
    std::uint32_t stream_ = 0;
    H2Client* client_of_test_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2StreamTransportAlone, ::testing::Values("fake"),
                         [](const auto& world) { return world.param; });

TEST_P(H2StreamTransportAlone, ReportsRoomOnceWhenLessThanHalfIsTaken) {
    constexpr std::uint32_t most = H2StreamTransport::out_bytes_max;
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    make(client, client.get("/kept"));
    begin_answer();
    core::Sent sent = send(1'000);
    EXPECT_EQ(sent.bytes, 1'000U);
    EXPECT_FALSE(sent.pending);
    EXPECT_EQ(step(), Calls{}) << "nothing waits for room";
    sent = send(most);
    EXPECT_EQ(sent.bytes, most - 1'000U);
    EXPECT_TRUE(sent.pending);
    EXPECT_EQ(queue_.bytes(), 1'000U);
    EXPECT_EQ(step(), Calls{});
    leave(most / 2);
    EXPECT_EQ(step(), Calls{}) << "half of it";
    leave(1);
    EXPECT_EQ(step(), Calls{"sent 0"});
    EXPECT_EQ(step(), Calls{});
    queue_.clear();
}

TEST_P(H2StreamTransportAlone, ReportsBytesThenTheEndOnceAndOnlyWhileItReceives) {
    H2Client& client = connect();
    make(client, client.request("POST", "/kept", {}, false));
    client.data(1, "one", false);
    world_->settle();
    EXPECT_EQ(step(), Calls{}) << "not wanted yet";
    transport_->set_receiving(true);
    EXPECT_EQ(step(), Calls{"'one'"});
    EXPECT_EQ(step(), Calls{});
    client.data(1, "1", false);
    world_->settle();
    EXPECT_EQ(step(), Calls{"'1'"});
    client.data(1, "two", true);
    world_->settle();
    EXPECT_EQ(step(), Calls{"'two'"});
    EXPECT_EQ(step(), Calls{"''"});
    EXPECT_EQ(step(), Calls{});
    transport_->set_receiving(true);
    EXPECT_EQ(step(), Calls{}) << "the end is reported once";
}

// A report may end the transport, so each has a step of its own.
TEST_P(H2StreamTransportAlone, ReportsTheEndBeforeRoom) {
    constexpr std::uint32_t most = H2StreamTransport::out_bytes_max;
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    make(client, client.request("POST", "/kept", {}, false));
    begin_answer();
    transport_->set_receiving(true);
    EXPECT_TRUE(send(most + 1).pending);
    client.data(1, "", true);
    leave(most / 2 + 1);
    EXPECT_EQ(step(), Calls{"''"});
    EXPECT_EQ(step(), Calls{"sent 0"});
    queue_.clear();
}

TEST_P(H2StreamTransportAlone, ReportsOnceThatItsStreamIsGone) {
    H2Client& client = connect();
    make(client, client.request("POST", "/kept", {}, false));
    transport_->set_receiving(true);
    client.reset(1);
    world_->settle();
    EXPECT_EQ(step(), Calls{"failed " + std::to_string(-ECONNRESET)});
    EXPECT_EQ(step(), Calls{});
    EXPECT_EQ(send(10).error, -ECONNRESET);
    queue_.clear();
}

}  // namespace
}  // namespace tiderace::http
