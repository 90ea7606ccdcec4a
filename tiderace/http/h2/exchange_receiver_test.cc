// The calls to the receiver of a request's body, and which windows open meanwhile: late, paused,
// refused, or behind the beginning of the answer. On every engine.
#include <stdexcept>

#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;

class H2Receivers : public testing::H2Test {
  protected:
    ~H2Receivers() override {  // before what the streams still report to
        kept_ = {};
        stage_->server().abort_all();
        world_->settle();
    }
    auto keep_body() {
        return [this](Exchange&, const testing::ReceivedBody& body) { received_ = body; };
    }

    testing::PausingReceiver pausing_;
    testing::ReceivedBody received_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Receivers, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

// An answer that has begun, and whose body never comes.
void begin_answer(Exchange& exchange) {
    struct Never final : BodySource {
        State pull(core::BlockPool&, core::SendQueue&, std::size_t) override { return State::wait; }
    };
    Response response;
    response.set_body(std::make_unique<Never>());
    exchange.respond(response);
}

// --- what it gets ----------------------------------------------------------------------------

TEST_P(H2Receivers, OneThatIsPausedAtTheEndLearnsOfItWhenItReadsOn) {
    stage_->on("/slow", [&](Exchange& exchange) {
        kept_ = core::Ref<Exchange>(&exchange);
        testing::receive_into(exchange, pausing_, 100);
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/slow", {}, false);
    client.data(stream, "all", true);
    ASSERT_TRUE(run_until([&] { return pausing_.body == "all"; }));
    world_->settle();
    EXPECT_FALSE(pausing_.whole);
    kept_->set_body_reading(true);
    EXPECT_TRUE(pausing_.whole);
    EXPECT_TRUE(ended(stream));
}

TEST_P(H2Receivers, OneThatIsPausedGetsTheRestThoughItsAnswerHasBegun) {
    stage_->on("/both", [&](Exchange& exchange) {
        kept_ = core::Ref<Exchange>(&exchange);
        testing::receive_into(exchange, pausing_, 100);
        begin_answer(exchange);
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/both", {}, false);
    client.data(stream, "some", false);
    ASSERT_TRUE(run_until([&] { return pausing_.body == "some"; }));
    client.data(stream, " more", false);
    world_->settle();
    kept_->set_body_reading(true);
    EXPECT_EQ(pausing_.body, "some more");
}

TEST_P(H2Receivers, OneThatComesLateGetsTheTrailersToo) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/kept", {}, false);
    client.data(stream, "body", false);
    client.headers(stream, {{"x-sum", "4"}}, true);
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    testing::receive_whole(*kept_, 100, keep_body());
    kept_->respond_status(204);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(received_.bytes, "body");
    ASSERT_EQ(received_.trailers.size(), 1U);
    EXPECT_EQ(received_.trailers[0].second, "4");
}

TEST_P(H2Receivers, OneWhoseStreamIsResetFails) {
    stage_->on("/form",
               [&](Exchange& exchange) { testing::receive_whole(exchange, 100, keep_body()); });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/form", {}, false);
    client.data(stream, "some", false);
    client.reset(stream);
    EXPECT_TRUE(run_until([&] { return received_.failed; }));
    EXPECT_EQ(received_.bytes, "some");
}

TEST_P(H2Receivers, OneWhoseBodyIsTooLargeFailsThoughItsAnswerHasBegun) {
    stage_->on("/both", [&](Exchange& exchange) {
        testing::receive_whole(exchange, 10, keep_body());
        begin_answer(exchange);
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/both", {}, false);
    client.data(stream, std::string(11, 'x'), false);
    EXPECT_TRUE(run_until([&] { return received_.failed; }));
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status != 0; }));
    EXPECT_EQ(client.answer(stream).heads, std::vector<int>{200});
}

// Its answer is whole, so the stream has nothing left that could fail.
TEST_P(H2Receivers, OneThatThrowsBehindItsAnswerResetsNothing) {
    struct Throwing final : BodyReceiver {
        void on_body(Exchange& exchange, ByteView) override {
            exchange.respond_status(204);
            throw std::runtime_error("behind the answer");
        }
        void on_body_end(Exchange&) override {}
        void on_body_failed(Exchange&) override {}
    } throwing;
    stage_->on("/throws",
               [&](Exchange& exchange) { testing::receive_into(exchange, throwing, 100); });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/throws", {}, false);
    client.data(stream, "some", false);
    ASSERT_TRUE(ended(stream));
    client.data(stream, "rest", true);
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.answer(stream).status, 204);
    EXPECT_FALSE(client.answer(stream).reset);
}

// --- 100 Continue ----------------------------------------------------------------------------

TEST_P(H2Receivers, A100LeavesAtOnceWhenTheBodyIsWantedLater) {
    H2Client& client = connect();
    const auto stream = client.request(
        "POST", "/kept", {{"expect", "100-continue"}, {"content-length", "3"}}, false);
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    EXPECT_EQ(client.answer(stream).status, 0);
    testing::receive_whole(*kept_, 100, [](Exchange&, const testing::ReceivedBody&) {});
    EXPECT_TRUE(run_until([&] { return client.answer(stream).status == 100; }));
}

// Its client may wait for a 100 that does not come.
TEST_P(H2Receivers, ABodyThatWaitsForA100IsNotWaitedForBehindTheAnswer) {
    H2Client& client = connect();
    const auto stream = client.request(
        "POST", "/hello", {{"expect", "100-continue"}, {"content-length", "3"}}, false);
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).reset, H2Error::no_error);
    EXPECT_EQ(client.answer(stream).body, "hello\n");
}

TEST_P(H2Receivers, ABodyThatA100WasSentForIsDroppedBehindTheAnswer) {
    struct Hasty final : BodyReceiver {
        void on_body(Exchange& exchange, ByteView) override {
            if (!exchange.responded()) exchange.respond_status(204);
        }
        void on_body_end(Exchange&) override {}
        void on_body_failed(Exchange&) override {}
    } hasty;
    stage_->on("/hasty", [&](Exchange& exchange) { testing::receive_into(exchange, hasty, 100); });
    H2Client& client = connect();
    const auto stream = client.request(
        "POST", "/hasty", {{"expect", "100-continue"}, {"content-length", "3"}}, false);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 100; }));
    client.data(stream, "a", false);
    ASSERT_TRUE(ended(stream));
    client.data(stream, "bc", true);
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.answer(stream).heads, (std::vector<int>{100, 204}));
    EXPECT_FALSE(client.answer(stream).reset);
}

// --- windows ---------------------------------------------------------------------------------

TEST_P(H2Receivers, AnAnswerReleasesWhatIsHeldOfTheBody) {
    H2Options options = H2Stage::plain();
    options.stream_window_bytes = 65'535;
    start(options);
    H2Client& client = connect();
    const auto stream = client.request("POST", "/kept", {}, false);
    client.data(stream, std::string(40'000, 'x'), false);
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    EXPECT_EQ(client.given_back(stream), 0U);
    kept_->respond_status(204);
    EXPECT_TRUE(run_until([&] { return client.given_back(stream) == 40'000; }));
    EXPECT_FALSE(client.answer(stream).reset);
}

TEST_P(H2Receivers, WhatIsDroppedOpensItsWindowsAsItComes) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 65'535;
    options.stream_window_bytes = 65'535;
    options.body_bytes_max = 1'000'000;
    start(options);
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {}, false);
    ASSERT_TRUE(ended(stream));
    for (std::uint64_t sent = 40'000; sent <= 200'000; sent += 40'000) {
        client.data(stream, std::string(40'000, 'x'), false);
        // Up to half a window is given back later.
        const auto is_open = [&](std::uint32_t of) {
            return client.given_back(of) + 32'767 > sent;
        };
        ASSERT_TRUE(run_until([&] { return is_open(stream) && is_open(0); })) << sent;
    }
    EXPECT_FALSE(client.answer(stream).reset);
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Receivers, ABodyThatComesInPiecesIsDroppedUpToItsAnnouncedLength) {
    H2Options options = H2Stage::plain();
    options.body_bytes_max = 10;
    start(options);
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {{"content-length", "10"}}, false);
    ASSERT_TRUE(ended(stream));
    client.data(stream, "01234", false);
    client.data(stream, "56789", true);
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_FALSE(client.answer(stream).reset);
}

TEST_P(H2Receivers, ABodyTooLargeTakesNothingFromTheConnectionsWindow) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 100'000;
    start(options);
    H2Client& client = connect();
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i, sent += 20'000) {
        const auto stream = client.request("POST", "/upload", {}, false);
        client.data(stream, std::string(20'000, 'x'), false);
        ASSERT_TRUE(reset(stream)) << i;
        ASSERT_TRUE(run_until([&] { return 65'535 + client.given_back(0) >= sent + 40'000; })) << i;
    }
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Receivers, ABodyTooLargeGetsNoMoreOfItsStreamsWindow) {
    H2Options options = H2Stage::plain();
    options.stream_window_bytes = 1'000;
    start(options);
    H2Client& client = connect();
    const auto stream = client.request("POST", "/upload", {}, false);
    client.data(stream, std::string(600, 'x'), false);  // of which 100 may be
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).status, 413);
    EXPECT_EQ(client.given_back(stream), 0U);
}

}  // namespace
}  // namespace tiderace::http
