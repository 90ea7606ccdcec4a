// WebSockets whose peers receive slowly: each policy, and its limits.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tiderace/http/websocket/connection.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using testing::FakeWorld;
using testing::WebSocketStage;

class SlowPeer : public ::testing::Test {
  protected:
    static WebSocketOptions options(SlowReceiver policy) {
        WebSocketOptions options;
        options.slow_receiver = policy;
        options.queue_bytes_max = 512_KiB;
        return options;
    }
    // Sends until a send says something else than `sent`, or `high` where that is passed over.
    static std::pair<int, WebSocketSend> fill(WebSocketConnection& socket, bool pass_high) {
        const std::string message(10'000, 'x');
        for (int sent = 0; sent < 10'000; ++sent) {
            const WebSocketSend result = socket.send_binary(message);
            const bool goes_on =
                result == WebSocketSend::sent || (pass_high && result == WebSocketSend::high);
            if (!goes_on) return {sent, result};
            if (sent % 16 == 0) socket.service().loop().turn(Duration::zero());
        }
        return {10'000, WebSocketSend::sent};
    }

    FakeWorld world_;
};

TEST_F(SlowPeer, IsDroppedMessagesWhereThatIsThePolicy) {
    WebSocketStage stage(world_, options(SlowReceiver::drop));
    auto peer = stage.open();
    peer->set_listening(false);
    WebSocketConnection& socket = *stage.sockets()[0];
    const auto [sent, why] = fill(socket, true);
    EXPECT_EQ(why, WebSocketSend::dropped);
    EXPECT_LE(socket.connection().queue_bytes(), 512_KiB);
    EXPECT_EQ(stage.service().counters().dropped, 1u);
    peer->set_listening(true);
    world_.settle();
    EXPECT_EQ(socket.send_text("and on it goes"), WebSocketSend::sent);
    world_.settle();
    EXPECT_TRUE(stage.heard(*peer).ends_with("binary(10000 bytes) text(and on it goes)"));
}

TEST_F(SlowPeer, IsClosedWhereThatIsThePolicy) {
    for (const SlowReceiver policy : {SlowReceiver::close, SlowReceiver::wait}) {
        WebSocketStage stage(world_, options(policy));
        auto peer = stage.open();
        peer->set_listening(false);
        const auto [sent, why] = fill(*stage.sockets()[0], true);
        EXPECT_EQ(why, WebSocketSend::closed);
        EXPECT_GE(sent, 51);
        world_.settle();
        EXPECT_LE(stage.sockets()[0]->connection().queue_bytes(), 512_KiB);
        world_.advance(stage.service().options().close_timeout + 1s);
        EXPECT_EQ(stage.told(), "open closed(1006)");
        EXPECT_EQ(stage.service().counters().overflowed, 1u);
    }
}

TEST_F(SlowPeer, IsToldWhyItIsClosedIfItListensAfterAll) {
    WebSocketStage stage(world_, options(SlowReceiver::close));
    auto peer = stage.open();
    peer->set_listening(false);
    fill(*stage.sockets()[0], true);
    peer->set_listening(true);
    world_.settle();
    EXPECT_TRUE(stage.heard(*peer).ends_with(" close(1008 messages are taken too slowly)"));
}

TEST_F(SlowPeer, IsWaitedForByASenderThatListensToTheResult) {
    WebSocketStage stage(world_, options(SlowReceiver::wait));
    auto peer = stage.open();
    peer->set_listening(false);
    const auto [sent, why] = fill(*stage.sockets()[0], false);
    EXPECT_EQ(why, WebSocketSend::high);
    stage.told();
    peer->set_listening(true);
    world_.settle();
    EXPECT_EQ(stage.told(), "drained");
    // Told again only after another `high`, whatever else drains.
    peer->set_listening(false);
    while (stage.sockets()[0]->connection().write(std::string(10'000, 'y')) == net::Backlog::low) {
        world_.loop().turn(Duration::zero());
    }
    peer->set_listening(true);
    world_.settle();
    EXPECT_EQ(stage.told(), "");
}

TEST_F(SlowPeer, MayBeSentOneMessageOfAnySizeWhenNothingWaits) {
    WebSocketStage stage(world_, options(SlowReceiver::close));
    auto peer = stage.open();
    EXPECT_EQ(stage.sockets()[0]->send_binary(std::string(5'000'000, 'x')), WebSocketSend::high);
    EXPECT_TRUE(stage.hears(*peer, "binary(5000000 bytes)"));
}

}  // namespace
}  // namespace tiderace::http
