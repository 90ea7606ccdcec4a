// How a connection ends when its peer finished, is late, or is drained; and what a handler that
// holds its request has of it then. On every engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "tiderace/http/h1/messages_fixture.h"
#include "tiderace/testing/h1_stage.h"

namespace tiderace::http {
namespace {

using testing::H1Stage;
using ::testing::HasSubstr;
using testing::Peer;
using ::testing::StartsWith;

// Gives what the test has put there, and never ends.
class Trickle final : public BodySource {
  public:
    explicit Trickle(std::string& ready) : ready_(&ready) {}

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        out.append(blocks, std::exchange(*ready_, {}));
        return State::wait;
    }

  private:
    std::string* ready_;
};

class H1Ends : public ::testing::TestWithParam<std::string> {
  protected:
    H1Ends() {
        stage_.add_usual_paths();
        stage_.on("/held", [this](Exchange& exchange) { held_ = exchange.defer(); });
        stage_.on("/trickle", [this](Exchange& exchange) {
            held_ = core::Ref<Exchange>(&exchange);
            Response response;
            response.set_body(std::make_unique<Trickle>(ready_), 1'000);
            exchange.respond(response);
        });
        stage_.on("/form", [](Exchange& exchange) {
            testing::receive_whole(exchange, 1'000'000,
                                   [](Exchange&, const testing::ReceivedBody&) {});
        });
    }
    ~H1Ends() override { held_ = {}; }

    std::unique_ptr<Peer> asks(const std::string& text) {
        auto peer = stage_.connect();
        peer->say(text);
        world_->settle();
        return peer;
    }
    bool ends(const Peer& peer) {
        return stage_.run_until([&] { return peer.over(); });
    }
    std::uint64_t timed_out() { return stage_.service().counters().timed_out; }

    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    H1Stage stage_{*world_};
    std::string ready_;
    core::Ref<Exchange> held_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H1Ends, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

// --- an access log that throws ---------------------------------------------------------------

class FailingLog final : public AccessLog {
  public:
    void write(const AccessRecord&) override {
        ++lines;
        throw std::bad_alloc();
    }
    int lines = 0;
};

TEST_P(H1Ends, AnAccessLogThatThrowsCostsItsLinesOnly) {
    FailingLog log;
    stage_.site().set_log(&log);
    const auto peer = asks("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(stage_.heard(*peer), ::testing::EndsWith("hello\n"));
    peer->say("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(ends(*peer));
    EXPECT_EQ(log.lines, 2);
    EXPECT_EQ(stage_.closed(net::CloseReason::session_failed), 0U);
}

// One of a deferred answer is written outside of any of the connection's calls.
TEST_P(H1Ends, AnAccessLogThatThrowsLetsADeferredAnswerAndAnAbandonedOneGo) {
    FailingLog log;
    stage_.site().set_log(&log);
    const auto peer = asks("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(held_);
    held_->respond_status(204);
    held_ = {};
    EXPECT_TRUE(stage_.run_until([&] { return peer->heard().starts_with("HTTP/1.1 204"); }));
    EXPECT_EQ(log.lines, 1);
    const auto gone = asks("GET /trickle HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(held_);
    gone->reset();
    EXPECT_TRUE(stage_.run_until([&] { return log.lines == 2; }));
    world_->settle();
    EXPECT_TRUE(held_->abandoned());
    ready_ = "too late";
    held_->body_ready();  // nothing of the connection is left in it
    EXPECT_EQ(stage_.server().size(), 1U);
}

// --- a handler that throws -------------------------------------------------------------------

TEST_P(H1Ends, AnAnswerThatIsWholeStaysSoAndOneInItsMiddleIsCut) {
    stage_.on("/whole", [](Exchange& exchange) {
        exchange.respond_status(204);
        throw std::runtime_error("behind the answer");
    });
    stage_.on("/part", [this](Exchange& exchange) {
        Response response;
        response.set_body(std::make_unique<Trickle>(ready_), 1'000);
        exchange.respond(response);
        throw std::runtime_error("in the answer");
    });
    ready_ = "part";
    const auto peer = asks(get("/whole") + get_hello);
    EXPECT_TRUE(stage_.run_until([&] { return peer->heard().ends_with("hello\n"); }));
    EXPECT_THAT(peer->heard(), StartsWith("HTTP/1.1 204 "));
    peer->say(get("/part"));
    EXPECT_TRUE(ends(*peer));
    EXPECT_EQ(stage_.closed(net::CloseReason::aborted), 1U);
}

// --- a peer that finished --------------------------------------------------------------------

TEST_P(H1Ends, AHandlerThatNeverAnswersAPeerThatFinishedIsAnsweredFor) {
    const auto peer = asks(get("/held"));
    ASSERT_TRUE(held_);
    const core::Address* const of_connection = held_->request().peer;
    world_->advance(5min);
    EXPECT_EQ(peer->heard(), "") << "a peer that is there waits as long as it likes";
    peer->finish();
    world_->advance(29s);
    EXPECT_EQ(peer->heard(), "");
    EXPECT_FALSE(held_->abandoned());
    world_->advance(2s);
    ASSERT_TRUE(ends(*peer));
    EXPECT_THAT(peer->heard(), StartsWith("HTTP/1.1 503 "));
    EXPECT_FALSE(peer->was_reset());
    EXPECT_EQ(timed_out(), 1U);
    EXPECT_TRUE(held_->abandoned());
    EXPECT_NE(held_->request().peer, of_connection) << "which is freed soon";
    held_->respond_status(204);  // too late, and harmless
    EXPECT_THAT(peer->heard(), ::testing::Not(HasSubstr("204")));
}

TEST_P(H1Ends, AnAnswerForAPeerThatFinishedGoesOnAsLongAsItGrows) {
    const auto peer = asks(get("/trickle"));
    const core::Address* const of_connection = held_->request().peer;
    peer->finish();
    for (std::size_t i = 1; i <= 6; ++i) {
        world_->advance(20s);
        ready_ = "x";
        held_->body_ready();
        ASSERT_TRUE(stage_.run_until([&] { return peer->heard().ends_with(std::string(i, 'x')); }));
        ASSERT_FALSE(peer->over()) << i;
    }
    EXPECT_EQ(timed_out(), 0U);
    world_->advance(61s);
    EXPECT_TRUE(ends(*peer)) << "and no longer";
    EXPECT_EQ(timed_out(), 1U);
    EXPECT_NE(held_->request().peer, of_connection) << "which is freed soon";
    EXPECT_THAT(peer->heard(), ::testing::Not(HasSubstr("503")));
}

// HTTP/1.0 and no length: only the connection's end ends the body, so an orderly one would make a
// part of it look like all of it.
TEST_P(H1Ends, AnAnswerWithoutALengthIsCutVisiblyInHttp10) {
    stage_.on("/endless", [this](Exchange& exchange) {
        held_ = core::Ref<Exchange>(&exchange);
        Response response;
        response.set_body(std::make_unique<Trickle>(ready_));
        exchange.respond(response);
    });
    const auto peer = asks("GET /endless HTTP/1.0\r\n\r\n");
    ready_ = "a part";
    held_->body_ready();
    ASSERT_TRUE(stage_.run_until([&] { return peer->heard().ends_with("\r\n\r\na part"); }));
    peer->finish();
    world_->advance(31s);
    world_->advance(31s);
    ASSERT_TRUE(ends(*peer));
    EXPECT_EQ(timed_out(), 1U);
    EXPECT_TRUE(peer->was_reset());
}

TEST_P(H1Ends, ASourceThatFailsWithoutALengthIsCutVisiblyInHttp10) {
    stage_.on("/failing", [](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({"a part"}, BodySource::State::failed));
        exchange.respond(response);
    });
    const auto peer = asks("GET /failing HTTP/1.0\r\n\r\n");
    ASSERT_TRUE(ends(*peer));
    EXPECT_TRUE(peer->was_reset());
    EXPECT_EQ(stage_.closed(net::CloseReason::output_cut), 1U);
}

// --- a body that is late ---------------------------------------------------------------------

TEST_P(H1Ends, WhatStillComesOfALateBodyDoesNotResetTheAnswerAway) {
    const auto peer = asks("POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n");
    world_->advance(31s);
    ASSERT_TRUE(ends(*peer));
    EXPECT_THAT(peer->heard(), StartsWith("HTTP/1.1 408 "));
    EXPECT_EQ(stage_.server().size(), 1U) << "it stays for what may be under way";
    peer->close();
    EXPECT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
    EXPECT_FALSE(peer->was_reset());
    EXPECT_EQ(timed_out(), 1U);
}

TEST_P(H1Ends, AStalledBodyIsAnsweredDuringADrain) {
    const auto peer = asks("POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\nsome");
    stage_.server().drain(world_->loop().now() + 1h, [] {});
    world_->advance(61s);
    ASSERT_TRUE(ends(*peer));
    EXPECT_THAT(peer->heard(), StartsWith("HTTP/1.1 408 "));
    EXPECT_THAT(peer->heard(), HasSubstr("\r\nConnection: close\r\n"));
}

TEST_P(H1Ends, AStalledHeadIsAnsweredDuringADrain) {
    const auto peer = asks("GET /hello HT");
    stage_.server().drain(world_->loop().now() + 1h, [] {});
    world_->advance(11s);
    ASSERT_TRUE(ends(*peer));
    EXPECT_THAT(peer->heard(), StartsWith("HTTP/1.1 408 "));
}

// --- what a handler holds --------------------------------------------------------------------

TEST_P(H1Ends, ARequestThatIsHeldKnowsItsPeerWhenTheConnectionIsGone) {
    for (const bool answered : {false, true}) {
        SCOPED_TRACE(answered);
        const auto peer = asks(get("/held"));
        ASSERT_TRUE(held_);
        const core::Ref<Exchange> held = std::exchange(held_, {});
        const core::Address* const of_connection = held->request().peer;
        const std::string name = of_connection->to_string();
        if (answered) {
            held->respond_status(204);
            ASSERT_TRUE(stage_.run_until([&] { return !peer->heard().empty(); }));
        }
        peer->reset();
        ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
        EXPECT_EQ(held->abandoned(), !answered);
        EXPECT_NE(held->request().peer, of_connection) << "which is freed";
        EXPECT_EQ(held->request().peer->to_string(), name);
    }
}

TEST_P(H1Ends, WhatIsAnsweredOrGoneIsNotUpgraded) {
    const auto upgrades = [](Exchange& exchange) {
        Response response;
        return exchange.upgrade(response, [](net::Connection&) -> net::Session& { abort(); });
    };
    const std::string wanted = get("/held", "Connection: upgrade\r\nUpgrade: x\r\n");
    auto peer = asks(wanted);
    ASSERT_TRUE(held_);
    held_->respond_status(204);
    EXPECT_FALSE(upgrades(*held_));
    peer = asks(wanted);
    peer->reset();
    ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
    EXPECT_FALSE(upgrades(*held_));
}

// --- what is not HTTP/1 ----------------------------------------------------------------------

TEST_P(H1Ends, ThePrefaceOfHttp2IsRefusedWhereOnlyHttp1IsSpoken) {
    const auto peer = asks("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    ASSERT_TRUE(ends(*peer));
    EXPECT_THAT(peer->heard(), StartsWith("HTTP/1.1 505 "));
    EXPECT_TRUE(stage_.served().empty());
}

// --- sources ---------------------------------------------------------------------------------

// More than a queue may copy, in one pull: it goes on in portions, and the source behind them.
TEST_P(H1Ends, ASourceThatGivesFarTooMuchAtOnceIsSentWholeAndGoesOn) {
    const std::string huge(6 << 20, 'h');
    stage_.on("/huge", [&](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({huge, "middle", huge, "", "tail"}));
        exchange.respond(response);
    });
    const auto peer = asks("GET /huge HTTP/1.0\r\n\r\n");
    ASSERT_TRUE(ends(*peer));
    const std::string heard = peer->heard();
    const std::size_t body = heard.find("\r\n\r\n") + 4;
    EXPECT_TRUE(heard.substr(body) == huge + "middle" + huge + "tail") << heard.size();
    EXPECT_FALSE(peer->was_reset());
}

TEST_P(H1Ends, ASourceThatGaveFarTooMuchAtOnceMayWaitAndGoOn) {
    const std::string huge(6 << 20, 'h');
    stage_.on("/chunks", [this](Exchange& exchange) {
        held_ = core::Ref<Exchange>(&exchange);
        Response response;
        response.set_body(std::make_unique<Trickle>(ready_));
        exchange.respond(response);
    });
    const auto peer = asks(get("/chunks"));
    ready_ = huge;
    held_->body_ready();
    ASSERT_TRUE(stage_.run_until([&] { return peer->heard().size() > huge.size(); }));
    world_->settle();
    ready_ = "and more";
    held_->body_ready();
    EXPECT_TRUE(stage_.run_until([&] { return peer->heard().ends_with("8\r\nand more\r\n"); }));
}

}  // namespace
}  // namespace tiderace::http
