// Requests and answers over HTTP/2, and bodies both ways. On every engine.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using testing::Peer;
using wire::H2Error;
using wire::H2SettingId;

class H2Requests : public testing::H2Test {};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Requests, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

// --- requests and answers --------------------------------------------------------------------

TEST_P(H2Requests, AnswersARequest) {
    H2Client& client = connect();
    const auto stream = client.get("/hello");
    ASSERT_TRUE(ended(stream));
    const auto& answer = client.answer(stream);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello\n");
    EXPECT_EQ(answer.header("content-length"), "6");
    EXPECT_NE(answer.header("date"), "");
    EXPECT_EQ(client.settings_acks(), 1U);
    EXPECT_EQ(stage_->counters().requests, 1U);
    EXPECT_EQ(stage_->stage().logged(), (std::vector<testing::Logged>{{"GET /hello", 200, 6}}));
}

TEST_P(H2Requests, AnswersManyAtOnceInOneWrite) {
    H2Client& client = connect();
    world_->settle();  // the server's own settings have left
    auto* const fake = dynamic_cast<testing::FakeWorld*>(world_.get());
    if (fake != nullptr) fake->network().trace_on();
    client.hold();
    for (int i = 0; i < 50; ++i) client.get("/hello");
    client.say_all();
    ASSERT_TRUE(ended(99));
    for (std::uint32_t stream = 1; stream < 100; stream += 2) {
        EXPECT_EQ(client.answer(stream).body, "hello\n") << stream;
    }
    EXPECT_EQ(stage_->stage().served().size(), 50U);
    if (fake == nullptr) return;  // its calls can be counted
    EXPECT_EQ(std::ranges::count_if(
                  fake->network().trace(),
                  [](const std::string& call) { return call.find(" send(") != std::string::npos; }),
              1);
}

TEST_P(H2Requests, TakesItsBytesAtEverySplit) {
    // Each piece waits for its turn: on the machine's own sockets a few have to do.
    const bool is_fake = dynamic_cast<testing::FakeWorld*>(world_.get()) != nullptr;
    const std::vector<std::size_t> steps =
        is_fake ? std::vector<std::size_t>{1, 2, 3, 7, 9, 10, 23, 24, 25, 33}
                : std::vector<std::size_t>{9, 24, 33};
    for (const std::size_t step : steps) {
        peer_ = stage_->connect();
        struct Slow final : Peer {
            Peer* below;
            std::string all;
            explicit Slow(Peer& peer) : below(&peer) {}
            void say(ByteView bytes) override { all += bytes; }
            void finish() override {}
            void close() override {}
            void reset() override {}
            void set_listening(bool) override {}
            const std::string& heard() const override { return below->heard(); }
            bool ended() const override { return below->ended(); }
            bool was_reset() const override { return below->was_reset(); }
        } slow(*peer_);
        H2Client client(slow, {{H2SettingId::initial_window_size, 100}});
        const auto upload = client.request("POST", "/upload", {}, false);
        client.data(upload, "some bytes", false);
        client.headers(upload, {{"x-end", "yes"}}, true);
        const auto hello = client.get("/hello");
        for (std::size_t at = 0; at < slow.all.size(); at += step) {
            peer_->say(std::string_view(slow.all).substr(at, step));
            world_->settle();
        }
        ASSERT_TRUE(run_until([&] { return client.answer(hello).ended; })) << "steps of " << step;
        EXPECT_EQ(client.answer(upload).body, "some bytes|x-end=yes");
        EXPECT_EQ(client.answer(hello).body, "hello\n");
    }
}

TEST_P(H2Requests, AnswersWithoutABodyEndWithTheirHead) {
    H2Client& client = connect();
    const auto empty = client.get("/empty");
    const auto unchanged = client.get("/unchanged");
    const auto head = client.request("HEAD", "/hello", {}, true);
    const auto unsent = client.request("HEAD", "/unsent", {}, true);
    const auto silent = client.request("HEAD", "/absent", {}, true);
    ASSERT_TRUE(ended(silent));
    EXPECT_EQ(client.answer(empty).status, 204);
    EXPECT_EQ(client.answer(unchanged).status, 304);
    EXPECT_EQ(client.answer(unchanged).header("etag"), "\"1\"");
    EXPECT_EQ(client.answer(head).header("content-length"), "6");
    EXPECT_EQ(client.answer(unsent).header("content-length"), "42");
    // No body at all says nothing of GET's.
    EXPECT_EQ(client.answer(silent).header("content-length"), "");
    for (const auto stream : {empty, unchanged, head, unsent, silent}) {
        EXPECT_EQ(client.answer(stream).frames, 0U) << stream;
        EXPECT_TRUE(client.answer(stream).ended) << stream;
    }
}

TEST_P(H2Requests, LeavesOutTheFieldsThatSpeakOfAConnection) {
    H2Client& client = connect();
    const auto stream = client.get("/framing");
    ASSERT_TRUE(ended(stream));
    const auto& answer = client.answer(stream);
    EXPECT_EQ(answer.header("x-own"), "kept");
    EXPECT_EQ(answer.header("content-length"), "4");
    for (const char* name : {"connection", "transfer-encoding", "keep-alive", "server"}) {
        EXPECT_EQ(answer.header(name), "") << name;
    }
}

TEST_P(H2Requests, AFieldThatCannotBeSentIsAFaultOfTheHandler) {
    H2Client& client = connect();
    const auto stream = client.get("/bad-field");
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 500);
    const auto next = client.get("/hello");  // HPACK is still in step
    ASSERT_TRUE(ended(next));
    EXPECT_EQ(client.answer(next).body, "hello\n");
}

TEST_P(H2Requests, AHandlerThatDoesNothingIsAnswered500) {
    H2Client& client = connect();
    const auto stream = client.get("/nothing");
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 500);
}

TEST_P(H2Requests, AnswersLaterFromTheRequestAsItWas) {
    H2Client& client = connect();
    client.hold();
    const auto later = client.get("/later", {{"x-a", "1"}});
    const auto hello = client.get("/hello", {{"x-b", std::string(2000, 'b')}});
    client.say_all();
    ASSERT_TRUE(ended(later));
    EXPECT_EQ(client.answer(later).body, "later\n");
    EXPECT_TRUE(client.answer(hello).ended);
}

TEST_P(H2Requests, SendsBodiesThatAreMadeWhileTheyAreSent) {
    H2Client& client = connect();
    const auto known = client.get("/known");
    const auto stream = client.get("/stream");
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(known).body, "0123456789");
    EXPECT_EQ(client.answer(known).header("content-length"), "10");
    EXPECT_EQ(client.answer(stream).body, "onetwo");
    EXPECT_EQ(client.answer(stream).header("content-length"), "");
}

TEST_P(H2Requests, ASourceThatFailsResetsItsStreamAlone) {
    stage_->on("/fails", [](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({"one"}, BodySource::State::failed));
        exchange.respond(response);
    });
    stage_->on("/short", [](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({"one"}), 4);
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto fails = client.get("/fails");
    const auto is_short = client.get("/short");
    const auto hello = client.get("/hello");
    ASSERT_TRUE(ended(hello));
    ASSERT_TRUE(reset(is_short));
    EXPECT_EQ(client.answer(fails).reset, H2Error::internal_error);
    EXPECT_EQ(client.answer(is_short).reset, H2Error::internal_error);
}

TEST_P(H2Requests, ARequestThatIsNotTakenIsAnswered) {
    H2Client& client = connect();
    const auto nul = client.get("/a%00b");
    const auto long_path = client.get("/" + std::string(9'000, 'a'));
    const auto hello = client.get("/hello");
    ASSERT_TRUE(ended(hello));
    EXPECT_EQ(client.answer(nul).status, 400);
    EXPECT_EQ(client.answer(long_path).status, 414);
    EXPECT_EQ(stage_->counters().refused, 2U);
}

// The exchange that answers it was another request's before.
TEST_P(H2Requests, ARefusedRequestShowsNothingOfTheOneBefore) {
    H2Client& client = connect();
    ASSERT_TRUE(ended(client.request("HEAD", "/hello?secret", {{"x-a", "1"}}, true)));
    const std::string large(40'000, 'x');
    const auto get = client.get("/hello", {{"x-large", large}});
    ASSERT_TRUE(ended(get));
    EXPECT_EQ(client.answer(get).status, 431);
    EXPECT_NE(client.answer(get).body, "");
    EXPECT_EQ(client.answer(get).header("content-length"),
              std::to_string(client.answer(get).body.size()));
    // The refusal of a HEAD request has no body either.
    ASSERT_TRUE(ended(client.get("/hello")));
    const auto head = client.request("HEAD", "/hello", {{"x-large", large}}, true);
    ASSERT_TRUE(ended(head));
    EXPECT_EQ(client.answer(head).status, 431);
    EXPECT_EQ(client.answer(head).body, "");
    const auto& logged = stage_->stage().logged();
    ASSERT_EQ(logged.size(), 4U);
    EXPECT_EQ(logged[1].request, "- -");
    EXPECT_EQ(logged[3].request, "HEAD -");
}

TEST_P(H2Requests, AMalformedRequestIsReset) {
    H2Client& client = connect();
    const auto upper = client.get("/hello", {{"X-Upper", "1"}});
    const auto connection = client.get("/hello", {{"connection", "close"}});
    const auto hello = client.get("/hello");
    ASSERT_TRUE(ended(hello));
    EXPECT_EQ(client.answer(upper).reset, H2Error::protocol_error);
    EXPECT_EQ(client.answer(connection).reset, H2Error::protocol_error);
    EXPECT_EQ(stage_->stage().served().size(), 1U);
    EXPECT_EQ(stage_->counters().refused, 2U);
}

// --- request bodies --------------------------------------------------------------------------

TEST_P(H2Requests, ReceivesABodyAndItsTrailers) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/upload", {{"content-length", "10"}}, false);
    client.data(stream, "01234", false);
    client.data(stream, "56789", false);
    client.headers(stream, {{"x-sum", "45"}}, true);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, "0123456789|x-sum=45");
}

TEST_P(H2Requests, ABodyThatIsNotAsLongAsAnnouncedIsReset) {
    H2Client& client = connect();
    const auto less = client.request("POST", "/upload", {{"content-length", "10"}}, false);
    client.data(less, "0123", true);
    const auto more = client.request("POST", "/upload", {{"content-length", "3"}}, false);
    client.data(more, "0123", false);
    const auto none = client.request("POST", "/upload", {{"content-length", "10"}}, true);
    ASSERT_TRUE(reset(none));
    EXPECT_EQ(client.answer(none).reset, H2Error::protocol_error);
    EXPECT_EQ(client.answer(none).status, 0);
    ASSERT_TRUE(reset(more));
    EXPECT_EQ(client.answer(less).reset, H2Error::protocol_error);
    EXPECT_EQ(client.answer(more).reset, H2Error::protocol_error);
}

TEST_P(H2Requests, ABodyTooLargeIsAnswered413AndNotWaitedFor) {
    H2Client& client = connect();
    const auto said = client.request("POST", "/upload", {{"content-length", "101"}}, false);
    const auto came = client.request("POST", "/upload", {}, false);
    client.data(came, std::string(101, 'x'), false);
    ASSERT_TRUE(reset(came));
    EXPECT_EQ(client.answer(said).status, 413);
    EXPECT_EQ(client.answer(came).status, 413);
    EXPECT_EQ(client.answer(said).reset, H2Error::no_error);
    EXPECT_EQ(client.answer(came).reset, H2Error::no_error);
}

TEST_P(H2Requests, SaysContinueWhenTheBodyIsWanted) {
    H2Client& client = connect();
    const auto stream = client.request(
        "POST", "/upload", {{"expect", "100-continue"}, {"content-length", "3"}}, false);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 100; }));
    client.data(stream, "abc", true);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).heads, (std::vector<int>{100, 200}));
    EXPECT_EQ(client.answer(stream).body, "abc");
}

TEST_P(H2Requests, ASmallUnwantedBodyIsDropped) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {}, false);
    ASSERT_TRUE(ended(stream));
    client.data(stream, "some", false);
    client.data(stream, " bytes", true);
    const auto next = client.get("/hello");
    ASSERT_TRUE(ended(next));
    EXPECT_FALSE(client.answer(stream).reset);
    EXPECT_EQ(client.answer(stream).body, "hello\n");
}

TEST_P(H2Requests, ALargeUnwantedBodyIsReset) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {{"content-length", "9000000"}}, false);
    client.data(stream, std::string(10'000, 'x'), false);
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).body, "hello\n");
    EXPECT_EQ(client.answer(stream).reset, H2Error::no_error);
    client.data(stream, std::string(10'000, 'x'), true);  // was on its way: no fault of the peer's
    const auto next = client.get("/hello");
    ASSERT_TRUE(ended(next));
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Requests, TheWindowOpensOnlyAsTheBodyIsTaken) {
    H2Options options = H2Stage::plain();
    options.stream_window_bytes = 40'000;
    start(options);
    testing::PausingReceiver receiver;
    core::Ref<Exchange> exchange;
    stage_->on("/slow", [&](Exchange& each) {
        exchange = core::Ref<Exchange>(&each);
        testing::receive_into(each, receiver, 1'000'000);
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/slow", {}, false);
    client.data(stream, std::string(40'000, 'x'), false);
    world_->settle();
    ASSERT_GT(receiver.body.size(), 0U);
    ASSERT_LT(receiver.body.size(), 40'000U);  // then it paused
    EXPECT_EQ(client.given_back(stream), 0U);
    for (int i = 0; i < 10 && receiver.body.size() < 40'000; ++i) {
        exchange->set_body_reading(true);
        world_->settle();
    }
    EXPECT_EQ(receiver.body.size(), 40'000U);
    ASSERT_TRUE(run_until([&] { return client.given_back(stream) >= 20'000; }));
    exchange->set_body_reading(true);
    client.data(stream, "end", true);
    world_->settle();
    exchange->set_body_reading(true);
    ASSERT_TRUE(ended(stream));
    EXPECT_TRUE(receiver.whole);
    EXPECT_EQ(client.answer(stream).status, 204);
}

TEST_P(H2Requests, MoreThanTheWindowIsAFault) {
    H2Options options = H2Stage::plain();
    options.stream_window_bytes = 1'000;
    start(options);
    H2Client& client = connect();
    const auto stream = client.request("POST", "/kept", {}, false);
    client.data(stream, std::string(1'001, 'x'), false);
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).reset, H2Error::flow_control_error);
}

// --- what outlives the connection ------------------------------------------------------------

TEST_P(H2Requests, ARequestThatIsHeldKnowsItsPeerWhenTheConnectionIsGone) {
    for (const bool answered : {false, true}) {
        H2Client& client = connect();
        const auto stream = client.get("/kept");
        ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
        const core::Ref<Exchange> held = std::exchange(kept_, {});
        const core::Address* const of_connection = held->request().peer;
        const std::string peer = of_connection->to_string();
        if (answered) {
            held->respond_status(204);
            ASSERT_TRUE(ended(stream));
        }
        peer_->reset();
        ASSERT_TRUE(run_until([&] { return stage_->server().size() == 0; }));
        EXPECT_EQ(held->abandoned(), !answered);
        EXPECT_NE(held->request().peer, of_connection);
        EXPECT_EQ(held->request().peer->to_string(), peer);
        EXPECT_EQ(held->request().security, nullptr);
    }
}

TEST_P(H2Requests, ABodyThatWasPausedMayGoOnWhenTheConnectionIsGone) {
    testing::PausingReceiver receiver;
    core::Ref<Exchange> exchange;
    stage_->on("/slow", [&](Exchange& each) {
        exchange = core::Ref<Exchange>(&each);
        testing::receive_into(each, receiver, 1'000);
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/slow", {}, false);
    client.data(stream, "some", false);
    ASSERT_TRUE(run_until([&] { return receiver.body == "some"; }));
    client.data(stream, " more", false);
    world_->settle();
    peer_->reset();
    ASSERT_TRUE(run_until([&] { return stage_->server().size() == 0; }));
    exchange->set_body_reading(true);
    world_->settle();
    EXPECT_TRUE(exchange->abandoned());
    EXPECT_EQ(receiver.body, "some");
}

}  // namespace
}  // namespace tiderace::http
