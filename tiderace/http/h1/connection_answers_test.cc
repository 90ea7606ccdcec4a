// Answers that take longer than a call: sources, back-pressure, deferred ones, pipelining behind
// them. On every engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/http/h1/messages_fixture.h"
#include "tiderace/testing/h1_stage.h"

namespace tiderace::http {
namespace {

using testing::H1Stage;
using testing::Peer;
using testing::World;
using State = BodySource::State;

// The byte at `offset` of every large body here.
std::string pattern(std::size_t offset, std::size_t bytes) {
    static const std::string lap = [] {
        std::string text;
        for (int i = 0; i < 1 << 16; ++i) text += static_cast<char>('a' + i / 7 % 26);
        return text;
    }();
    std::string text;
    text.reserve(bytes);
    while (text.size() < bytes) {
        const std::size_t at = (offset + text.size()) % lap.size();
        text.append(lap, at, bytes - text.size());
    }
    return text;
}

// `total` bytes, in pieces of the wanted size, and the sum of the wanted sizes.
class Large final : public BodySource {
  public:
    Large(std::size_t total, std::size_t& pulled) : total_(total), pulled_(&pulled) {}
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t wanted) override {
        const std::size_t bytes = std::min(wanted, total_ - *pulled_);
        out.append(blocks, pattern(*pulled_, bytes));
        *pulled_ += bytes;
        return *pulled_ == total_ ? State::end : State::more;
    }

  private:
    std::size_t total_;
    std::size_t* pulled_;
};

// Sends one word, waits for the test, sends another.
class Waiting final : public BodySource {
  public:
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        ++pulls;
        if (!ready) {
            if (pulls == 1) out.append(blocks, "first ");
            return State::wait;
        }
        out.append(blocks, "second");
        return State::end;
    }
    bool ready = false;
    int pulls = 0;
};

class H1Answers : public ::testing::TestWithParam<std::string> {
  protected:
    static constexpr std::size_t large_bytes = 16_MiB;  // more than loopback sockets hold

    H1Answers() {
        stage_.add_usual_paths();
        stage_.on("/large", [this](Exchange& exchange) {
            Response response;
            response.set_body(std::make_unique<Large>(large_bytes, pulled_), large_bytes);
            exchange.respond(response);
        });
        stage_.on("/kept", [this](Exchange& exchange) {
            kept_ = exchange.defer();
            exchange.on_abandoned([this] { ++abandoned_; });
        });
    }
    static std::string large_answer() {
        return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(large_bytes) + "\r\n\r\n" +
               pattern(0, large_bytes);
    }
    bool heard(const Peer& peer, std::size_t bytes) {
        return stage_.run_until(
            [&] { return peer.heard().size() >= bytes && H1Stage::heard(peer).size() >= bytes; });
    }
    void broken(std::vector<std::string> all, std::optional<std::uint64_t> length, State end,
                const std::string& expected) {
        stage_.on("/broken", [=](Exchange& exchange) {
            Response response;
            response.set_body(testing::pieces(all, end), length);
            exchange.respond(response);
        });
        const auto peer = stage_.connect();
        peer->say(get_hello + get("/broken") + get_hello);
        ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
        EXPECT_EQ(H1Stage::heard(*peer), hello + expected);
        EXPECT_EQ(stage_.served().back(), "GET /broken");
        peer->close();
        EXPECT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
        EXPECT_EQ(world_->loop().blocks().taken(), 0U);
    }

    std::unique_ptr<World> world_ = testing::make_world(GetParam());
    H1Stage stage_{*world_};
    std::size_t pulled_ = 0;
    core::Ref<Exchange> kept_;
    int abandoned_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H1Answers, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(H1Answers, ASourceIsPulledOnlyWhileThereIsRoom) {
    const auto peer = stage_.connect();
    peer->set_listening(false);
    peer->say(get("/large"));
    world_->settle();
    EXPECT_GT(pulled_, 0U);
    EXPECT_LT(pulled_, large_bytes);
    EXPECT_LE(world_->loop().blocks().taken(),
              net::ConnectionLimits{}.queue_bytes_high / core::BlockPool::block_bytes + 4);
    peer->set_listening(true);
    ASSERT_TRUE(heard(*peer, large_answer().size()));
    EXPECT_TRUE(H1Stage::heard(*peer) == large_answer());
    EXPECT_EQ(world_->loop().blocks().taken(), 0U);
    EXPECT_FALSE(peer->over());
}

TEST_P(H1Answers, WhatIsPipelinedBehindALargeAnswerWaitsAndKeepsItsOrder) {
    const auto peer = stage_.connect();
    peer->set_listening(false);
    peer->say(get("/large") + get_hello + get_hello);
    world_->settle();
    EXPECT_EQ(stage_.served().size(), 1U);
    peer->set_listening(true);
    const std::string all = large_answer() + hello + hello;
    ASSERT_TRUE(heard(*peer, all.size()));
    EXPECT_TRUE(H1Stage::heard(*peer) == all);
}

TEST_P(H1Answers, AQueuedLargeAnswerHoldsBackTheNextRequestToo) {
    const std::string large = pattern(0, large_bytes);
    stage_.on("/queued", [&](Exchange& exchange) {
        Response response;
        core::SendQueue queue;
        queue.append_shared(large, {});
        response.set_body(std::move(queue));
        exchange.respond(response);
    });
    const auto peer = stage_.connect();
    peer->set_listening(false);
    peer->say(get("/queued") + get_hello);
    world_->settle();
    EXPECT_EQ(stage_.served().size(), 1U);
    peer->set_listening(true);
    ASSERT_TRUE(heard(*peer, large_answer().size() + hello.size()));
    EXPECT_TRUE(H1Stage::heard(*peer) == large_answer() + hello);
}

TEST_P(H1Answers, AHalfCloseBehindPipelinedRequestsLosesNoneOfTheirAnswers) {
    const std::string large = pattern(0, large_bytes);
    stage_.on("/queued", [&](Exchange& exchange) {
        Response response;
        core::SendQueue queue;
        queue.append_shared(large, {});
        response.set_body(std::move(queue));
        exchange.respond(response);
    });
    for (const char* path : {"/large", "/queued"}) {
        SCOPED_TRACE(path);
        pulled_ = 0;
        const auto peer = stage_.connect();
        peer->set_listening(false);
        peer->say(get(path) + get_hello + get_hello);
        peer->finish();
        world_->settle();
        peer->set_listening(true);
        ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
        EXPECT_FALSE(peer->was_reset());
        const std::string tail = H1Stage::heard(*peer).substr(large_answer().size());
        EXPECT_THAT(tail, ::testing::AnyOf(hello + hello, hello + hello_close));
    }
}

TEST_P(H1Answers, ASourceThatWaitsGoesOnWhenItIsReady) {
    Waiting* source = nullptr;
    core::Ref<Exchange> exchange;
    stage_.on("/waiting", [&](Exchange& asked) {
        exchange = asked.defer();
        auto made = std::make_unique<Waiting>();
        source = made.get();
        Response response;
        response.set_body(std::move(made));
        asked.respond(response);
    });
    const auto peer = stage_.connect();
    peer->say(get("/waiting") + get_hello);
    const std::string first =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst \r\n";
    ASSERT_TRUE(heard(*peer, first.size()));
    world_->settle();
    EXPECT_EQ(H1Stage::heard(*peer), first);
    EXPECT_EQ(source->pulls, 1);
    source->ready = true;
    exchange->body_ready();
    const std::string all = first + "6\r\nsecond\r\n0\r\n\r\n" + hello;
    ASSERT_TRUE(heard(*peer, all.size()));
    EXPECT_EQ(H1Stage::heard(*peer), all);
    exchange->body_ready();  // too late, and harmless
}

TEST_P(H1Answers, ASourceThatFailsBreaksTheConnection) {
    broken({"one", "two"}, {}, State::failed,
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
}

TEST_P(H1Answers, TheHeadOfASourceThatFailsAtOnceIsSent) {
    broken({}, {}, State::failed, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    broken({}, 4, State::failed, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
}

TEST_P(H1Answers, ASourceShorterThanPromisedBreaksTheConnection) {
    broken({"one", "two"}, 7, State::end, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nonetwo");
}

TEST_P(H1Answers, ASourceLongerThanPromisedBreaksTheConnection) {
    broken({"one", "two"}, 5, State::end, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\none");
}

TEST_P(H1Answers, AStatusThatEndsNoAnswerIsAFaultOfTheHandler) {
    for (const int status : {100, 101, 103, 199}) {
        stage_.on("/interim", [status](Exchange& exchange) {
            Response response(status);
            exchange.respond(response);
        });
        const auto peer = stage_.connect();
        peer->say(get("/interim"));
        EXPECT_TRUE(stage_.run_until([&] { return peer->over(); })) << status;
        EXPECT_TRUE(H1Stage::heard(*peer).starts_with("HTTP/1.1 500 ")) << status;
    }
}

TEST_P(H1Answers, ADeferredRequestStaysReadable) {
    const auto peer = stage_.connect();
    peer->say("POST //k%65pt?a=%20b HTTP/1.1\r\nHost: tide.example\r\nX-Own: value\r\n\r\n");
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept_); }));
    const auto other = stage_.connect();  // overwrites what the loop received
    other->say("GET /" + std::string(4'000, 'x') + " HTTP/1.1\r\nHost: b\r\n\r\n");
    ASSERT_TRUE(heard(*other, 40));
    const Request& request = kept_->request();
    EXPECT_EQ(request.path, "/kept");
    EXPECT_EQ(request.raw_path, "//k%65pt");
    EXPECT_EQ(request.query, "a=%20b");
    EXPECT_EQ(request.authority, "tide.example");
    EXPECT_EQ(request.method(), wire::Method::post);
    ASSERT_NE(request.head->find("x-own"), nullptr);
    EXPECT_EQ(request.head->find("x-own")->value, "value");
    EXPECT_EQ(request.header(wire::FieldName::host), "tide.example");
    std::exchange(kept_, {})->respond_status(204);
    const std::string empty = "HTTP/1.1 204 No Content\r\n\r\n";
    ASSERT_TRUE(heard(*peer, empty.size()));
    EXPECT_EQ(H1Stage::heard(*peer), empty);
    EXPECT_EQ(abandoned_, 0);
}

TEST_P(H1Answers, ADeferredAnswerIsAbandonedWhenThePeerGoes) {
    const auto peer = stage_.connect();
    peer->say(get("/kept"));
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept_); }));
    peer->reset();
    ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
    EXPECT_EQ(abandoned_, 1);
    EXPECT_TRUE(kept_->abandoned());
    kept_->respond_status(200);
    kept_->body_ready();
    kept_->set_body_reading(false);
    EXPECT_FALSE(kept_->responded());
    EXPECT_TRUE(stage_.logged().empty());
}

TEST_P(H1Answers, AKeptAnsweredExchangeKeepsNothingOfItsConnection) {
    const auto peer = stage_.connect();
    peer->say(get("/kept"));
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept_); }));
    kept_->respond_status(204);
    peer->say(get_hello);
    ASSERT_TRUE(stage_.run_until([&] { return stage_.served().size() == 2; }));
    kept_->set_body_reading(false);  // another request's by now
    peer->say(get_hello);
    ASSERT_TRUE(stage_.run_until([&] { return stage_.served().size() == 3; }));
    peer->close();
    ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
    kept_->body_ready();
    kept_->set_body_reading(true);
    EXPECT_EQ(abandoned_, 0);  // it was not
}

TEST_P(H1Answers, AHalfCloseBehindTheRequestStillGetsADeferredAnswer) {
    const auto peer = stage_.connect();
    peer->say(get("/kept"));
    peer->finish();
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    EXPECT_EQ(abandoned_, 0);
    std::exchange(kept_, {})->respond_status(204);
    ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_FALSE(peer->was_reset());
    EXPECT_EQ(H1Stage::heard(*peer), "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

TEST_P(H1Answers, AHalfCloseBehindADeferredRequestAndAnotherGetsBothAnswers) {
    const auto peer = stage_.connect();
    peer->say(get("/kept") + get_hello + "GET /unfinished HTTP");
    peer->finish();
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept_); }));
    world_->settle();
    std::exchange(kept_, {})->respond_status(204);
    ASSERT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_FALSE(peer->was_reset());
    EXPECT_EQ(H1Stage::heard(*peer), "HTTP/1.1 204 No Content\r\n\r\n" + hello);
}

TEST_P(H1Answers, WhatIsPipelinedBehindADeferredRequestWaitsInOrderAndBounded) {
    const auto peer = stage_.connect();
    peer->say(get("/kept"));
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept_); }));
    std::string answers = "HTTP/1.1 204 No Content\r\n\r\n";
    std::string requests;
    constexpr std::size_t behind = 10'000;  // more than a connection may leave unread
    for (std::size_t i = 0; i < behind; ++i) {
        requests += i % 10 == 0 ? get("/echo?" + std::to_string(i)) : get_hello;
        const std::string echo = "/echo " + std::to_string(i) + " a";
        answers += i % 10 == 0
                       ? "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(echo.size()) +
                             "\r\n\r\n" + echo
                       : hello;
    }
    peer->say(requests);
    world_->settle();
    EXPECT_EQ(stage_.served().size(), 1U);
    std::exchange(kept_, {})->respond_status(204);
    ASSERT_TRUE(heard(*peer, answers.size()));
    EXPECT_TRUE(H1Stage::heard(*peer) == answers);
    EXPECT_EQ(stage_.server().size(), 1U);
}

TEST_P(H1Answers, FiltersTouchEveryAnswerAlsoTheRefusals) {
    class Mark final : public ResponseFilter {
        void filter(Exchange&, Response& response) override { response.add("X-Mark", "1"); }
    } mark;
    stage_.site().add(mark);
    const auto first = stage_.connect();
    first->say("GET /hello HTTP/9.9\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(stage_.run_until([&] { return first->over(); }));
    EXPECT_THAT(first->heard(), ::testing::HasSubstr("X-Mark: 1\r\n"));
    const auto second = stage_.connect();
    second->say(get_hello + "GET /hello HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(stage_.run_until([&] { return second->over(); }));
    EXPECT_THAT(second->heard(), ::testing::MatchesRegex("(.|\n)*X-Mark(.|\n)*X-Mark(.|\n)*"));
}

}  // namespace
}  // namespace tiderace::http
