// Body sources that say `more` and give nothing, over both versions of HTTP.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tiderace/http/exchange.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;

struct Pulls {
    int in_turn = 0;
    int most_in_turn = 0;
    int least_in_turn = INT_MAX;  // of those that are over
    int all = 0;
    std::uint64_t turn = 0;
    bool ready = false;
    int byte_every = 0;  // of so many pulls; 0: never
};

class Empty final : public BodySource {
  public:
    static constexpr int in_turn_max = 10'000;  // then it fails: a test that loops must end

    Empty(core::EventLoop& loop, Pulls& pulls) : loop_(&loop), pulls_(&pulls) {}
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        if (pulls_->turn != loop_->turns()) {
            if (pulls_->in_turn > 0) {
                pulls_->least_in_turn = std::min(pulls_->least_in_turn, pulls_->in_turn);
            }
            pulls_->in_turn = 0;
        }
        pulls_->turn = loop_->turns();
        pulls_->most_in_turn = std::max(pulls_->most_in_turn, ++pulls_->in_turn);
        ++pulls_->all;
        if (pulls_->in_turn > in_turn_max) return State::failed;
        if (!pulls_->ready) {
            if (pulls_->byte_every > 0 && pulls_->all % pulls_->byte_every == 0) {
                out.append(blocks, "x");
            }
            return State::more;
        }
        out.append(blocks, "at last");
        return State::end;
    }

  private:
    core::EventLoop* loop_;
    Pulls* pulls_;
};

class EmptyPulls : public ::testing::Test {
  protected:
    EmptyPulls() {
        stage_.on("/empty", [this](Exchange& exchange) {
            Response response;
            response.set_body(std::make_unique<Empty>(exchange.loop(), pulls_), length_);
            exchange.respond(response);
        });
    }

    void expect_shared_turns() {
        EXPECT_TRUE(stage_.run_until([&] { return pulls_.all > 20 * BodySource::empty_pulls_max; }))
            << "it is pulled again in later turns";
        EXPECT_EQ(pulls_.most_in_turn, BodySource::empty_pulls_max);
        EXPECT_EQ(pulls_.least_in_turn, BodySource::empty_pulls_max);
    }

    testing::FakeWorld world_;
    H2Stage stage_{world_};
    Pulls pulls_;
    std::optional<std::uint64_t> length_;
};

TEST_F(EmptyPulls, LetOthersBeServedOverH1) {
    const auto peer = stage_.connect();
    peer->say("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_shared_turns();
    const auto other = stage_.connect();
    other->say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(stage_.run_until([&] { return other->heard().contains("200 OK"); }));
    EXPECT_FALSE(peer->over());
    pulls_.ready = true;
    EXPECT_TRUE(stage_.run_until([&] { return peer->heard().contains("at last"); }));
}

TEST_F(EmptyPulls, LetOtherStreamsBeServedOverH2) {
    length_ = 7;
    const auto peer = stage_.connect();
    H2Client client(*peer);
    client.get("/empty");
    expect_shared_turns();
    client.get("/hello");
    EXPECT_TRUE(stage_.run_until([&] { return client.answer(3).ended; }));
    EXPECT_FALSE(client.answer(1).reset);
    pulls_.ready = true;
    EXPECT_TRUE(stage_.run_until([&] { return client.answer(1).ended; }));
    EXPECT_EQ(client.answer(1).body, "at last");
}

// They are counted in a row: a byte in between begins anew, and is not counted itself.
TEST_F(EmptyPulls, OnesWithABytePassForEmptyOnesNowhere) {
    for (const int byte_every : {1, int{BodySource::empty_pulls_max}}) {
        pulls_ = {};
        pulls_.byte_every = byte_every;
        const auto peer = stage_.connect();
        peer->set_listening(false);
        peer->say("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n");
        ASSERT_TRUE(stage_.run_until([&] { return pulls_.all > 0; }));
        EXPECT_GT(pulls_.most_in_turn, 10 * BodySource::empty_pulls_max) << byte_every;
        peer->reset();
        world_.settle();
    }
}

TEST_F(EmptyPulls, EndTheAnswerWhereThereIsNoNextTurn) {
    stage_.on("/empty", [this](Exchange& exchange) {
        while (exchange.loop().post([] {})) {
        }
        Response response;
        response.set_body(std::make_unique<Empty>(exchange.loop(), pulls_), 7);
        exchange.respond(response);
    });
    const auto peer = stage_.connect();
    peer->say("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(stage_.run_until([&] { return peer->over(); }));
    EXPECT_EQ(pulls_.all, BodySource::empty_pulls_max);
    EXPECT_EQ(testing::H1Stage::heard(*peer), "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
}

// A body that was to go on in the next turn finds no connection any more.
TEST_F(EmptyPulls, EndWithTheirClient) {
    const auto peer = stage_.connect();
    peer->say("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_shared_turns();
    peer->reset();
    EXPECT_TRUE(
        stage_.run_until([&] { return stage_.stage().closed(net::CloseReason::peer_reset) > 0; }));
    world_.settle();
    const int before = pulls_.all;
    world_.settle();
    EXPECT_EQ(pulls_.all, before);
}

}  // namespace
}  // namespace tiderace::http
