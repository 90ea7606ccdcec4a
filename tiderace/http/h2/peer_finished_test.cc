// A peer that has ended its side and still reads gets its answers, for some time. Under virtual
// time.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::FakePeer;
using testing::FakeWorld;
using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;
using wire::H2FrameType;
using wire::H2SettingId;

constexpr std::uint32_t open_window = 100'000'000;

class PeerFinished : public testing::H2Test {
  protected:
    Duration elapsed() const { return dynamic_cast<const FakeWorld&>(*world_).elapsed(); }
    void read_at(std::size_t bytes_per_second) {
        dynamic_cast<FakePeer&>(*peer_).set_hearing_pace({bytes_per_second / 10, 100ms});
    }
    bool is_over() {
        return run_until([&] { return peer_->over() && stage_->server().size() == 0; });
    }
};

INSTANTIATE_TEST_SUITE_P(Worlds, PeerFinished, ::testing::Values("fake"),
                         [](const auto& world) { return world.param; });

TEST_P(PeerFinished, GetsA503ForAnAnswerThatDoesNotBegin) {
    H2Client& client = connect();
    const auto stream = client.get("/kept");
    world_->advance(10s);
    peer_->finish();
    world_->advance(29'900ms);
    EXPECT_EQ(client.answer(stream).status, 0);
    world_->advance(200ms);
    EXPECT_EQ(client.answer(stream).status, 503);
    EXPECT_EQ(client.answer(stream).body, "The answer took too long.\n");
    EXPECT_TRUE(client.answer(stream).ended);
    EXPECT_FALSE(client.answer(stream).reset);
    EXPECT_EQ(stage_->counters().timed_out, 1U);
    EXPECT_TRUE(is_over());
}

TEST_P(PeerFinished, GetsNoPartOfA503ThatHasNoWindow) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 5}});
    const auto stream = client.get("/kept");
    world_->settle();
    peer_->finish();
    world_->advance(31s);
    EXPECT_EQ(client.answer(stream).status, 503);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    EXPECT_TRUE(is_over());
    EXPECT_LT(elapsed(), 35s);
}

// The second has made no progress for a minute, for the first was before it in the socket.
TEST_P(PeerFinished, GetsWhatWaitsForItsSocketHoweverLong) {
    H2Client& client = connect({{H2SettingId::initial_window_size, open_window}});
    client.window_update(0, open_window);
    world_->settle();
    read_at(4'000);
    client.hold();
    const auto first = client.get("/large");
    const auto second = client.get("/large");
    client.say_all();
    world_->settle();
    peer_->finish();
    ASSERT_TRUE(run_until([&] { return peer_->over() || client.resets() > 0; }));
    EXPECT_EQ(client.resets(), 0U);
    EXPECT_EQ(client.answer(first).body, large_);
    EXPECT_EQ(client.answer(second).body, large_);
    EXPECT_GT(elapsed(), 120s) << "it was not slow";
}

TEST_P(PeerFinished, GetsAnAnswerOnlyWhileItGrows) {
    struct Growing final : BodySource {
        explicit Growing(std::string& ready) : ready_(&ready) {}
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
            out.append(blocks, std::exchange(*ready_, {}));
            return State::wait;
        }
        std::string* ready_;
    };
    H2Options options = H2Stage::plain();
    options.write_timeout = Duration::max();  // which also checks its progress
    start(options);
    std::string ready = "x";
    stage_->on("/growing", [&](Exchange& exchange) {
        Response response;
        response.set_body(std::make_unique<Growing>(ready));
        kept_ = core::Ref<Exchange>(&exchange);
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto stream = client.get("/growing");
    world_->settle();
    peer_->finish();
    world_->advance(20s);
    ready = "y";
    kept_->body_ready();
    world_->advance(20s);  // checked after 30 s: it grew
    EXPECT_EQ(client.answer(stream).body, "xy");
    EXPECT_EQ(client.resets(), 0U);
    world_->advance(19'900ms);
    EXPECT_EQ(client.resets(), 0U);
    world_->advance(200ms);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    kept_ = {};
}

TEST_P(PeerFinished, KeepsATunnelThatHasNothingToSend) {
    struct Late final : net::Session {
        std::size_t on_data(net::Connection&, ByteView data) override { return data.size(); }
        void on_peer_finished(net::Connection& on) override { connection = &on; }
        void on_close(net::Connection&, net::CloseReason) override {}
        net::Connection* connection = nullptr;
    } session;
    stage_->on("/tunnel", [&](Exchange& exchange) {
        Response response(101);
        exchange.upgrade(response, [&](net::Connection&) -> net::Session& { return session; });
    });
    H2Client& client = connect();
    client.connect_websocket(1, "/tunnel");
    client.data(1, "", true);
    world_->settle();
    peer_->finish();
    world_->advance(5min);
    EXPECT_EQ(client.resets(), 0U);
    ASSERT_NE(session.connection, nullptr);
    session.connection->write("at last");
    session.connection->finish();
    ASSERT_TRUE(ended(1));
    EXPECT_EQ(client.answer(1).body, "at last");
    EXPECT_TRUE(is_over());
}

// Behind more answers than the queue takes, and so unread when the end comes.
TEST_P(PeerFinished, GetsWhatAWindowUpdateThatWaitsToBeReadAllows) {
    stage_->on("/page", [text = std::string(15'000, 'b')](Exchange& exchange) {
        Response response;
        response.set_body(ByteView(text));
        exchange.respond(response);
    });
    H2Client& client = connect({{H2SettingId::initial_window_size, 100'000}});
    client.window_update(0, open_window);
    const auto large = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(large).body.size() == 100'000; }));
    read_at(100'000);
    client.hold();
    for (int i = 0; i < 25; ++i) client.get("/page");
    client.window_update(large, open_window);
    client.say_all();
    peer_->finish();
    ASSERT_TRUE(run_until([&] { return peer_->over(); }));
    EXPECT_FALSE(client.answer(large).reset);
    EXPECT_EQ(client.answer(large).body, large_);
}

// No WINDOW_UPDATE can come, and there is no other stream to go on for.
TEST_P(PeerFinished, IsGoneWithTheLastStreamWhoseWindowIsUsedUp) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 250'000}});
    client.window_update(0, open_window);
    world_->settle();
    read_at(20'000);
    const auto stream = client.get("/large");
    world_->settle();
    peer_->finish();
    ASSERT_TRUE(run_until([&] { return peer_->over(); }));
    EXPECT_EQ(client.answer(stream).body.size(), 250'000U);
    EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    EXPECT_LT(elapsed(), 20s) << "not by a time-out";
}

TEST_P(PeerFinished, IsNotWaitedForWithHalfAFrame) {
    H2Client& client = connect();
    const auto stream = client.get("/kept");
    world_->settle();
    peer_->say(ByteView("\0\0\4\10", 4));
    world_->advance(5s);
    peer_->finish();
    world_->advance(20s);
    EXPECT_FALSE(client.goaway());
    std::exchange(kept_, {})->respond_status(204);
    EXPECT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 204);
    EXPECT_EQ(stage_->counters().timed_out, 0U);
}

TEST_P(PeerFinished, GetsNoAnswerToHalfARequest) {
    H2Client& client = connect();
    const auto whole = client.get("/kept");
    const auto half = client.request("POST", "/upload", {}, false);
    client.data(half, "some", false);
    world_->settle();
    peer_->finish();
    world_->settle();
    EXPECT_EQ(client.answer(half).reset, H2Error::cancel);
    EXPECT_FALSE(client.answer(whole).reset);
    std::exchange(kept_, {})->respond_status(204);
    EXPECT_TRUE(ended(whole));
    EXPECT_TRUE(is_over());
}

}  // namespace
}  // namespace tiderace::http
