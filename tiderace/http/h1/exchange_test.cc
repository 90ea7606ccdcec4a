#include "tiderace/http/h1/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "tiderace/http/h1/messages_fixture.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h1_stage.h"

// Request bodies that flow: back-pressure, limits, early answers, ends in their middle. On every
// engine. Their syntax is in h1_connection_test.cc.

namespace tiderace::http {
namespace {

using testing::H1Stage;
using testing::Peer;
using testing::World;

std::string post(const std::string& path, std::size_t length, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) +
           "\r\n\r\n" + body;
}

class H1Bodies : public ::testing::TestWithParam<std::string> {
  protected:
    // Counts, pauses when told to, and answers with the count at the end.
    class Counter final : public BodyReceiver {
      public:
        void on_body(Exchange& exchange, ByteView data) override {
            bytes += data.size();
            if (pause_each) exchange.set_body_reading(false);
            if (answer_early)
                std::exchange(answer_early, false) ? exchange.respond_status(202) : void();
        }
        void on_body_end(Exchange& exchange) override {
            ++ends;
            if (exchange.responded()) return;
            Response response;
            response.set_body(std::to_string(bytes));
            exchange.respond(response);
        }
        void on_body_failed(Exchange& exchange) override {
            ++failures;
            exchange.respond_status(500);  // does nothing
        }
        std::size_t bytes = 0;
        int ends = 0;
        int failures = 0;
        bool pause_each = false;
        bool answer_early = false;
    };

    H1Bodies() {
        stage_.add_usual_paths();
        stage_.on("/count", [this](Exchange& exchange) {
            kept_ = exchange.defer();
            testing::receive_into(exchange, counter_, 1_GiB);
        });
        stage_.on("/kept", [this](Exchange& exchange) { kept_ = exchange.defer(); });
    }
    bool heard(const Peer& peer, const std::string& answer) {
        return stage_.run_until([&] { return H1Stage::heard(peer).size() >= answer.size(); }) &&
               H1Stage::heard(peer) == answer;
    }

    std::unique_ptr<World> world_ = testing::make_world(GetParam());
    H1Stage stage_{*world_};
    Counter counter_;
    core::Ref<Exchange> kept_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H1Bodies, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(H1Bodies, AreAnnouncedByTheHead) {
    std::string told;
    stage_.on("/told", [&](Exchange& exchange) {
        told += exchange.has_body() ? '1' : '0';
        exchange.respond_status(204);
    });
    const auto peer = stage_.connect();
    peer->say(get("/told") + post("/told", 0, "") + post("/told", 3, "abc") +
              "POST /told HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    ASSERT_TRUE(stage_.run_until([&] { return told.size() == 4; }));
    EXPECT_EQ(told, "0011");
}

TEST_P(H1Bodies, AReceiverThatPausesHoldsThePeerBack) {
    constexpr std::size_t length = 16_MiB;
    counter_.pause_each = true;
    const auto peer = stage_.connect();
    peer->say(post("/count", length, std::string(length, 'x')) + get_hello);
    ASSERT_TRUE(stage_.run_until([&] { return counter_.bytes > 0; }));
    const std::size_t first = counter_.bytes;
    world_->settle();
    EXPECT_EQ(counter_.bytes, first);  // paused is paused
    world_->advance(10min);
    EXPECT_EQ(counter_.bytes, first);  // and we are the slow one: no deadline
    ASSERT_FALSE(peer->over());
    while (counter_.ends == 0) {
        const std::size_t before = counter_.bytes;
        kept_->set_body_reading(true);
        ASSERT_TRUE(stage_.run_until(
            [&] { return counter_.bytes > before || counter_.ends > 0 || peer->over(); }));
        ASSERT_FALSE(peer->over());
        if (counter_.bytes > 1_MiB) counter_.pause_each = false;
    }
    EXPECT_TRUE(heard(*peer, ok(std::to_string(length)) + hello));
}

TEST_P(H1Bodies, AnAnswerBeforeTheBodyIsWholeDropsTheRest) {
    counter_.answer_early = true;
    const auto peer = stage_.connect();
    peer->say(post("/count", 6, "abc"));
    const std::string early = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
    ASSERT_TRUE(heard(*peer, early));
    peer->say("def" + get_hello);
    EXPECT_TRUE(heard(*peer, early + hello));
    EXPECT_EQ(counter_.ends + counter_.failures, 1);
}

TEST_P(H1Bodies, AnAnswerOfAPausedReceiverDoesNotHangTheConnection) {
    counter_.answer_early = counter_.pause_each = true;
    const auto peer = stage_.connect();
    peer->say(post("/count", 6, "abc"));
    const std::string early = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
    ASSERT_TRUE(heard(*peer, early));
    peer->say("def" + get_hello);
    ASSERT_TRUE(heard(*peer, early + hello));
    counter_ = {};
    counter_.answer_early = counter_.pause_each = true;
    peer->say(post("/count", 3, "abc") + get_hello);  // with its last byte
    EXPECT_TRUE(heard(*peer, early + hello + early + hello));
}

TEST_P(H1Bodies, AReceiverThatPausesBetweenChunksGetsTheNextOnesLater) {
    counter_.pause_each = true;
    const auto peer = stage_.connect();
    peer->say(
        "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
    for (const std::size_t bytes : {3U, 6U}) {
        ASSERT_TRUE(stage_.run_until([&] { return counter_.bytes >= bytes; }));
        world_->settle();
        EXPECT_EQ(counter_.bytes, bytes);
        EXPECT_EQ(counter_.ends, 0);
        kept_->set_body_reading(true);
    }
    EXPECT_TRUE(heard(*peer, ok("6")));
}

TEST_P(H1Bodies, APauseBehindTheAnswerHoldsNothingBack) {
    const auto peer = stage_.connect();
    peer->say(post("/count", 6, "abc"));
    ASSERT_TRUE(stage_.run_until([&] { return counter_.bytes == 3; }));
    kept_->respond_status(202);
    kept_->set_body_reading(false);
    peer->say("def" + get_hello);
    EXPECT_TRUE(heard(*peer, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n" + hello));
}

TEST_P(H1Bodies, ABodyWaitsForARequestThatIsDecidedLater) {
    class Later final : public AccessRule {
      public:
        Verdict check(Exchange& exchange) override {
            kept = exchange.defer();
            return Verdict::later;
        }
        core::Ref<Exchange> kept;
    } rule;
    stage_.site().add(rule);
    for (const std::size_t length : {std::size_t{3}, std::size_t{1_MiB}}) {
        SCOPED_TRACE(length);
        counter_ = {};
        const auto peer = stage_.connect();
        peer->say(post("/count", length, std::string(length, 'x')));
        peer->finish();
        ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(rule.kept); }));
        world_->settle();
        world_->advance(20s);  // our time, not the peer's; but it ended its side
        stage_.site().resume(*std::exchange(rule.kept, {}));
        ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
        EXPECT_THAT(H1Stage::heard(*peer),
                    ::testing::EndsWith("\r\n\r\n" + std::to_string(length)));
        EXPECT_EQ(counter_.bytes, length);
    }
}

TEST_P(H1Bodies, APeerThatEndsInTheBodyFailsIt) {
    for (const bool hard : {false, true}) {
        SCOPED_TRACE(hard);
        counter_ = {};
        const auto peer = stage_.connect();
        peer->say(post("/count", 6, "abc"));
        ASSERT_TRUE(stage_.run_until([&] { return counter_.bytes == 3; }));
        hard ? peer->reset() : peer->finish();
        ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
        EXPECT_EQ(counter_.failures, 1);
        EXPECT_EQ(counter_.ends, 0);
        EXPECT_TRUE(kept_->abandoned());
        if (hard) continue;
        ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
        EXPECT_THAT(peer->heard(), ::testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
    }
}

// The section as a whole, not its lines; each way, the receiver has no end of the body.
TEST_P(H1Bodies, TrailersAboveTheMaximumAre431) {
    const std::string line = "X-Sum: " + std::string(1'000, 'x') + "\r\n";
    std::string many;
    while (many.size() <= wire::ChunkLimits{}.trailer_bytes_max) many += line;
    const std::string one = "X-Sum: " + std::string(wire::ChunkLimits{}.trailer_bytes_max, 'x');
    for (const std::string& trailers : {many, one}) {
        counter_ = {};
        const auto peer = stage_.connect();
        peer->say("POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        peer->say("3\r\nabc\r\n0\r\n" + trailers);
        ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
        peer->finish();  // the server waits for it, so that its answer is not lost
        ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
        EXPECT_EQ(counter_.bytes, 3U);
        EXPECT_EQ(counter_.failures, 1);
        EXPECT_EQ(counter_.ends, 0);
        EXPECT_THAT(peer->heard(), ::testing::StartsWith("HTTP/1.1 431 "));
    }
}

// Half a line is not taken from the connection; it is no reason to wait for the other half.
TEST_P(H1Bodies, APeerThatEndsInATrailerFailsItToo) {
    for (const char* trailer : {"X", "X-Sum: 1\r", "X-Sum: 1\r\n\r"}) {
        SCOPED_TRACE(trailer);
        counter_ = {};
        const std::string body = "3\r\nabc\r\n0\r\n" + std::string(trailer);
        const std::string fields = " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        const auto taken = stage_.connect(), dropped = stage_.connect();
        taken->say("POST /count" + fields + body);
        dropped->say("POST /hello" + fields + body);
        ASSERT_TRUE(heard(*dropped, hello));
        taken->finish();
        dropped->finish();
        ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
        EXPECT_EQ(counter_.failures, 1);
        EXPECT_EQ(counter_.ends, 0);
        ASSERT_TRUE(stage_.run_until([&] { return taken->over() && dropped->over(); }));
        EXPECT_THAT(taken->heard(), ::testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
        EXPECT_EQ(H1Stage::heard(*dropped), hello);
    }
}

TEST_P(H1Bodies, APeerThatEndsInTheHeadIsServedNothing) {
    const auto peer = stage_.connect();
    peer->say(get_hello + "GET /hello HTTP/1.1\r\nHost: a\r\n");
    peer->finish();
    ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_FALSE(peer->was_reset());
    EXPECT_EQ(H1Stage::heard(*peer), hello);
    EXPECT_EQ(stage_.served().size(), 1U);
}

TEST_P(H1Bodies, TooMuchInChunksFailsTheReceiverOnceAndIsAnswered) {
    stage_.on("/little",
              [this](Exchange& exchange) { testing::receive_into(exchange, counter_, 4); });
    const auto peer = stage_.connect();
    peer->say("POST /little HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    ASSERT_TRUE(stage_.run_until([&] { return counter_.bytes == 3; }));
    peer->say("2\r\nde\r\n");
    ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_THAT(peer->heard(), ::testing::StartsWith("HTTP/1.1 413 Content Too Large\r\n"));
    EXPECT_EQ(counter_.failures, 1);
    EXPECT_EQ(counter_.ends, 0);
    EXPECT_FALSE(peer->was_reset());
    EXPECT_EQ(stage_.logged().size(), 1U);
}

TEST_P(H1Bodies, ABodyThatStallsFailsTheReceiverWhoseAnswerDoesNothing) {
    const auto peer = stage_.connect();
    peer->say(post("/count", 6, "abc"));
    ASSERT_TRUE(stage_.run_until([&] { return counter_.bytes == 3; }));
    int abandoned = 0;
    kept_->on_abandoned([&] { ++abandoned; });
    world_->advance(1min);
    ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_THAT(peer->heard(), ::testing::StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
    EXPECT_EQ(counter_.failures, 1);
    EXPECT_EQ(abandoned, 1);
}

TEST_P(H1Bodies, ALargeBodyThatIsRefusedLeavesTheAnswerReadable) {
    const auto peer = stage_.connect();
    peer->say(post("/upload", 1_MiB, std::string(1_MiB, 'x')));
    ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_THAT(peer->heard(), ::testing::StartsWith("HTTP/1.1 413 Content Too Large\r\n"));
}

TEST_P(H1Bodies, EndlessUnwantedChunksEndTheConnectionWithTheAnswerReadable) {
    const auto peer = stage_.connect();
    peer->say("POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "1000\r\n" + std::string(0x1000, 'x') + "\r\n";
    for (int i = 0; i < 64; ++i) peer->say(chunk);
    ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_EQ(stage_.heard(*peer), hello);
    EXPECT_EQ(stage_.logged().size(), 1U);
}

TEST_P(H1Bodies, UnwantedChunksThatStallEndTheConnection) {
    const auto peer = stage_.connect();
    peer->say("POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na");
    ASSERT_TRUE(heard(*peer, hello));
    world_->advance(1min);
    ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_EQ(stage_.heard(*peer), hello);
}

TEST_P(H1Bodies, ABodyIsAnsweredLaterFromItsEnd) {
    stage_.on("/slow", [this](Exchange& exchange) {
        testing::receive_whole(exchange, 100, [this](Exchange& done, const testing::ReceivedBody&) {
            kept_ = done.defer();
        });
    });
    const auto peer = stage_.connect();
    peer->say(post("/slow", 3, "abc") + get_hello);
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept_); }));
    world_->advance(1h);
    std::exchange(kept_, {})->respond_status(204);
    EXPECT_TRUE(heard(*peer, "HTTP/1.1 204 No Content\r\n\r\n" + hello));
}

// --- exact limits, and objects that are used again -------------------------------------------

class H1Limits : public ::testing::Test {
  protected:
    H1Limits() : stage_(world_, little()) { stage_.add_usual_paths(); }

    static H1Options little() {
        H1Options options = H1Stage::plain();
        options.body_bytes_max = 10;
        options.head.request_line_bytes_max = 64;
        return options;
    }
    // The answer to a new peer that sends this, and whether its connection is over at once.
    std::string heard_after(const std::string& said) {
        peer_ = stage_.connect();
        peer_->say(said);
        world_.settle();
        return H1Stage::heard(*peer_);
    }
    std::string chunked(const std::string& chunks) {
        return "POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks;
    }

    testing::FakeWorld world_;
    H1Stage stage_;
    std::unique_ptr<Peer> peer_;
};

// Bytes that have arrived already need not be dropped.
TEST_F(H1Limits, OnlyTheRestOfABodyIsMeasuredWhereItIsAnsweredEarly) {
    struct Early final : BodyReceiver {
        void on_body(Exchange& exchange, ByteView) override { exchange.respond_status(202); }
        void on_body_end(Exchange&) override {}
        void on_body_failed(Exchange&) override {}
    } early;
    stage_.on("/early", [&](Exchange& exchange) { testing::receive_into(exchange, early, 1'000); });
    const std::string answer = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n";
    EXPECT_EQ(heard_after(post("/early", 17, "7 bytes")), answer + "\r\n");
    EXPECT_EQ(heard_after(post("/early", 18, "7 bytes")), answer + "Connection: close\r\n\r\n");
}

TEST_F(H1Limits, AnEndlessRequestLineIsRefusedHoweverSlowlyItComes) {
    peer_ = stage_.connect();
    peer_->say("GET /");
    for (int i = 0; i < 100 && !peer_->over(); ++i) {
        peer_->say("a");
        world_.settle();
        if (!peer_->heard().empty()) {
            EXPECT_EQ(i + 1 + 5, 64 + 1);
            break;
        }
    }
    EXPECT_THAT(peer_->heard(), ::testing::StartsWith("HTTP/1.1 414 URI Too Long\r\n"));
}

// Its line has no end yet, and may be as long as this.
TEST_F(H1Limits, AMethodThatIsTooLongIsRefusedBeforeItsLineEnds) {
    EXPECT_EQ(heard_after(std::string(32, 'A')), "");
    EXPECT_THAT(heard_after(std::string(33, 'A')), ::testing::StartsWith("HTTP/1.1 501 "));
}

TEST_F(H1Limits, AnUnwantedBodyIsDroppedUpToTheLimit) {
    EXPECT_EQ(heard_after(post("/hello", 10, "0123456789") + get_hello), hello + hello);
    EXPECT_EQ(heard_after(post("/hello", 11, "0123456789a") + get_hello), hello_close);
}

TEST_F(H1Limits, ABodyThatWaitsForContinueIsNotWaitedFor) {
    EXPECT_EQ(heard_after("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                          "Expect: 100-continue\r\n\r\n"),
              hello_close);
}

// No "100 Continue", and nothing to wait for.
TEST_F(H1Limits, ABodyOfNoBytesIsNone) {
    const std::string head =
        " HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n";
    EXPECT_EQ(heard_after("POST /hello" + head + get_hello), hello + hello);
    EXPECT_EQ(heard_after("POST /upload" + head), ok(""));
}

TEST_F(H1Limits, UnwantedChunksAreDroppedUpToTheLimit) {
    EXPECT_EQ(heard_after(chunked("4\r\nabcd\r\n6\r\nefghij\r\n0\r\n\r\n") + get_hello),
              hello + hello);
    // The second one is not waited for.
    EXPECT_EQ(heard_after(chunked("4\r\nabcd\r\n7\r\n")), hello);
    EXPECT_TRUE(peer_->ended());
    EXPECT_EQ(heard_after(chunked("4\r\nabcd\r\n6\r\n")), hello);
    EXPECT_FALSE(peer_->ended());
}

// Chunks announce no length, so an answer before the first one takes the body for an empty one.
TEST_F(H1Limits, WhereNoBodyIsTakenAnEmptyOneInChunksKeepsTheConnection) {
    H1Options options = little();
    options.body_bytes_max = 0;
    H1Stage stage(world_, std::move(options));
    stage.add_usual_paths();
    const auto peer = stage.connect();
    peer->say(chunked("0\r\n\r\n") + get_hello);
    world_.settle();
    EXPECT_EQ(H1Stage::heard(*peer), hello + hello);
}

// To close at once would reset what the peer still sends, and the answer with it.
TEST_F(H1Limits, BehindChunksThatAreTooManyThePeersEndIsWaitedFor) {
    EXPECT_EQ(heard_after(chunked("4\r\nabcd\r\n7\r\n")), hello);
    ASSERT_TRUE(peer_->ended());
    EXPECT_EQ(stage_.server().size(), 1U);
    peer_->say("0123456\r\n");
    peer_->finish();
    world_.settle();
    EXPECT_FALSE(peer_->was_reset());
    EXPECT_EQ(stage_.server().size(), 0U);
}

TEST_F(H1Limits, ARefusedHeadRequestIsAnsweredWithoutABody) {
    const std::string answer = heard_after("HEAD /hello HTTP/1.1\r\nHost : a\r\n\r\n");
    EXPECT_THAT(answer, ::testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
    EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\n"));
    EXPECT_THAT(answer, ::testing::HasSubstr("Content-Length: "));
}

TEST_F(H1Limits, ARefusedRequestShowsNothingOfTheOneBefore) {
    struct Looking final : ResponseFilter {
        void filter(Exchange& exchange, Response&) override {
            fields = exchange.request().head->fields().size();
            method = exchange.request().head->method_text();
        }
        std::size_t fields = 0;
        std::string method;
    } looking;
    stage_.site().add(looking);
    heard_after(get("/hello", "Cookie: secret\r\n"));
    EXPECT_EQ(looking.fields, 2U);
    heard_after("BREW /hello HTTP/1.1\r\nHost : a\r\n\r\n");
    EXPECT_EQ(looking.fields, 0U);
    EXPECT_EQ(looking.method, "-");
}

TEST_F(H1Limits, AnOrderlyEndIsNotDelayedByWhatTheExchangeWasBefore) {
    // Cut in its middle: more of that body may have come.
    heard_after("POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n");
    peer_->close();
    world_.settle();
    ASSERT_EQ(stage_.server().size(), 0U);
    EXPECT_EQ(heard_after(get("/hello", "Connection: close\r\n")), hello_close);
    EXPECT_EQ(stage_.server().size(), 0U);  // at once: the peer had said its last word
}

// Its answer had begun, so that nothing took the pause back.
TEST_F(H1Limits, ABodyIsReadThoughTheOneBeforeEndedInAPause) {
    struct Pausing final : BodyReceiver {
        void on_body(Exchange& exchange, ByteView) override { exchange.set_body_reading(false); }
        void on_body_end(Exchange&) override {}
        void on_body_failed(Exchange&) override { failed = true; }
        bool failed = false;
    } pausing;
    core::Ref<Exchange> first;
    stage_.on("/first", [&](Exchange& exchange) { first = exchange.defer(); });
    stage_.on("/paused", [&](Exchange& exchange) {
        testing::receive_into(exchange, pausing, 100);
        Response response;
        response.set_body(testing::pieces({"one"}, BodySource::State::wait), 5);
        exchange.respond(response);
    });
    const auto peer = stage_.connect();
    peer->say(get("/first") + post("/paused", 6, "abc"));
    peer->finish();  // heard of before the pause
    world_.settle();
    std::exchange(first, {})->respond_status(204);
    world_.settle();
    ASSERT_EQ(stage_.served().size(), 2U);
    EXPECT_TRUE(pausing.failed);
    EXPECT_EQ(heard_after(post("/upload", 3, "abc")), ok("abc"));
}

TEST_F(H1Limits, ASourceThatGivesMoreThanItPromisedIsNotHeard) {
    std::string piece;
    stage_.on("/more", [&](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({piece}, BodySource::State::wait), 4);
        exchange.respond(response);
    });
    for (const char* const each : {"0123456789", "01234"}) {
        piece = each;
        EXPECT_THAT(heard_after(get("/more")), ::testing::Not(::testing::HasSubstr("01234")));
        EXPECT_TRUE(peer_->over());
    }
}

TEST_F(H1Limits, AnUpgradeWaitsForNoBody) {
    bool upgraded = true;
    stage_.on("/upgrade", [&](Exchange& exchange) {
        Response response;
        upgraded = exchange.upgrade(response, [](net::Connection&) -> net::Session& { abort(); });
        exchange.respond_status(400);
    });
    const std::string answer = heard_after(
        "POST /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n"
        "Content-Length: 3\r\n\r\n");
    EXPECT_FALSE(upgraded);
    EXPECT_THAT(answer, ::testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
}

TEST_F(H1Limits, AnUpgradeThatThrowsEndsItsConnectionOnly) {
    stage_.on("/upgrade", [](Exchange& exchange) {
        Response response;
        exchange.upgrade(response, [](net::Connection&) -> net::Session& {
            throw std::runtime_error("no session");
        });
    });
    heard_after(get("/upgrade", "Connection: upgrade\r\nUpgrade: x\r\n"));
    EXPECT_TRUE(peer_->over());
    EXPECT_EQ(heard_after(get_hello), hello);
}

}  // namespace
}  // namespace tiderace::http
