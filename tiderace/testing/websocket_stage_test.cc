#include "tiderace/testing/websocket_stage.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {
namespace {

using Opcode = http::wire::WebSocketOpcode;

TEST(WebSocketStage, ShowsWhatBothSidesSaw) {
    FakeWorld world;
    WebSocketStage stage(world);
    auto peer = stage.open();
    ASSERT_NE(peer, nullptr);
    peer->say(client_frame(Opcode::text, "Hello"));
    EXPECT_TRUE(stage.hears(*peer, "text(Hello)"));
    peer->say(client_frame(Opcode::close,
                           "\x03\xe8"
                           "bye"));
    EXPECT_TRUE(stage.hears(*peer, "text(Hello) close(1000)"));
    peer->finish();
    world.settle();
    EXPECT_EQ(stage.told(), "open text(Hello) closed(1000 bye)");
}

TEST(WebSocketStage, SaysWhatIsNoFrame) {
    EXPECT_EQ(describe_server_frames("\x81\x02hi\x83"), "text(hi) !\x83");
}

}  // namespace
}  // namespace tiderace::testing
