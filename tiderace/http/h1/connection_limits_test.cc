// The exact limits of a connection, and what its records and its requests tell of it. Time is the
// test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tiderace/http/h1/messages_fixture.h"
#include "tiderace/http/wire/h2/frame.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::http {
namespace {

using testing::H1Stage;
using testing::Peer;

// Takes what there is room for, and gives what the test says. It tells whether it is to receive.
class Direct final : public net::Transport {
  public:
    struct State {
        std::string sent;
        std::size_t room = SIZE_MAX;
        bool receives = true;
        bool finished = false;
        const net::TransportSecurity* security = nullptr;
    };

    explicit Direct(State& state) : state_(&state) {}

    void open(Observer& observer) override { observer_ = &observer; }
    void set_receiving(bool on) override { state_->receives = on; }
    core::Sent send(core::SendQueue& queue) override {
        const std::uint64_t before = queue.bytes();
        for (iovec piece{}; state_->room > 0 && queue.gather({&piece, 1}) == 1;) {
            const std::size_t taken = std::min(piece.iov_len, state_->room);
            state_->sent.append(static_cast<const char*>(piece.iov_base), taken);
            queue.consume(taken);
            state_->room -= taken;
        }
        return {.bytes = before - queue.bytes(), .pending = !queue.empty()};
    }
    void finish() override { state_->finished = true; }
    void close(core::SendQueue&&) override {}
    void set_reset_on_close() override {}
    const net::TransportSecurity* security() const override { return state_->security; }
    void receive(ByteView bytes) { observer_->on_received(bytes); }
    void make_room() {
        state_->room = SIZE_MAX;
        observer_->on_sent(0);
    }

  private:
    State* state_;
    Observer* observer_ = nullptr;
};

class H1ExactLimits : public ::testing::Test {
  protected:
    H1ExactLimits() {
        stage_.add_usual_paths();
        stage_.on("/kept", [this](Exchange& exchange) { kept_ = exchange.defer(); });
    }
    ~H1ExactLimits() override {
        kept_ = {};
        stage_.server().abort_all();
        world_.settle();
    }

    Direct& connect_directly() { return connect_directly(stage_); }
    Direct& connect_directly(H1Stage& stage) {
        auto transport = std::make_unique<Direct>(direct_);
        Direct& made = *transport;
        stage.server().adopt(std::move(transport), core::Address::loopback(1));
        return made;
    }
    // How many bytes a peer hears that asks for this.
    std::size_t bytes_of_answer(H1Stage& stage, const std::string& path) {
        const auto peer = stage.connect();
        peer->say(get(path));
        world_.settle();
        return peer->heard().size();
    }
    // A peer that sent this and does not read the answer.
    std::unique_ptr<Peer> deaf(const std::string& request) {
        auto peer = stage_.connect();
        peer->set_listening(false);
        peer->say(request);
        return peer;
    }

    testing::FakeWorld world_;
    H1Stage stage_{world_};
    Direct::State direct_;
    core::Ref<Exchange> kept_;
};

// Bytes behind a request in progress are kept, up to 16 KiB; above, the peer is held back.
TEST_F(H1ExactLimits, APeerIsHeldBackBehindSixteenKibibytesOfFurtherRequests) {
    for (const std::size_t more : {0U, 1U}) {
        direct_ = {};
        Direct& peer = connect_directly();
        std::string behind = get_hello + "GET /" + std::string(7'000, 'a');
        behind += " HTTP/1.1\r\nX: " + std::string(16_KiB + more - behind.size() - 14, 'x');
        ASSERT_EQ(behind.size(), 16_KiB + more);
        peer.receive(get("/kept") + behind);
        ASSERT_TRUE(kept_);
        EXPECT_EQ(direct_.receives, more == 0);
        std::exchange(kept_, {})->respond_status(204);
        world_.settle();
        EXPECT_TRUE(direct_.receives) << "its turn has come";
    }
}

// An answer that the queue may hold counts as sent when it is queued, a larger one when it is gone.
TEST_F(H1ExactLimits, AnAnswerIsLoggedAtOnceUpToTheQueuesHighMark) {
    const std::size_t high = net::ConnectionLimits{}.queue_bytes_high;
    std::string text(high, 'x');
    stage_.on("/large", [&](Exchange& exchange) {
        core::SendQueue queue;
        queue.append_shared(text, {});
        Response response;
        response.set_body(std::move(queue));
        exchange.respond(response);
    });
    connect_directly().receive(get("/large"));
    const std::size_t head_bytes = direct_.sent.find("\r\n\r\n") + 4;
    ASSERT_EQ(stage_.logged().size(), 1U);
    for (const std::size_t more : {0U, 1U}) {
        text.assign(high - head_bytes + more, 'x');
        const std::size_t before = stage_.logged().size();
        const auto peer = deaf(get("/large"));
        world_.settle();
        EXPECT_EQ(stage_.logged().size() - before, more == 0 ? 1U : 0U);
        peer->set_listening(true);
        ASSERT_TRUE(stage_.run_until([&] { return stage_.logged().size() > before; }));
        EXPECT_EQ(stage_.logged().back().bytes, text.size());
    }
}

// A handler's own bytes are copied as far as that is cheap; above, they get an owner. Either way
// they are the handler's again when respond() has returned.
TEST_F(H1ExactLimits, AViewIsTakenWhateverItsSize) {
    std::size_t bytes = 0;
    stage_.on("/view", [&](Exchange& exchange) {
        std::string text(bytes, 'v');
        Response response;
        response.set_body(ByteView(text));
        exchange.respond(response);
        std::ranges::fill(text, '?');
    });
    const auto peer = stage_.connect();
    for (bytes = Response::copied_bytes_max - 1; bytes <= Response::copied_bytes_max + 1; ++bytes) {
        const std::size_t before = peer->heard().size();
        peer->say(get("/view"));
        const std::string body(bytes, 'v');
        ASSERT_TRUE(stage_.run_until([&] { return peer->heard().size() > before + bytes + 50; }));
        EXPECT_TRUE(peer->heard().ends_with("\r\n\r\n" + body)) << bytes;
    }
}

// Each fits, and together they are more than the queue may copy: the second goes on in portions.
TEST_F(H1ExactLimits, AnAnswerThatFitsOnlyAloneIsSentWholeBehindAnother) {
    net::TcpServerOptions connections;
    connections.connection.queue_bytes_max = 300'000;
    H1Stage stage(world_, H1Stage::plain(), connections);
    const std::string first(200'000, '1');
    const std::string second(150'000, '2');
    const auto answers = [&](const char* path, const std::string& text) {
        stage.on(path, [&text](Exchange& exchange) {
            core::SendQueue queue;
            queue.append(exchange.loop().blocks(), text);
            Response response;
            response.set_body(std::move(queue));
            exchange.respond(response);
        });
    };
    answers("/first", first);
    answers("/second", second);
    const auto peer = stage.connect();
    peer->set_listening(false);
    peer->say(get("/first") + get("/second"));
    world_.settle();
    ASSERT_EQ(stage.served().size(), 2U);
    peer->set_listening(true);
    const std::string both = ok(first) + ok(second);
    ASSERT_TRUE(stage.run_until(
        [&] { return peer->over() || H1Stage::heard(*peer).size() >= both.size(); }));
    EXPECT_TRUE(H1Stage::heard(*peer) == both);
    EXPECT_EQ(stage.closed(net::CloseReason::queue_overflow), 0U);
}

// An answer that fits is queued whole, and its request is done; one byte more, and portions follow.
TEST_F(H1ExactLimits, AnAnswerIsQueuedWholeUpToTheQueuesMaximum) {
    struct Observer final : AbandonObserver {
        void on_abandoned() override {}
    };
    net::TcpServerOptions connections;
    connections.connection.queue_bytes_max = 300'000;
    connections.connection.queue_bytes_high = 100'000;
    connections.connection.queue_bytes_low = 1'000;
    H1Stage stage(world_, H1Stage::plain(), connections);
    Observer observer;
    std::string text(300'000, 'x');
    stage.on("/large", [&](Exchange& exchange) {
        exchange.observe(observer);
        core::SendQueue queue;
        queue.append(exchange.loop().blocks(), text);
        Response response;
        response.set_body(std::move(queue));
        exchange.respond(response);
    });
    const auto first = stage.connect();
    first->say(get("/large"));
    ASSERT_TRUE(stage.run_until([&] { return first->heard().size() > text.size(); }));
    const std::size_t head_bytes = first->heard().find("\r\n\r\n") + 4;
    for (const std::size_t more : {0U, 1U}) {
        text.assign(300'000 - head_bytes + more, 'x');
        const auto peer = stage.connect();
        peer->set_listening(false);
        peer->say(get("/large"));
        world_.settle();
        EXPECT_EQ(observer.linked(), more == 1);
        peer->set_listening(true);
        ASSERT_TRUE(
            stage.run_until([&] { return peer->heard().size() == head_bytes + text.size(); }));
        EXPECT_FALSE(observer.linked());
    }
}

// The rest of the head may be on its way, and must not reset what carries the answer.
TEST_F(H1ExactLimits, AHeadThatStallsIsAnsweredAndItsRestIsStillTaken) {
    const auto peer = stage_.connect();
    peer->say("GET /hello HT");
    world_.advance(10s);
    ASSERT_TRUE(stage_.run_until([&] { return peer->heard().starts_with("HTTP/1.1 408 "); }));
    EXPECT_EQ(stage_.server().size(), 1U);
    peer->say("TP/1.1\r\nHost: a\r\n\r\n");
    world_.advance(100ms);
    EXPECT_FALSE(peer->was_reset());
    EXPECT_TRUE(stage_.served().empty());
    peer->finish();
    EXPECT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
}

// --- a drain ---------------------------------------------------------------------------------

// While its answer waits for the peer, nothing is read of it: the rest of the body may be here.
TEST(H1BodyDeadline, RunsWhileTheBodyIsRead) {
    testing::FakeWorld world;
    H1Stage stage(world, H1Stage::plain(), {.connection = {.write = 10min}});
    std::string received;
    stage.on("/both", [&](Exchange& exchange) {
        testing::receive_whole(exchange, 100, [&](Exchange&, const testing::ReceivedBody& body) {
            received = body.failed ? "failed" : body.bytes;
        });
        Response response;
        response.set_body(testing::pieces(std::vector<std::string>(64, std::string(16_KiB, 'x'))));
        exchange.respond(response);
    });
    const auto peer = stage.connect();
    peer->set_listening(false);
    peer->say("POST /both HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234");
    world.settle();
    peer->say("56789");
    world.advance(2min);
    EXPECT_EQ(received, "");
    peer->set_listening(true);
    ASSERT_TRUE(stage.run_until([&] { return peer->heard().ends_with("0\r\n\r\n"); }));
    EXPECT_EQ(received, "0123456789");
    EXPECT_EQ(stage.service().counters().timed_out, 0U);
    // It runs again from then on.
    peer->say("POST /both HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234");
    world.advance(2min);
    EXPECT_EQ(stage.service().counters().timed_out, 1U);
}

TEST_F(H1ExactLimits, ADrainWaitsLongerForAFirstRequestThanForAnother) {
    const auto fresh = stage_.connect();
    const auto idle = stage_.connect();
    idle->say(get_hello);
    ASSERT_TRUE(stage_.run_until([&] { return H1Stage::heard(*idle) == hello; }));
    ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 2; }));
    stage_.server().drain(world_.loop().now() + 10s, [] {});
    world_.advance(99ms);
    EXPECT_FALSE(idle->over());
    world_.advance(2ms);
    EXPECT_TRUE(idle->over());
    world_.advance(398ms);
    EXPECT_FALSE(fresh->over());
    world_.advance(2ms);
    EXPECT_TRUE(fresh->over());
}

// An answer is on its way, so the connection ends behind it, at once.
TEST_F(H1ExactLimits, ADrainEndsAConnectionThatHasAByteToSend) {
    const std::size_t bytes = bytes_of_answer(stage_, "/hello");
    Direct& peer = connect_directly();
    direct_.room = bytes - 1;
    peer.receive(get_hello);
    world_.settle();
    ASSERT_EQ(direct_.sent.size(), bytes - 1);
    stage_.server().drain(world_.loop().now() + 10s, [] {});
    peer.make_room();
    world_.settle();
    EXPECT_EQ(direct_.sent.size(), bytes);
    EXPECT_TRUE(direct_.finished);
}

// --- a peer that finished ----------------------------------------------------------------------

TEST_F(H1ExactLimits, WhileAByteWaitsForAPeerThatFinishedItsHandlerHasTime) {
    net::TcpServerOptions connections;
    connections.connection.write = 1h;
    H1Stage stage(world_, H1Stage::plain(), connections);
    stage.on("/part", [this](Exchange& exchange) {
        kept_ = core::Ref<Exchange>(&exchange);
        Response response;
        response.set_body(testing::pieces({"part"}, BodySource::State::wait), 1'000);
        exchange.respond(response);
    });
    const std::size_t bytes = bytes_of_answer(stage, "/part");
    Direct& peer = connect_directly(stage);
    direct_.room = bytes - 1;
    peer.receive(get("/part"));
    peer.receive({});
    world_.settle();
    ASSERT_EQ(direct_.sent.size(), bytes - 1);
    world_.advance(5min);
    EXPECT_FALSE(kept_->abandoned());
    peer.make_room();
    world_.advance(61s);
    EXPECT_TRUE(kept_->abandoned());
    kept_ = {};
    stage.server().abort_all();
    world_.settle();
}

TEST(H1ToHttp2, AConnectionThatBecomesHttp2InADrainIsDrained) {
    testing::FakeWorld world;
    testing::H2Stage stage(world);
    const auto peer = stage.connect();
    ASSERT_TRUE(stage.run_until([&] { return stage.server().size() == 1; }));
    bool drained = false;
    stage.server().drain(world.loop().now() + 10s, [&] { drained = true; });
    world.settle();
    testing::H2Client client(*peer);
    const auto stream = client.get("/hello");
    ASSERT_TRUE(stage.run_until([&] { return client.answer(stream).ended && client.goaway(); }));
    EXPECT_EQ(client.answer(stream).status, 200);
    world.advance(1s);
    ASSERT_TRUE(stage.run_until([&] { return peer->over(); }));
    peer->close();
    EXPECT_TRUE(stage.run_until([&] { return drained; }));
    EXPECT_EQ(stage.stage().closed(net::CloseReason::server_stopped), 0U);
}

TEST(H1ToHttp2, ThePrefaceBehindARequestIsNone) {
    testing::FakeWorld world;
    testing::H2Stage stage(world);
    const auto peer = stage.connect();
    peer->say(get_hello + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    ASSERT_TRUE(stage.run_until([&] { return peer->over(); }));
    EXPECT_THAT(H1Stage::heard(*peer), ::testing::StartsWith(hello + "HTTP/1.1 505 "));
}

// The protocol is the one that ALPN chose, whatever the first bytes look like.
TEST(H1ToHttp2, OverTlsTheProtocolThatWasAgreedOnIsSpoken) {
    testing::FakeWorld world;
    testing::H2Stage stage(world);
    for (const char* const protocol : {"h2", "http/1.1", ""}) {
        const net::TransportSecurity security{.protocol = protocol};
        for (const std::string& bytes : {std::string(wire::h2_preface), get_hello}) {
            SCOPED_TRACE(protocol + (": " + bytes.substr(0, 3)));
            Direct::State state{.security = &security};
            auto transport = std::make_unique<Direct>(state);
            Direct& peer = *transport;
            stage.server().adopt(std::move(transport), core::Address::loopback(1));
            peer.receive(bytes);
            world.settle();
            EXPECT_EQ(state.sent.starts_with("HTTP/1.1 "), protocol != std::string("h2"));
            EXPECT_EQ(state.sent.contains("hello\n"),
                      protocol != std::string("h2") && bytes == get_hello);
            stage.server().abort_all();
            world.settle();
        }
    }
}

// --- what is known of a request --------------------------------------------------------------

// A copy of all that a record shows.
class Records final : public AccessLog {
  public:
    struct Seen {
        std::string method;
        std::string path;
        HttpVersion version;
        std::string peer;
        SlotId connection;
        bool secure;
        int status;
        std::uint64_t bytes;
        Duration duration;
        UnixSeconds when;
        const Chain* chain;
    };

    void write(const AccessRecord& record) override {
        const Request& request = *record.request;
        seen.push_back({std::string(request.head->method_text()), std::string(request.path),
                        request.version, request.peer->to_string(), request.connection,
                        request.secure, record.status, record.body_bytes, record.duration,
                        record.when, record.chain});
    }
    std::vector<Seen> seen;
};

TEST_F(H1ExactLimits, ARecordShowsWhoAskedForWhatAndHowLongItTook) {
    Records records;
    stage_.site().set_log(&records);
    const Chain* chain = nullptr;
    stage_.on("/routed", [&](Exchange& exchange) {
        chain = exchange.chain();
        exchange.respond_status(202);
    });
    world_.advance(5s);
    const auto peer = stage_.connect();
    peer->say(get("/kept"));
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept_); }));
    EXPECT_EQ(kept_->request().version, HttpVersion::http_1_1);
    EXPECT_FALSE(kept_->request().secure);
    world_.advance(3s);
    std::exchange(kept_, {})->respond_status(204);
    peer->say(get("/routed"));
    ASSERT_TRUE(stage_.run_until([&] { return records.seen.size() == 2; }));
    const auto other = stage_.connect();
    other->say("GET /hello HTTP/1.0\r\n\r\n");
    ASSERT_TRUE(stage_.run_until([&] { return records.seen.size() == 3; }));
    const auto late = stage_.connect();
    late->say("GET /");
    world_.advance(15s);
    ASSERT_TRUE(stage_.run_until([&] { return records.seen.size() == 4; }));
    const auto& [first, second, old, refused] =
        std::tie(records.seen[0], records.seen[1], records.seen[2], records.seen[3]);
    EXPECT_EQ(first.path, "/kept");
    EXPECT_EQ(first.status, 204);
    EXPECT_EQ(first.duration, 3s);
    EXPECT_EQ(first.when, 1'000'000'000 + 8);
    EXPECT_EQ(first.chain, chain);
    EXPECT_FALSE(first.secure);
    EXPECT_EQ(second.chain, chain);
    EXPECT_EQ(second.duration, 0s);
    EXPECT_EQ(second.connection, first.connection);
    EXPECT_EQ(second.peer, first.peer);
    EXPECT_EQ(old.version, HttpVersion::http_1_0);
    EXPECT_EQ(refused.chain, nullptr) << "it was never matched";
    EXPECT_EQ(old.bytes, 6U);
    EXPECT_NE(old.connection, first.connection);
    EXPECT_EQ(refused.status, 408);
    EXPECT_EQ(refused.method, "-");
    EXPECT_EQ(refused.duration, 0s) << "no request began";
    EXPECT_NE(refused.connection, old.connection);
    EXPECT_NE(refused.connection, first.connection);
}

}  // namespace
}  // namespace tiderace::http
